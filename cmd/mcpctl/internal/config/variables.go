package config

import (
	"path/filepath"
	"regexp"
	"strings"
)

// variables expands ${…} in strings.
type variables struct {
	lookup func(string) (string, bool)
	// folder is what ${workspaceFolder} stands for.
	folder string
}

// variableError says why a string cannot be expanded. It names the variable.
type variableError struct{ problem, hint string }

// reference is what stands between ${ and }.
type reference struct {
	name       string
	fallback   string
	hasDefault bool
	builtin    bool
}

var (
	// variable is NAME, NAME:-default and both after env:. After env: any name
	// goes, because Windows has ProgramFiles(x86).
	variable = regexp.MustCompile(`(?s)^(?:([A-Za-z_][A-Za-z0-9_]*)|env:([^:]+?))(:-(.*))?$`)
	// foreign is how editors and shells write other things, such as
	// ${input:token} or ${NAME:default}. Passed on unexpanded, they would reach
	// a server as they are, so they are refused.
	foreign = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*:`)
)

// parseReference reads the body of ${body}. ok is false where that is no
// variable at all but text that happens to look like one.
func parseReference(body string) (ref reference, ok bool, err *variableError) {
	switch body {
	case "workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/":
		return reference{name: body, builtin: true}, true, nil
	}
	if m := variable.FindStringSubmatch(body); m != nil {
		ref := reference{name: m[1] + m[2], fallback: m[4], hasDefault: m[3] != ""}
		if strings.Contains(ref.fallback, "${") {
			return ref, true, &variableError{
				problem: "the default of variable " + quoteName(ref.name) + " holds another variable",
				hint:    "a default is plain text",
			}
		}
		return ref, true, nil
	}
	if prefix := strings.TrimSuffix(foreign.FindString(body), ":"); prefix != "" {
		e := &variableError{
			problem: "${" + prefix + ":…} is not supported",
			hint:    "write ${NAME}, ${NAME:-default} or ${env:NAME}",
		}
		if prefix == "input" {
			e.hint = "mcpctl does not ask for inputs; put the value into an environment variable and write ${NAME}"
		}
		return reference{}, false, e
	}
	return reference{}, false, nil
}

// maxReference bounds the search for the closing brace, so that a string full
// of opening ones costs no more than its length.
const maxReference = 4096

// nextReference finds the first ${…} of s: what stands before it, its body and
// how many bytes of s that is in all. ok is false where there is none.
func nextReference(s string) (before, body string, length int, ok bool) {
	for from := 0; ; {
		start := strings.Index(s[from:], "${")
		if start < 0 {
			return s, "", len(s), false
		}
		start += from
		from = start + len("${")
		if end := strings.IndexByte(s[from:min(len(s), from+maxReference)], '}'); end >= 0 {
			return s[:start], s[from : from+end], from + end + 1, true
		}
	}
}

// expand replaces every reference of s. What a variable holds is taken as it
// is and not expanded again.
func (v *variables) expand(s string) (string, *variableError) {
	var b strings.Builder
	for {
		before, body, length, ok := nextReference(s)
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		ref, isVariable, err := parseReference(body)
		if err != nil {
			return "", err
		}
		if !isVariable {
			b.WriteString("${")
			s = s[len(before)+len("${"):]
			continue
		}
		value, err := v.value(ref)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		s = s[length:]
	}
}

func (v *variables) value(ref reference) (string, *variableError) {
	if ref.builtin {
		return v.builtin(ref.name)
	}
	value, ok := v.lookup(ref.name)
	switch {
	case ref.hasDefault && value == "": // as in a shell, empty counts as unset here
		return ref.fallback, nil
	case !ok:
		return "", &variableError{
			problem: "variable " + quoteName(ref.name) + " is not set",
			hint:    "set it, or give it a default: ${" + ref.name + ":-default}",
		}
	}
	return value, nil
}

// builtin is what editors define by themselves.
func (v *variables) builtin(name string) (string, *variableError) {
	switch name {
	case "workspaceFolder":
		return v.folder, nil
	case "workspaceFolderBasename":
		return filepath.Base(v.folder), nil
	case "userHome":
		for _, home := range []string{"HOME", "USERPROFILE"} {
			if dir, ok := v.lookup(home); ok && dir != "" {
				return dir, nil
			}
		}
		return "", &variableError{problem: "there is no home folder for ${userHome}"}
	}
	return string(filepath.Separator), nil // pathSeparator and its short form /
}

// environmentNames lists the environment variables that s refers to, in order.
func environmentNames(s string) []string {
	var names []string
	for {
		before, body, length, ok := nextReference(s)
		if !ok {
			return names
		}
		ref, isVariable, _ := parseReference(body)
		if !isVariable {
			s = s[len(before)+len("${"):]
			continue
		}
		if !ref.builtin {
			names = append(names, ref.name)
		}
		s = s[length:]
	}
}
