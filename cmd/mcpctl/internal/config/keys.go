package config

import (
	"time"

	"github.com/tailscale/hujson"
)

// This file is the one place where keys are listed. A new key is a field of a
// struct, a row of a table, a property of docs/mcp.schema.json (a test says so
// when it is missing) and a use in servers.go or typegen.go.

// top is the file as a whole. Servers and typegen are decoded when they are
// used, so that what is wrong with the variables of one hurts no other.
type top struct {
	mcpServers hujson.Value
	servers    hujson.Value
	typegen    hujson.Value
	timeout    time.Duration
	clientInfo clientInfo
}

var topKeys = []key[top]{
	later("mcpServers", serversShape, func(t *top) *hujson.Value { return &t.mcpServers }),
	later("servers", serversShape, func(t *top) *hujson.Value { return &t.servers }),
	duration("timeout", func(t *top) *time.Duration { return &t.timeout }),
	object("clientInfo", clientInfoKeys, func(t *top) *clientInfo { return &t.clientInfo }),
	later("typegen", shapeOf(typegenKeys, false), func(t *top) *hujson.Value { return &t.typegen }),
}

// serversShape is an object of servers under any names; "" stands for them.
var serversShape = shape{types: []string{"object"}, keys: map[string]shape{"": shapeOf(serverKeys, true)}}

// server is one server as written.
type server struct {
	kind            string // the key "type", or "transport" as some programs say
	command         string
	args            []string
	env             map[string]string
	inheritDefault  *bool
	cwd             string
	url             string
	headers         map[string]string
	allowedHosts    []string
	timeout         time.Duration
	protocolVersion string
	clientInfo      clientInfo
	disabled        *bool
	approval        string
}

var serverKeys = []key[server]{
	oneOf("type", func(s *server) *string { return &s.kind }, kinds...),
	oneOf("transport", func(s *server) *string { return &s.kind }, kinds...),
	nonEmpty("command", func(s *server) *string { return &s.command }),
	list("args", func(s *server) *[]string { return &s.args }),
	scalars("env", func(s *server) *map[string]string { return &s.env }),
	boolean("inheritDefaultEnv", func(s *server) **bool { return &s.inheritDefault }),
	nonEmpty("cwd", func(s *server) *string { return &s.cwd }),
	nonEmpty("url", func(s *server) *string { return &s.url }),
	table("headers", func(s *server) *map[string]string { return &s.headers }),
	list("allowedHosts", func(s *server) *[]string { return &s.allowedHosts }),
	duration("timeout", func(s *server) *time.Duration { return &s.timeout }),
	oneOf("protocolVersion", func(s *server) *string { return &s.protocolVersion }, "2026-07-28", "legacy"),
	object("clientInfo", clientInfoKeys, func(s *server) *clientInfo { return &s.clientInfo }),
	boolean("disabled", func(s *server) **bool { return &s.disabled }),
	oneOf("approval", func(s *server) *string { return &s.approval },
		string(ApproveNever), string(ApproveDestructive), string(ApproveOnce), string(ApproveAlways)),
}

// kinds are the ecosystem's words for the transports. "local" is a command.
var kinds = []string{"stdio", "local", "http", "streamable-http", "streamableHttp", "streamable_http", "sse"}

// clientInfo is what mcpctl calls itself towards servers.
type clientInfo struct{ name, version string }

var clientInfoKeys = []key[clientInfo]{
	nonEmpty("name", func(c *clientInfo) *string { return &c.name }),
	nonEmpty("version", func(c *clientInfo) *string { return &c.version }),
}

// Typegen is the section for "mcpctl generate". The words of Extras, Numbers
// and Formats are checked here and understood by the generator.
type Typegen struct {
	OutFile  string // absolute; not both of OutFile and OutDir
	OutDir   string // absolute
	Package  string
	Tools    ToolFilter
	Extras   string // explicit, keep, drop; empty for the default
	Numbers  string // exact, float64; empty for the default
	Formats  string // time; empty for the default
	Widen    *bool  // nil if the file does not say
	Validate *bool  // likewise
}

var typegenKeys = []key[Typegen]{
	nonEmpty("outFile", func(t *Typegen) *string { return &t.OutFile }),
	nonEmpty("outDir", func(t *Typegen) *string { return &t.OutDir }),
	nonEmpty("package", func(t *Typegen) *string { return &t.Package }),
	object("tools", toolFilterKeys, func(t *Typegen) *ToolFilter { return &t.Tools }),
	oneOf("extras", func(t *Typegen) *string { return &t.Extras }, "explicit", "keep", "drop"),
	oneOf("numbers", func(t *Typegen) *string { return &t.Numbers }, "exact", "float64"),
	oneOf("formats", func(t *Typegen) *string { return &t.Formats }, "time"),
	boolean("widen", func(t *Typegen) **bool { return &t.Widen }),
	boolean("validate", func(t *Typegen) **bool { return &t.Validate }),
}

// ToolFilter picks tools by patterns over server.tool, in which * stands for
// any run of characters and ? for one.
type ToolFilter struct {
	Include []string // none means all
	Exclude []string // wins over Include
}

var toolFilterKeys = []key[ToolFilter]{
	patterns("include", func(f *ToolFilter) *[]string { return &f.Include }),
	patterns("exclude", func(f *ToolFilter) *[]string { return &f.Exclude }),
}

// foreignKeys belong to other programs and are near to keys of ours, or could
// be taken for them. They are passed over in silence.
var foreignKeys = []string{
	"$schema", "alwaysAllow", "autoApprove", "autoStart", "description", "dev", "disabledTools", "gallery",
	"icon", "id", "inputs", "name", "oauth", "roots", "tags", "tools", "trust", "version",
}

// otherNames are what other programs call what we have or do not have. As
// they change what a server gets, they are pointed out.
var otherNames = map[string]string{
	"enabled":          `write "disabled"`,
	"environment":      `write "env"`,
	"envFile":          `files of variables are not read; name the variables in "env"`,
	"httpUrl":          `write "url"`,
	"serverUrl":        `write "url"`,
	"workingDirectory": `write "cwd"`,
	"http_headers":     `write "headers"`,
	"requestInit":      `write "headers"`,
}
