package config

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Typegen returns the section "typegen", nil if the file has none, with
// variables expanded and paths made absolute: from the working directory for
// a file that was named on the command line, else from the folder of the
// file. Its error is an [*Error].
func (c *Config) Typegen() (*Typegen, error) {
	if c.top.typegen.Value == nil {
		return nil, nil
	}
	var t Typegen
	if err := decodeTypegen(decoder{doc: c.doc, vars: c.vars}, c.top.typegen, &t); err != nil {
		return nil, err
	}
	base := c.File.folder()
	if c.File.Found == Named {
		base = c.dir
	}
	for _, path := range []*string{&t.OutFile, &t.OutDir} {
		if *path != "" {
			*path = absolute(base, *path)
		}
	}
	return &t, nil
}

func decodeTypegen(d decoder, v hujson.Value, t *Typegen) error {
	d = d.member("typegen")
	if err := decodeObject(d, v, typegenKeys, false, t); err != nil {
		return err
	}
	if t.OutFile != "" && t.OutDir != "" {
		return d.fail(v, `has both "outFile" and "outDir"`, "")
	}
	return nil
}

// patterns is a key with a list of patterns over server.tool.
func patterns[T any](name string, at func(*T) *[]string) key[T] {
	return listOf(name, at, func(d decoder, v hujson.Value, pattern string) error {
		if strings.ContainsAny(pattern, ".*") || d.pending(pattern) {
			return nil
		}
		return d.fail(v, "a pattern must have the form server.tool", `such as "weather.*" or "*.get_?"`)
	})
}

// Match reports whether the filter lets a tool through.
func (f ToolFilter) Match(server, tool string) bool {
	name := server + "." + tool
	hit := func(pattern string) bool { return matches(pattern, name) }
	return (len(f.Include) == 0 || slices.ContainsFunc(f.Include, hit)) && !slices.ContainsFunc(f.Exclude, hit)
}

// matches compares with * for any run of characters and ? for one. Unlike
// path.Match it knows no special slash, since tool names may hold one. When
// text does not go on as the pattern wants, the last * takes one more.
func matches(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	i, j, star, resume := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, resume = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			resume++
			i, j = star+1, resume
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
