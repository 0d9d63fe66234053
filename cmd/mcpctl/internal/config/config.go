// Package config finds, reads, expands and checks mcp.json, and remembers
// which of the files that were found, not named, a person has accepted. It
// yields what to connect to as client specs.
//
// The way through it: [Find] says which file, [Load] reads it and reports
// every mistake that does not depend on variables, [Config.CheckTrust] asks
// whether it may be used, and [Config.Specs] and [Config.Typegen] expand the
// variables of what is in use. The package reads files, but neither the
// environment nor the terminal: both come in as [Options].
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/tailscale/hujson"
)

// Options is what the package has to know about the world.
type Options struct {
	// Dir is the working directory, absolute.
	Dir string
	// UserDir is the user's configuration folder for mcpctl, such as
	// os.UserConfigDir()/mcpctl. Empty means that there is none.
	UserDir string
	// Lookup returns an environment variable, as os.LookupEnv does.
	Lookup func(name string) (string, bool)
}

func (o Options) lookup(name string) (string, bool) {
	if o.Lookup == nil {
		return "", false
	}
	return o.Lookup(name)
}

// Config is a file that was read and checked. It is not changed after [Load].
type Config struct {
	File File
	// Warnings are what is odd but usable: misspelt keys above all.
	Warnings []*Error

	doc     *document
	digest  string
	vars    *variables
	dir     string // the working directory
	top     top
	servers map[string]entry
}

// entry is a server of the file. Checked is how it is written, with variables
// as they are.
type entry struct {
	value   hujson.Value
	checked server
}

// Load reads and checks a file. Its error is an [*Error].
func Load(file File, o Options) (*Config, error) {
	data, err := read(file.Path)
	if err != nil {
		return nil, &Error{File: file.Name, Problem: readProblem(err), Err: err}
	}
	return parse(file, data, o)
}

var errFolder = errors.New("is a folder")

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errFolder
	}
	// One byte more than allowed shows that there is more.
	return io.ReadAll(io.LimitReader(f, maxSize+1))
}

func readProblem(err error) string {
	switch {
	case errors.Is(err, errFolder):
		return "is a folder, not a file"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, fs.ErrPermission):
		return "may not be read: permission denied"
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // the path is in the message already
	}
	return "cannot be read: " + err.Error()
}

func parse(file File, data []byte, o Options) (*Config, error) {
	doc, err := parseDocument(file.Name, data)
	if err != nil {
		return nil, err
	}
	c := &Config{
		File:    file,
		doc:     doc,
		digest:  digest(data),
		vars:    &variables{lookup: o.lookup, folder: file.workspace()},
		dir:     o.Dir,
		servers: make(map[string]entry),
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return c, nil
}

// check reads everything as it is written.
func (c *Config) check() error {
	d := decoder{doc: c.doc, warnings: &c.Warnings}
	if _, ok := c.doc.root.Value.(*hujson.Object); !ok {
		return d.wrongType(c.doc.root, "an object", `the smallest configuration is {"mcpServers": {}}`)
	}
	if err := decodeObject(d, c.doc.root, topKeys, true, &c.top); err != nil {
		return err
	}
	if c.top.mcpServers.Value == nil && c.top.servers.Value == nil && c.top.typegen.Value == nil {
		d.warn(c.doc.root, `there is no "mcpServers"`, `servers belong into {"mcpServers": {"name": …}}`)
	}
	if err := c.checkServers(d.member("mcpServers"), c.top.mcpServers); err != nil {
		return err
	}
	if err := c.checkServers(d.member("servers"), c.top.servers); err != nil {
		return err
	}
	if c.top.typegen.Value != nil {
		return decodeTypegen(d, c.top.typegen, new(Typegen))
	}
	return nil
}

func (c *Config) checkServers(d decoder, v hujson.Value) error {
	if v.Value == nil {
		return nil
	}
	members, err := d.members(v)
	if err != nil {
		return err
	}
	for _, m := range members {
		name := m.Name.Value.(hujson.Literal).String()
		if name == "" {
			return d.fail(m.Name, "a server needs a name", "")
		}
		if other, ok := c.servers[name]; ok {
			line, _ := c.doc.position(other.value.StartOffset)
			return d.fail(m.Name, fmt.Sprintf("server %q is there twice, first in \"mcpServers\" on line %d", name, line), "")
		}
		e := entry{value: m.Value}
		if err := decodeServer(d.at(name), m.Value, &e.checked); err != nil {
			return err
		}
		c.servers[name] = e
	}
	return nil
}

// at returns the decoder for a server.
func (d decoder) at(server string) decoder {
	d.server, d.field = server, ""
	return d
}

// Names returns the names of all servers, sorted, with those that are disabled.
func (c *Config) Names() []string { return slices.Sorted(maps.Keys(c.servers)) }

// unknownServer suggests what may have been meant.
func (c *Config) unknownServer(name string) *Error {
	e := &Error{File: c.File.Name, Problem: "there is no server " + strconv.Quote(name)}
	names := c.Names()
	switch near := Nearest(name, names); {
	case near != "":
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	case len(names) == 0:
		e.Hint = "the file has no servers"
	default:
		const most = 10
		e.Hint = "the servers are " + quoted(names[:min(len(names), most)])
		if more := len(names) - most; more > 0 {
			e.Hint += fmt.Sprintf(" and %d more", more)
		}
	}
	return e
}
