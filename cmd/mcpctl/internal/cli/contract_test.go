package cli

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/demo"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/mcpctl/mcpctl/pkg/server"
)

// TestOutputContract holds what programs read, against golden files: keys may
// be added to them, and nothing else may change.
func TestOutputContract(t *testing.T) {
	web := httptest.NewServer(server.NewHandler(demo.New("v1.2.3"), nil))
	t.Cleanup(web.Close)
	url := web.URL + "/mcp"
	config := fmt.Sprintf(`{"mcpServers": {"demo": {"url": %q}}}`, url)
	tests := []struct {
		name string
		code int
		args string
	}{
		{"list", exitOK, "list -o json"},
		{"list_resources", exitOK, "list resources -o json"},
		{"list_templates", exitOK, "list templates -o json"},
		{"list_prompts", exitOK, "list prompts -o json"},
		{"list_failed", exitServer, "list http://127.0.0.1:9/mcp -o json"},
		{"list_status", exitOK, "list --status -o json"},
		{"list_status_failed", exitServer, "list --status http://127.0.0.1:9/mcp -o json"},
		{"describe", exitOK, "describe find_city -o json"},
		{"describe_server", exitOK, "describe demo -o json"},
		{"search", exitOK, "search cities -o json"},
		{"search_failed", exitServer, "search nothing -s http://127.0.0.1:9/mcp -o json"},
		{"call", exitOK, "call get_forecast city=Oslo days=1 -o json"},
		{"call_structured", exitOK, "call get_forecast city=Oslo days=1 -o structured"},
		{"call_raw", exitOK, "call get_forecast city=Oslo days=1 -o raw"},
		{"call_failed", exitNegative, "call get_forecast city=Atlantis -o json"},
		{"call_refused", exitUsage, "call get_forecast -o json"},
		{"call_unknown", exitUsage, "call get_forecst -o json"},
		{"call_dry_run", exitOK, "call get_forecast city=Oslo --dry-run -o json"},
		{"read", exitOK, "read weather://cities/Oslo -o json"},
		{"read_saved", exitOK, "read weather://cities/Oslo -o json --save out"},
		{"read_missing", exitServer, "read weather://cities/Atlantis -o json"},
		{"prompt", exitOK, "prompt packing_list city=Oslo -o json"},
		{"complete", exitOK, "complete packing_list city=L -o json"},
		{"config", exitConfig, "list nowhere -o json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			app := testApp(t)
			if err := os.WriteFile(filepath.Join(app.Dir, "mcp.json"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			if code := app.Run(t.Context(), append(strings.Fields(tt.args), "--config", "mcp.json"), &out, &errs); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			got := fmt.Sprintf("$ mcpctl %s\n%s", tt.args, settle(out.String(), web.URL, app.Dir))
			if errs.Len() > 0 {
				got += "--- standard error\n" + settle(errs.String(), web.URL, app.Dir)
			}
			golden := filepath.Join("testdata", "output", tt.name+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

var duration = regexp.MustCompile(`"durationMs": \d+`)

// settle takes out of an output what differs from run to run.
func settle(text, url, dir string) string {
	text = strings.ReplaceAll(text, url, "http://demo.example")
	text = strings.ReplaceAll(text, dir, "/work")
	return duration.ReplaceAllString(text, `"durationMs": 1`)
}

// TestOutputPage holds that every key of the program's own is documented.
func TestOutputPage(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "output.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("..", "view", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files: ", err)
	}
	tag := regexp.MustCompile("`json:\"([A-Za-z_]+)")
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range tag.FindAllStringSubmatch(string(source), -1) {
			if !regexp.MustCompile("[`\"]" + m[1] + "[`\":]").Match(page) {
				t.Errorf("docs/output.md does not explain the key %s of %s", m[1], filepath.Base(file))
			}
		}
	}
}

// TestExitCodePage holds the page of exit codes to the codes that there are.
func TestExitCodePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "exit-codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range precedence {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^\|[\d, ]*\b%d\b[\d, ]*\|`, code)).Match(page) {
			t.Errorf("docs/exit-codes.md does not explain %d", code)
		}
	}
}

// A program that reads errors finds every kind of a failed server on the page.
func TestKindsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "output.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range []client.Class{
		client.ClassNotFound, client.ClassSpawn, client.ClassExited, client.ClassDNS, client.ClassRefused, client.ClassTLS, client.ClassNetwork,
		client.ClassRedirect, client.ClassBlocked, client.ClassHTTP, client.ClassAuth, client.ClassTimeout, client.ClassCancelled, client.ClassProtocol,
		client.ClassRevision, client.ClassExpired, client.ClassSupport, client.ClassInput, client.ClassApproval, client.ClassBudget, client.ClassResult,
	} {
		if !bytes.Contains(page, []byte("`"+string(class)+"`")) {
			t.Errorf("%s is not on the page", class)
		}
	}
}
