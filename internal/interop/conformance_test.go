package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConformance runs the official conformance suite against the client.
// Every scenario that the suite requires of a revision must pass, with the
// revision pinned and with the client finding it out; those about
// authorization are not run.
func TestConformance(t *testing.T) {
	p := needPeers(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(program, " ") {
		t.Fatalf("the suite splits the command at spaces, and there is one in %q", program)
	}
	for _, revision := range []string{modern, legacy} {
		t.Run(revision, func(t *testing.T) {
			required, others := p.requirements(t, revision)
			var run []string
			for _, name := range required {
				switch _, ok := scenarios[name]; {
				case strings.HasPrefix(name, "auth/"):
					others = append(others, name)
				case !ok:
					t.Errorf("%s is required and not run", name)
				default:
					run = append(run, name)
				}
			}
			// Not required, since newer than the revision.
			const bonus = "json-schema-2020-12-preservation"
			if i := slices.Index(others, bonus); i >= 0 {
				others = slices.Delete(others, i, i+1)
				run = append(run, bonus)
			}
			t.Logf("not run: %s", strings.Join(others, ", "))
			for _, name := range run {
				for _, pin := range []string{"", "pinned"} {
					t.Run(strings.TrimSuffix(name+"/"+pin, "/"), func(t *testing.T) {
						t.Parallel()
						p.conform(t, program, name, revision, pin)
					})
				}
			}
		})
	}
}

// suite is the folder of the conformance suite.
func (p peers) suite() string {
	return filepath.Join(p.modules, "@modelcontextprotocol", "conformance")
}

// requirements reads what a revision requires of clients, and what the suite
// has for them beyond that.
func (p peers) requirements(t *testing.T, revision string) (required, others []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.suite(), "requirements", revision+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var section, scenario string
	for line := range strings.Lines(string(b)) {
		word := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#") || word == "":
		case line[0] != ' ':
			section = strings.TrimSuffix(word, ":")
		case section == "client":
			required = append(required, strings.TrimPrefix(word, "- "))
		case section == "not_scored" && strings.HasPrefix(word, "- scenario: "):
			scenario = strings.TrimPrefix(word, "- scenario: ")
		case section == "not_scored" && word == "leg: client":
			others = append(others, scenario)
		}
	}
	if len(required) == 0 {
		t.Fatalf("the suite requires nothing for %s", revision)
	}
	return required, others
}

// conform runs one scenario. The suite starts this program again, which then
// is [conformanceClient].
func (p peers) conform(t *testing.T, program, name, revision, pin string) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.node, filepath.Join(p.suite(), "dist", "index.js"), "client",
		"--command", program, "--scenario", name, "--spec-version", revision, "--force", "--verbose")
	cmd.Env = append(os.Environ(), pinVariable+"="+pin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	failure := cmd.Run()

	var checks []struct{ ID, Name, Status, ErrorMessage string }
	if err := json.Unmarshal(out.Bytes(), &checks); err != nil {
		t.Fatalf("%v: %v in %s\n%s", failure, err, &out, &errs)
	}
	passed := 0
	var skipped []string
	for _, check := range checks {
		switch {
		case check.Status == "SUCCESS":
			passed++
		case check.Status == "INFO":
		case check.Status == "SKIPPED":
			skipped = append(skipped, check.Name)
		default:
			t.Errorf("%s: %s (%s): %s", check.Status, check.Name, check.ID, check.ErrorMessage)
		}
	}
	if passed == 0 {
		t.Error("nothing was checked")
	}
	// What the client never does is not checked either.
	slices.Sort(skipped)
	if diff := cmp.Diff(scenarios[name].skipped, skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if failure != nil {
		t.Errorf("%v", failure)
	}
	if t.Failed() {
		t.Logf("the suite said:\n%s", &errs)
	}
}

// toolCalls are the calls that a scenario asks for.
func toolCalls() ([]toolCall, error) {
	var wanted struct{ ToolCalls []toolCall }
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &wanted); err != nil {
		return nil, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	return wanted.ToolCalls, nil
}

type toolCall struct {
	Name      string
	Arguments json.RawMessage
}
