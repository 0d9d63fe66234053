package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// ErrNoConfig is matched by the error of [Find] when no file was named and
// none was found.
var ErrNoConfig = errors.New("no mcp.json found")

// Error says what is wrong with a configuration, and where. Its text is one
// line. Neither the text nor the hint ever holds a value from the file or the
// environment, since any of them can be a secret; names of servers, keys and
// variables are shown. Warnings have the same form.
type Error struct {
	File         string // as a person would write it; empty if no file is at fault
	Line, Column int    // counted from 1, columns in characters; 0 if there is no place to point at
	Server       string
	Field        string // such as env.API_KEY or args[2]
	Problem      string
	Hint         string // what to do about it; may be empty
	Err          error  // the cause, for errors.Is; may be nil
}

// Error returns path:line:column: server "name": field: problem, without the
// parts that are not known and without the hint.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
		}
		b.WriteString(": ")
	}
	if e.Server != "" {
		fmt.Fprintf(&b, "server %q: ", e.Server)
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// oneLine makes text that may repeat names from the file fit for a terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

// TrustError says that a file was found rather than named, could do harm, and
// has not been accepted by a person. Its text holds no command, since that can
// hold a secret; Reasons do, as a person has to see what is accepted.
type TrustError struct {
	File    string
	Reasons []string // as of [Config.NeedsTrust]
}

// Error names the file and both ways to go on. It is one line.
func (e *TrustError) Error() string {
	return fmt.Sprintf("%s: was found, not named, and nobody has accepted it yet, although it starts commands, sends variables or writes outside the repository: "+
		"read it, then run \"mcpctl config trust\" or name it with --config %s", e.File, shellWord(e.File))
}

// shellWord quotes s where a shell would split or expand it, so that a
// suggested command can be pasted.
func shellWord(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("./\\:-_@%+=,~", r) &&
			(r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
	if plain && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
