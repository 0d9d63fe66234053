package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
)

// New returns the catalogue of some servers: a copy, sorted by server name and
// in each server by tool name. Tools with the same name in one server are sorted
// by their bytes without white space, whatever order the server gave them, and
// all but the first get a [Tool.Problem], since nobody could call them.
func New(servers ...Server) Catalog {
	c := Catalog{Servers: slices.Clone(servers)}
	slices.SortStableFunc(c.Servers, func(a, b Server) int { return cmp.Compare(a.Name, b.Name) })
	for i := range c.Servers {
		tools := slices.Clone(c.Servers[i].Tools)
		slices.SortStableFunc(tools, func(a, b Tool) int {
			if a.Name != b.Name {
				return cmp.Compare(a.Name, b.Name)
			}
			return bytes.Compare(compact(a.Raw), compact(b.Raw))
		})
		for j := range tools {
			if j > 0 && tools[j].Name == tools[j-1].Name && tools[j].Problem == "" {
				tools[j].Problem = "the server lists another tool of this name"
			}
		}
		c.Servers[i].Tools = tools
	}
	return c
}

// compact returns raw without white space, which a file does not keep either.
func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// MaxFileSize is the largest catalogue that [Read] takes, in bytes.
const MaxFileSize = 256 << 20

// Version is the version of the file format that [Catalog.Write] writes.
const Version = 1

// file is the format: see docs/catalog.md.
type file struct {
	Catalog int          `json:"mcpctlCatalog"`
	Servers []fileServer `json:"servers"`
}

type fileServer struct {
	Name            string            `json:"name"`
	ProtocolVersion string            `json:"protocolVersion,omitempty"`
	Info            json.RawMessage   `json:"serverInfo,omitempty"`
	Instructions    string            `json:"instructions,omitempty"`
	Missing         string            `json:"missing,omitempty"`
	Unusable        []unusable        `json:"unusable,omitempty"`
	Tools           []json.RawMessage `json:"tools"`
}

// unusable marks a tool with a problem. It is written for people and other
// programs; reading finds the problems again.
type unusable struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

// Write writes the catalogue as indented JSON that a repository can hold: the
// same catalogue always gives the same bytes, and tools keep the order of
// their members, the spelling of their numbers and their escapes. White space
// alone is not kept.
func (c Catalog) Write(w io.Writer) error {
	c = New(c.Servers...)
	out := file{Catalog: Version, Servers: []fileServer{}}
	for _, s := range c.Servers {
		fs := fileServer{
			Name:            s.Name,
			ProtocolVersion: s.ProtocolVersion,
			Info:            s.Info,
			Instructions:    s.Instructions,
			Missing:         s.Missing,
			Tools:           []json.RawMessage{},
		}
		for _, t := range s.Tools {
			fs.Tools = append(fs.Tools, t.Raw)
			if t.Problem != "" {
				fs.Unusable = append(fs.Unusable, unusable{t.Name, t.Problem})
			}
		}
		out.Servers = append(out.Servers, fs)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // or it would rewrite what servers sent
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("write catalogue: %w", err)
	}
	return nil
}

// ErrNamed says that a name was given for a catalogue whose servers have names
// already.
var ErrNamed = errors.New("the catalogue names its servers itself")

// Read reads a catalogue: what [Catalog.Write] writes, a tools/list result
// (bare, or inside its JSON-RPC response), or a capture that holds an
// initialize result and the tools. A tools/list result says nothing about its
// server, which then is called name; where name is empty it is called
// "server". For a catalogue with names of its own, name must be empty.
func Read(r io.Reader, name string) (Catalog, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFileSize+1))
	if err != nil {
		return Catalog{}, fmt.Errorf("read catalogue: %w", err)
	}
	if len(data) > MaxFileSize {
		return Catalog{}, fmt.Errorf("catalogue is larger than %d MiB", MaxFileSize>>20)
	}
	if !json.Valid(data) {
		return Catalog{}, syntaxError(data)
	}
	top, err := members(data, "catalogue")
	if err != nil {
		return Catalog{}, err
	}
	switch {
	case top["mcpctlCatalog"] != nil:
		if name != "" {
			return Catalog{}, ErrNamed
		}
		return readFile(data)
	case top["initialize"] != nil && top["tools"] != nil:
		return readCapture(top, name)
	case top["tools"] != nil:
		return readList(top, name)
	case top["result"] != nil:
		result, err := members(top["result"], "result")
		if err != nil {
			return Catalog{}, err
		}
		if result["tools"] != nil {
			return readList(result, name)
		}
	}
	return Catalog{}, errors.New("neither a catalogue nor a tools/list result: it has no tools")
}

// syntaxError says where a text stops being JSON.
func syntaxError(data []byte) error {
	var v json.RawMessage
	err := json.Unmarshal(data, &v)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := data[:min(int(e.Offset), len(data))]
		line := 1 + bytes.Count(before, []byte("\n"))
		column := max(1, len(before)-bytes.LastIndexByte(before, '\n')-1)
		return fmt.Errorf("line %d, column %d: not valid JSON", line, column)
	}
	return schemadoc.ErrNotJSON
}

// members returns the members of an object by exact name.
func members(raw json.RawMessage, what string) (map[string]json.RawMessage, error) {
	list, err := schemadoc.Split(raw)
	if err != nil {
		return nil, fmt.Errorf("%s is no JSON object", what)
	}
	byName := make(map[string]json.RawMessage, len(list))
	for _, m := range list {
		byName[m.Name] = m.Raw
	}
	return byName, nil
}

func readFile(data []byte) (Catalog, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return Catalog{}, fmt.Errorf("catalogue: member %q has the wrong type", e.Field)
		}
		return Catalog{}, fmt.Errorf("catalogue: %w", err)
	}
	if f.Catalog != Version {
		return Catalog{}, fmt.Errorf("catalogue has format %d, and this program reads format %d", f.Catalog, Version)
	}
	var servers []Server
	seen := make(map[string]bool)
	for i, fs := range f.Servers {
		if fs.Name == "" {
			return Catalog{}, fmt.Errorf("catalogue: server %d has no name", i+1)
		}
		if seen[fs.Name] {
			return Catalog{}, fmt.Errorf("catalogue: server %q is there twice", fs.Name)
		}
		seen[fs.Name] = true
		s := Server{
			Name:            fs.Name,
			ProtocolVersion: fs.ProtocolVersion,
			Info:            fs.Info,
			Instructions:    fs.Instructions,
			Missing:         fs.Missing,
		}
		var err error
		if s.Tools, err = parseTools(fs.Tools); err != nil {
			return Catalog{}, fmt.Errorf("server %q: %w", fs.Name, err)
		}
		servers = append(servers, s)
	}
	return New(servers...), nil
}

func parseTools(raws []json.RawMessage) ([]Tool, error) {
	tools := make([]Tool, 0, len(raws))
	for i, raw := range raws {
		t, err := ParseTool(raw)
		if err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

func readTools(raw json.RawMessage) ([]Tool, error) {
	var raws []json.RawMessage
	if json.Unmarshal(raw, &raws) != nil {
		return nil, errors.New(`member "tools" is no array`)
	}
	return parseTools(raws)
}

func readList(result map[string]json.RawMessage, name string) (Catalog, error) {
	if next := result["nextCursor"]; next != nil && !isNull(next) {
		return Catalog{}, errors.New("the tools/list result is one page of several (it has a nextCursor): join the pages first")
	}
	tools, err := readTools(result["tools"])
	if err != nil {
		return Catalog{}, err
	}
	return New(Server{Name: cmp.Or(name, "server"), Tools: tools}), nil
}

// initialized is what an initialize or server/discover result says of a
// server.
type initialized struct {
	ProtocolVersion string          `json:"protocolVersion"`
	ServerInfo      json.RawMessage `json:"serverInfo"`
	Instructions    string          `json:"instructions"`
	Meta            struct {
		ServerInfo json.RawMessage `json:"io.modelcontextprotocol/serverInfo"`
	} `json:"_meta"`
}

// readCapture reads a capture: header, initialize, tools, and under modern the
// discover result and the tools where a server shows others to newer clients.
func readCapture(top map[string]json.RawMessage, name string) (Catalog, error) {
	var header struct {
		Server string `json:"server"`
	}
	var init initialized
	var modern struct {
		Discover *initialized `json:"discover"`
		Tools    struct {
			Items json.RawMessage `json:"items"`
		} `json:"tools"`
	}
	for member, target := range map[string]any{"header": &header, "initialize": &init, "modern": &modern} {
		if raw := top[member]; raw != nil && json.Unmarshal(raw, target) != nil {
			return Catalog{}, fmt.Errorf("capture: member %q has the wrong shape", member)
		}
	}
	s := Server{
		Name:            cmp.Or(name, header.Server, "server"),
		ProtocolVersion: init.ProtocolVersion,
		Info:            init.ServerInfo,
		Instructions:    init.Instructions,
	}
	tools := top["tools"]
	if d := modern.Discover; d != nil {
		s.ProtocolVersion = "2026-07-28"
		s.Info = d.Meta.ServerInfo
		s.Instructions = d.Instructions
		if modern.Tools.Items != nil {
			tools = modern.Tools.Items
		}
	}
	var err error
	if s.Tools, err = readTools(tools); err != nil {
		return Catalog{}, err
	}
	return New(s), nil
}
