package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/pkg/client"
)

func TestAdhoc(t *testing.T) {
	for _, test := range []struct {
		adhoc Adhoc
		want  client.Spec
	}{
		{
			Adhoc{URL: "https://API.example.com/mcp", Headers: []string{"Authorization: Bearer a:b", "X-Empty:"}, AllowedHosts: []string{"api.example.com"}},
			client.Spec{Name: "api.example.com", HTTP: &client.HTTP{
				URL:          "https://API.example.com/mcp",
				Headers:      map[string]string{"Authorization": "Bearer a:b", "X-Empty": ""},
				AllowedHosts: []string{"api.example.com"},
			}},
		},
		{
			Adhoc{URL: "http://localhost:3001"},
			client.Spec{Name: "localhost:3001", HTTP: &client.HTTP{URL: "http://localhost:3001", Headers: map[string]string{}}},
		},
		{
			Adhoc{Command: []string{"/usr/bin/node", "index.js", "${HOME}"}, Env: []string{"A=b=c", "EMPTY=", "KEY"}},
			client.Spec{Name: "node", Stdio: &client.Stdio{
				Command: "/usr/bin/node",
				Args:    []string{"index.js", "${HOME}"}, // the shell expands, not we
				Env:     map[string]string{"A": "b=c", "EMPTY": "", "KEY": "sesame"},
			}},
		},
	} {
		got, err := test.adhoc.Spec(options("KEY", "sesame"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestAdhocErrors(t *testing.T) {
	for want, adhoc := range map[string]Adhoc{
		"there is neither a URL nor a command":                             {},
		"a URL and a command exclude each other":                           {URL: "http://a.example", Command: []string{"a"}},
		"the URL of the server is not a valid http or https URL":           {URL: "http://u:hunter2@a:b"},
		"-e is for a command; a URL takes -H 'Name: value'":                {URL: "http://a.example", Env: []string{"A=hunter2"}},
		"-H must have the form 'Name: value'":                              {URL: "http://a.example", Headers: []string{"hunter2"}},
		`server "a.example" has a header with the invalid name "A B"`:      {URL: "http://a.example", Headers: []string{"A B: hunter2"}},
		"-H and --allow-host are for a URL; a command takes -e NAME=VALUE": {Command: []string{"a"}, Headers: []string{"A: hunter2"}},
		"-e must have the form NAME=VALUE or NAME":                         {Command: []string{"a"}, Env: []string{"=hunter2"}},
		"-e: a variable that was given without a value is not set":         {Command: []string{"a"}, Env: []string{"hunter2"}},
	} {
		if _, err := adhoc.Spec(options()); err == nil || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

func TestCommandName(t *testing.T) {
	for want, argv := range map[string][]string{
		"mcpctl":             {"./bin/mcpctl", "serve"},
		"Tool":               {`C:\Programs\Tool.EXE`},
		".exe":               {".exe"},
		"server-everything":  {"npx", "-y", "@modelcontextprotocol/server-everything@latest", "stdio"},
		"mcp-server-git":     {"/usr/bin/uvx", "mcp-server-git@2026.1", "--repository", "."},
		"playwright":         {"npx", "@playwright/mcp@latest"},
		"server-memory":      {"npx.cmd", "--yes", "@modelcontextprotocol/server-memory"},
		"mcp-server-fetch":   {"pipx", "run", "mcp-server-fetch"},
		"npx":                {"npx", "--help"},
		"python":             {"python", "-m", "server"},
		"a command":          {"dir/a command"},
		"mcp-server-private": {"bunx", "mcp-server-private"},
	} {
		if got := commandName(argv); got != want {
			t.Errorf("%q is called %q, want %q", argv, got, want)
		}
	}
}

func TestIsURL(t *testing.T) {
	for target, want := range map[string]bool{
		"https://a.example": true, "HTTP://localhost:1": true,
		"weather": false, "ftp://a.example": false, "localhost:3000": false, "": false,
	} {
		if got := IsURL(target); got != want {
			t.Errorf("IsURL(%q) is %t", target, got)
		}
	}
}
