package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mcpctl/mcpctl/pkg/client"
)

// environment is a lookup over a fixed set of variables.
func environment(pairs ...string) func(string) (string, bool) {
	vars := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// file is a named file /work/project/mcp.json with the given variables.
var file = File{Path: filepath.FromSlash("/work/project/mcp.json"), Name: "mcp.json", Found: Named}

func options(pairs ...string) Options {
	return Options{Dir: filepath.FromSlash("/work"), Lookup: environment(pairs...)}
}

func mustParse(t *testing.T, text string, o Options) *Config {
	t.Helper()
	c, err := parse(file, []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lines shows errors with their hints.
func lines(errs ...*Error) string {
	var b strings.Builder
	for _, e := range errs {
		fmt.Fprintln(&b, e)
		if e.Hint != "" {
			fmt.Fprintln(&b, "hint: "+e.Hint)
		}
	}
	return b.String()
}

func TestSpecs(t *testing.T) {
	c := mustParse(t, `
	{
		// The ecosystem's own spelling.
		"mcpServers": {
			"files": {
				"type": "stdio",
				"command": "${RUNNER:-npx}",
				"args": ["-y", "pkg", "${workspaceFolder}/data", "--key=${KEY}", "cost: $5 $$ ${} ${#x"],
				"env": {"TOKEN": "${env:KEY}", "PORT": 8080, "DEBUG": true},
				"cwd": "sub",
				"inheritDefaultEnv": false,
				"alwaysAllow": ["read"], /* Cline */ "autoApprove": [],
				"clientInfo": {"version": "9"},
			},
			"off": {"command": "${UNSET}", "disabled": true},
		},
		// And that of VS Code.
		"servers": {
			"api": {
				"type": "http",
				"url": "https://user:pass@api.example.com/${KEY}/mcp",
				"headers": {"Authorization": "Bearer ${KEY}"},
				"allowedHosts": [],
				"timeout": 1500,
				"protocolVersion": "legacy",
				"gallery": true,
			},
		},
		"timeout": "2m",
		"clientInfo": {"name": "robot", "version": "1"},
		"inputs": [{"id": "x", "type": "promptString"}],
	} // no line feed`, options("KEY", "sesame-open", "EMPTY", ""))

	got, err := c.Specs()
	if err != nil {
		t.Fatal(err)
	}
	want := []client.Spec{
		{
			Name: "api",
			HTTP: &client.HTTP{
				URL:          "https://user:pass@api.example.com/sesame-open/mcp",
				Headers:      map[string]string{"Authorization": "Bearer sesame-open"},
				AllowedHosts: []string{},
			},
			Timeout:    1500 * time.Millisecond,
			Protocol:   client.ProtocolLegacy,
			ClientInfo: client.Implementation{Name: "robot", Version: "1"},
			Secrets:    []string{"sesame-open"},
		},
		{
			Name: "files",
			Stdio: &client.Stdio{
				Command:      "npx",
				Args:         []string{"-y", "pkg", filepath.FromSlash("/work/project") + "/data", "--key=sesame-open", "cost: $5 $$ ${} ${#x"},
				Env:          map[string]string{"TOKEN": "sesame-open", "PORT": "8080", "DEBUG": "true"},
				Dir:          filepath.FromSlash("/work/project/sub"),
				NoInheritEnv: true,
			},
			Timeout:    2 * time.Minute,
			ClientInfo: client.Implementation{Name: "robot", Version: "9"},
			Secrets:    []string{"sesame-open"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("specs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"api", "files", "off"}, c.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings:\n%s", lines(c.Warnings...))
	}
}

func TestSpecsByName(t *testing.T) {
	c := mustParse(t, `{"mcpServers": {
		"a": {"command": "a"},
		"b": {"command": "b", "disabled": true},
		"c": {"command": "${UNSET}"}
	}}`, options())
	for _, test := range []struct {
		ask, want []string
	}{
		{[]string{"a"}, []string{"a"}},
		{[]string{"b", "a", "b"}, []string{"a", "b"}}, // a disabled one was named
	} {
		specs, err := c.Specs(test.ask...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range specs {
			got = append(got, s.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.ask, diff)
		}
	}
	if diff := cmp.Diff([]string{"a", "c"}, c.Enabled()); diff != "" {
		t.Errorf("enabled (-want +got):\n%s", diff)
	}
	specs, err := mustParse(t, `{"mcpServers": {}}`, options()).Specs()
	if len(specs) != 0 || err != nil {
		t.Errorf("no servers: %v, %v", specs, err)
	}
}

// TestLoadErrors holds the text of every mistake that does not depend on
// variables.
func TestLoadErrors(t *testing.T) {
	server := func(keys string) string { return "{\"mcpServers\": {\"x\": {\n  " + keys + "\n}}}" }
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "mcp.json: is empty\nhint: the smallest configuration is {\"mcpServers\": {}}\n"},
		{"blank", " \n\t", "mcp.json: is empty\nhint: the smallest configuration is {\"mcpServers\": {}}\n"},
		{"comment only", "// nothing", "mcp.json:1:11: the file ends too early\n"},
		{"not UTF-8", "{\"a\": \"\xff\"}", "mcp.json: is not UTF-8 text\nhint: save it as UTF-8\n"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "mcp.json: is not UTF-8 text\nhint: save it as UTF-8\n"},
		{"too large", strings.Repeat(" ", maxSize+1), "mcp.json: is larger than 1 MiB\n"},
		{"too deep", strings.Repeat("[", 100), "mcp.json:1:65: is nested deeper than 64 levels\n"},
		{"not an object", "\n [1]", "mcp.json:2:2: must be an object, not a list\nhint: the smallest configuration is {\"mcpServers\": {}}\n"},
		{"cut off", `{"mcpServers": {`, "mcp.json:1:17: the file ends too early\n"},
		{"comma missing", "{\n  \"a\": 1\n  \"b\": 2}", "mcp.json:3:3: invalid character '\"' after object value (expecting ',' or '}')\n"},
		{"column in characters", "{\"ä\": \"ö\" x}", "mcp.json:1:11: invalid character 'x' after object value (expecting ',' or '}')\n"},
		{"bad literal keeps its secret", `{"a": "hunter2\q"}`, "mcp.json:1:7: invalid string, number or word\n"},
		{"open comment", `{} /* `, "mcp.json:1:4: the file ends too early\n"},
		{"text behind", `{} {}`, "mcp.json:1:4: invalid character '{' after top-level value\n"},
		{"servers are a list", `{"mcpServers": []}`, "mcp.json:1:16: mcpServers: must be an object, not a list\n"},
		{"a server is a string", `{"mcpServers": {"x": "npx"}}`, "mcp.json:1:22: server \"x\": must be an object, not a string\n"},
		{"a server without name", `{"mcpServers": {"": {"command": "a"}}}`, "mcp.json:1:17: mcpServers: a server needs a name\n"},
		{
			"server twice", "{\"mcpServers\": {\"x\": {\"command\": \"a\"},\n\"x\": {\"command\": \"b\"}}}",
			"mcp.json:2:1: mcpServers: key \"x\" is there twice, first on line 1\n",
		},
		{
			"server in both", "{\"mcpServers\": {\"x\": {\"command\": \"a\"}},\n\"servers\": {\"x\": {\"command\": \"b\"}}}",
			"mcp.json:2:13: servers: server \"x\" is there twice, first in \"mcpServers\" on line 1\n",
		},
		{
			"key twice", server("\"command\": \"a\",\n\"command\": \"b\""),
			"mcp.json:3:1: server \"x\": key \"command\" is there twice, first on line 2\n",
		},
		{"top key twice", `{"timeout": 5000, "timeout": 5000}`, "mcp.json:1:19: key \"timeout\" is there twice, first on line 1\n"},
		{
			"variable twice", server(`"command": "a", "env": {"A": "1", "A": "2"}`),
			"mcp.json:2:37: server \"x\": env: key \"A\" is there twice, first on line 2\n",
		},
		{
			"both", server(`"command": "a", "url": "https://a.example"`),
			"mcp.json:1:22: server \"x\": has both \"command\" and \"url\"\nhint: \"command\" starts a server, \"url\" reaches one; keep one of them\n",
		},
		{
			"neither", server(`"args": []`),
			"mcp.json:1:22: server \"x\": has neither \"command\" nor \"url\"\nhint: \"command\" starts a server, \"url\" reaches one\n",
		},
		{
			"neither, but misspelt", server(`"comand": "a"`),
			"mcp.json:1:22: server \"x\": has neither \"command\" nor \"url\"\nhint: line 2: unknown key \"comand\"; did you mean \"command\"?\n",
		},
		{
			"neither, but in other words", server(`"serverUrl": "https://a.example"`),
			"mcp.json:1:22: server \"x\": has neither \"command\" nor \"url\"\nhint: line 2: unknown key \"serverUrl\"; write \"url\"\n",
		},
		{"command is empty", server(`"command": ""`), "mcp.json:2:14: server \"x\": command: must not be empty\n"},
		{"command is a list", server(`"command": ["a"]`), "mcp.json:2:14: server \"x\": command: must be a string, not a list\n"},
		{"args is a string", server(`"command": "a", "args": "-y"`), "mcp.json:2:27: server \"x\": args: must be a list of strings, not a string\n"},
		{"an argument is a number", server(`"command": "a", "args": ["-p", 80]`), "mcp.json:2:34: server \"x\": args[1]: must be a string, not a number\n"},
		{"env is a list", server(`"command": "a", "env": ["A=b"]`), "mcp.json:2:26: server \"x\": env: must be an object, not a list\n"},
		{"a variable is null", server(`"command": "a", "env": {"A": null}`), "mcp.json:2:32: server \"x\": env.A: must be a string, not null\n"},
		{"a header is a number", server(`"url": "https://a.example", "headers": {"X-A": 1}`), "mcp.json:2:50: server \"x\": headers.X-A: must be a string, not a number\n"},
		{
			"a header in two spellings", server(`"url": "https://a.example", "headers": {"x-a": "1", "X-A": "2"}`),
			"mcp.json:2:42: server \"x\": headers: header \"X-A\" is there twice\n",
		},
		{"disabled is a string", server(`"command": "a", "disabled": "no"`), "mcp.json:2:31: server \"x\": disabled: must be true or false, not a string\n"},
		{"timeout is zero", server(`"command": "a", "timeout": 0`), "mcp.json:2:30: server \"x\": timeout: must be more than zero\n"},
		{"timeout is negative", server(`"command": "a", "timeout": "-3s"`), "mcp.json:2:30: server \"x\": timeout: must be more than zero\n"},
		{"timeout is endless", server(`"command": "a", "timeout": 1e300`), "mcp.json:2:30: server \"x\": timeout: is out of range\n"},
		{"timeout without unit", server(`"command": "a", "timeout": "30"`), "mcp.json:2:30: server \"x\": timeout: must be a number of milliseconds or a duration such as \"30s\"\n"},
		{"timeout is true", server(`"command": "a", "timeout": true`), "mcp.json:2:30: server \"x\": timeout: must be a number of milliseconds or a duration such as \"30s\", not true or false\n"},
		{"unknown revision", server(`"command": "a", "protocolVersion": "2025-06-18"`), "mcp.json:2:38: server \"x\": protocolVersion: must be \"2026-07-28\" or \"legacy\"\n"},
		{
			"unknown transport", server(`"command": "a", "type": "pigeon"`),
			"mcp.json:2:27: server \"x\": type: must be \"stdio\", \"local\", \"http\", \"streamable-http\", \"streamableHttp\", \"streamable_http\" or \"sse\"\n",
		},
		{"type contradicts url", server(`"url": "https://a.example", "type": "stdio"`), "mcp.json:2:39: server \"x\": type: does not go with \"url\"\n"},
		{"transport contradicts command", server(`"command": "a", "transport": "sse"`), "mcp.json:2:32: server \"x\": transport: does not go with \"command\"\n"},
		{"another scheme keeps its password", server(`"url": "ftp://u:hunter2@a.example"`), "mcp.json:2:10: server \"x\": url: must be a URL that starts with http:// or https://\n"},
		{"a broken URL keeps its password", server(`"url": "https://u:hunter2@a.example:port/"`), "mcp.json:2:10: server \"x\": url: is not a valid URL\n"},
		{"a URL without host", server(`"url": "https:///mcp"`), "mcp.json:2:10: server \"x\": url: is not a valid URL\n"},
		{"clientInfo", server(`"command": "a", "clientInfo": {"name": 3}`), "mcp.json:2:42: server \"x\": clientInfo.name: must be a string, not a number\n"},
		{"control characters in names", "{\"mcpServers\": {\"\\u001b[2J\": 1}}", "mcp.json:1:30: server \"\\x1b[2J\": must be an object, not a number\n"},
		{"top timeout", `{"timeout": "soon"}`, "mcp.json:1:13: timeout: must be a number of milliseconds or a duration such as \"30s\"\n"},
		{"typegen is a string", `{"typegen": "x.go"}`, "mcp.json:1:13: typegen: must be an object, not a string\n"},
		{"outFile is empty", `{"typegen": {"outFile": ""}}`, "mcp.json:1:25: typegen.outFile: must not be empty\n"},
		{"both outputs", `{"typegen": {"outFile": "a.go", "outDir": "b"}}`, "mcp.json:1:13: typegen: has both \"outFile\" and \"outDir\"\n"},
		{"extras", `{"typegen": {"extras": "all"}}`, "mcp.json:1:24: typegen.extras: must be \"explicit\", \"keep\" or \"drop\"\n"},
		{"formats", `{"typegen": {"formats": "date"}}`, "mcp.json:1:25: typegen.formats: must be \"time\"\n"},
		{
			"a pattern without server", `{"typegen": {"tools": {"include": ["a.*", "get"]}}}`,
			"mcp.json:1:43: typegen.tools.include[1]: a pattern must have the form server.tool\nhint: such as \"weather.*\" or \"*.get_?\"\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(file, []byte(test.text), options())
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("error is %v", err)
			}
			if diff := cmp.Diff(test.want, lines(e)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSpecsErrors holds the text of every mistake that shows when a server is
// used.
func TestSpecsErrors(t *testing.T) {
	const unset = "hint: set it, or give it a default: ${TOKEN:-default}\n"
	for _, test := range []struct{ name, server, want string }{
		{"command", `"command": "${TOKEN}"`, "mcp.json:2:12: server \"x\": command: variable TOKEN is not set\n" + unset},
		{"args", `"command": "a", "args": ["b", "-t=${TOKEN}"]`, "mcp.json:2:31: server \"x\": args[1]: variable TOKEN is not set\n" + unset},
		{"env", `"command": "a", "env": {"KEY": "${env:TOKEN}"}`, "mcp.json:2:32: server \"x\": env.KEY: variable TOKEN is not set\n" + unset},
		{"url", `"url": "${TOKEN}"`, "mcp.json:2:8: server \"x\": url: variable TOKEN is not set\n" + unset},
		{"header", `"url": "https://a.example", "headers": {"A": "${TOKEN}"}`, "mcp.json:2:46: server \"x\": headers.A: variable TOKEN is not set\n" + unset},
		{"host", `"url": "https://a.example", "allowedHosts": ["${TOKEN}"]`, "mcp.json:2:46: server \"x\": allowedHosts[0]: variable TOKEN is not set\n" + unset},
		{"timeout", `"command": "a", "timeout": "${TOKEN}"`, "mcp.json:2:28: server \"x\": timeout: variable TOKEN is not set\n" + unset},
		{"clientInfo", `"command": "a", "clientInfo": {"name": "${TOKEN}"}`, "mcp.json:2:40: server \"x\": clientInfo.name: variable TOKEN is not set\n" + unset},
		{
			"input", `"command": "a", "args": ["${input:token}"]`,
			"mcp.json:2:26: server \"x\": args[0]: ${input:…} is not supported\nhint: mcpctl does not ask for inputs; put the value into an environment variable and write ${NAME}\n",
		},
		{
			"a setting of the editor", `"command": "${config:go.path}"`,
			"mcp.json:2:12: server \"x\": command: ${config:…} is not supported\nhint: write ${NAME}, ${NAME:-default} or ${env:NAME}\n",
		},
		{
			"a default without its dash", `"command": "${TOKEN:npx}"`,
			"mcp.json:2:12: server \"x\": command: ${TOKEN:…} is not supported\nhint: write ${NAME}, ${NAME:-default} or ${env:NAME}\n",
		},
		{
			"variables within variables", `"command": "${TOKEN:-${B}}"`,
			"mcp.json:2:12: server \"x\": command: the default of variable TOKEN holds another variable\nhint: a default is plain text\n",
		},
		// What depends on the text of a variable is checked with the text.
		{"empty command", `"command": "${EMPTY}"`, "mcp.json:2:12: server \"x\": command: must not be empty\n"},
		{"wrong word", `"command": "a", "protocolVersion": "${SECRET}"`, "mcp.json:2:36: server \"x\": protocolVersion: must be \"2026-07-28\" or \"legacy\"\n"},
		{"wrong duration", `"command": "a", "timeout": "${SECRET}"`, "mcp.json:2:28: server \"x\": timeout: must be a number of milliseconds or a duration such as \"30s\"\n"},
		{"wrong URL", `"url": "${SECRET}"`, "mcp.json:2:8: server \"x\": url: must be a URL that starts with http:// or https://\n"},
		{"wrong type", `"command": "a", "type": "${HTTP}"`, "mcp.json:2:25: server \"x\": type: does not go with \"command\"\n"},
		{"name of a variable", `"command": "a", "env": {"A=B": "c"}`, "mcp.json:1:22: server \"x\" has an environment variable with the invalid name \"A=B\"\n"},
		{"line break in a header", `"url": "https://a.example", "headers": {"A": "${BREAK}"}`, "mcp.json:1:22: server \"x\": the value of header A contains a line break\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "{\"mcpServers\": {\"x\": {\n" + test.server + "\n}, \"y\": {\"command\": \"b\"}}}"
			c := mustParse(t, text, options("SECRET", "hunter2", "EMPTY", "", "HTTP", "http", "BREAK", "hunter2\n"))
			if _, err := c.Specs("y"); err != nil {
				t.Errorf("a server that is not in use hurts: %v", err)
			}
			_, err := c.Specs("x")
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("error is %v", err)
			}
			if diff := cmp.Diff(test.want, lines(e)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTopLevelVariables(t *testing.T) {
	c := mustParse(t, `{"mcpServers": {"x": {"command": "a"}}, "clientInfo": {"name": "${TOKEN}"}, "typegen": {"outFile": "${TOKEN}"}}`, options())
	_, err := c.Specs()
	const want = `mcp.json:1:64: clientInfo.name: variable TOKEN is not set`
	if err == nil || err.Error() != want {
		t.Errorf("specs: %v, want %s", err, want)
	}
	_, err = c.Typegen()
	const wantTypegen = `mcp.json:1:100: typegen.outFile: variable TOKEN is not set`
	if err == nil || err.Error() != wantTypegen {
		t.Errorf("typegen: %v, want %s", err, wantTypegen)
	}
}

func TestUnknownServer(t *testing.T) {
	var many strings.Builder
	many.WriteString(`{"mcpServers": {`)
	for i := range 12 {
		fmt.Fprintf(&many, `"s%c": {"command": "a"},`, 'a'+i)
	}
	many.WriteString("}}")
	for _, test := range []struct{ text, ask, want string }{
		{`{"mcpServers": {"github": {"command": "a"}}}`, "githb", "mcp.json: there is no server \"githb\"\nhint: did you mean \"github\"?\n"},
		{`{"mcpServers": {"github": {"command": "a"}, "z": {"command": "a"}}}`, "slack", "mcp.json: there is no server \"slack\"\nhint: the servers are \"github\", \"z\"\n"},
		{`{"mcpServers": {}}`, "slack", "mcp.json: there is no server \"slack\"\nhint: the file has no servers\n"},
		{many.String(), "slack", "mcp.json: there is no server \"slack\"\nhint: the servers are \"sa\", \"sb\", \"sc\", \"sd\", \"se\", \"sf\", \"sg\", \"sh\", \"si\", \"sj\" and 2 more\n"},
	} {
		_, err := mustParse(t, test.text, options()).Specs(test.ask)
		e, _ := errors.AsType[*Error](err)
		if e == nil {
			t.Fatalf("error is %v", err)
		}
		if diff := cmp.Diff(test.want, lines(e)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestWarnings(t *testing.T) {
	c := mustParse(t, `{
		"mcpServer": {},
		"mcpServers": {"x": {
			"command": "a",
			"Timeout": 5,
			"timeout": 30,
			"envFile": ".env",
			"enabled": false,
			"dev": {}, "tools": ["*"], "somethingElse": 1
		}},
		"clientInfo": {"title": "T"},
		"typegen": {"outfile": "a.go", "color": true}
	}`, options())
	want := `mcp.json:2:3: unknown key "mcpServer"
hint: did you mean "mcpServers"?
mcp.json:11:18: clientInfo: unknown key "title"
mcp.json:5:4: server "x": unknown key "Timeout"
hint: did you mean "timeout"?
mcp.json:6:15: server "x": timeout: is in milliseconds and below one second
hint: seconds are written as "30s"
mcp.json:7:4: server "x": unknown key "envFile"
hint: files of variables are not read; name the variables in "env"
mcp.json:8:4: server "x": unknown key "enabled"
hint: write "disabled"
mcp.json:12:15: typegen: unknown key "outfile"
hint: did you mean "outFile"?
mcp.json:12:34: typegen: unknown key "color"
`
	if diff := cmp.Diff(want, lines(c.Warnings...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c = mustParse(t, `{"weather": {"command": "a"}}`, options())
	want = "mcp.json:1:1: there is no \"mcpServers\"\nhint: servers belong into {\"mcpServers\": {\"name\": …}}\n"
	if diff := cmp.Diff(want, lines(c.Warnings...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWarningsBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString(`{"typegen": {`)
	for i := range 50_000 {
		fmt.Fprintf(&text, `"k%d":0,`, i)
	}
	text.WriteString("}}")
	if n := len(mustParse(t, text.String(), options()).Warnings); n != maxWarnings {
		t.Errorf("there are %d warnings", n)
	}
}

func TestByteOrderMark(t *testing.T) {
	c := mustParse(t, "\ufeff{\"mcpServers\": {\"x\": {\"command\": \"a\"}}}", options())
	if diff := cmp.Diff([]string{"x"}, c.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNestingInText makes sure that brackets in strings and comments do not
// count as nesting.
func TestNestingInText(t *testing.T) {
	brackets := strings.Repeat("[{", 200)
	mustParse(t, "// "+brackets+"\n{\"mcpServers\": {\"x\": /* "+brackets+" */ {\"command\": \"\\\""+brackets+"\"}}}", options())
}

func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dir: dir}
	path := filepath.Join(dir, "mcp.json")
	for _, test := range []struct {
		name, want string
		prepare    func() error
		cause      error
	}{
		{"missing", "mcp.json: there is no such file", func() error { return nil }, fs.ErrNotExist},
		{"folder", "mcp.json: is a folder, not a file", func() error { return os.Mkdir(path, 0o700) }, errFolder},
		{"too large", "mcp.json: is larger than 1 MiB", func() error {
			return os.WriteFile(path, []byte(strings.Repeat(" ", maxSize+100)), 0o600)
		}, nil},
		{"unreadable", "mcp.json: may not be read: permission denied", func() error {
			return os.WriteFile(path, []byte("{}"), 0)
		}, fs.ErrPermission},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "unreadable" && os.Geteuid() <= 0 {
				t.Skip("nothing is unreadable for the superuser, or on Windows")
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if err := test.prepare(); err != nil {
				t.Fatal(err)
			}
			f, err := Find("mcp.json", o)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Load(f, o)
			if err == nil || err.Error() != test.want || !cmp.Equal(errors.Is(err, test.cause), test.cause != nil, cmpopts.EquateErrors()) {
				t.Errorf("error is %v, want %s", err, test.want)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	names := []string{"command", "env", "timeout", "url", "weather", "é"}
	for name, want := range map[string]string{
		"comand": "command", "COMMAND": "command", "wether": "weather", "weathre": "weather",
		"dev": "", "slack": "", "": "", "x": "", strings.Repeat("weather", 100): "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
