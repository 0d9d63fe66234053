package interop

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// referenceServers writes a configuration of three reference servers and
// returns its name and the folder that one of them may see.
func referenceServers(t *testing.T, p peers) (config, folder string) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	config, err = p.configure(t.TempDir(), folder)
	if err != nil {
		t.Fatal(err)
	}
	return config, folder
}

// configure writes a configuration of three reference servers into a folder.
// One of them may see the other folder, in which another one keeps its memory.
func (p peers) configure(dir, folder string) (config string, err error) {
	type server struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env,omitempty"`
	}
	servers := map[string]server{
		"everything": {Command: p.node, Args: []string{p.script("everything"), "stdio"}},
		"files":      {Command: p.node, Args: []string{p.script("filesystem"), folder}},
		"memory": {
			Command: p.node, Args: []string{p.script("memory")},
			Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(folder, "memory.jsonl")},
		},
	}
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return "", err
	}
	config = filepath.Join(dir, "mcp.json")
	return config, errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(config, data, 0o600))
}

// TestDiscovery finds out from the shell what reference servers offer.
func TestDiscovery(t *testing.T) {
	config, _ := referenceServers(t, needPeers(t))
	tests := []struct {
		command string
		want    []string // lines, or how they begin if they end with an ellipsis
		not     []string // texts that are not there
	}{
		{"list --names --filter read_* --read-only", []string{"files.read_file", "files.read_text_file", "memory.read_graph"}, []string{"write"}},
		{"list resources", []string{"everything  7 resources · …", "files  0 resources · …", "  memory://knowledge-graph  Knowledge Graph (application/json)", "  demo://resource/static/document/architecture.md  architecture.md (text/markdown)"}, nil},
		{"list templates everything", []string{"  demo://resource/dynamic/text/{resourceId}  Dynamic Text Resource (text/plain)"}, []string{"memory"}},
		{"list prompts --names", []string{"everything.simple-prompt", "everything.args-prompt"}, []string{"files", "memory"}},
		{"list --status", []string{"everything  ok     2025-11-25  legacy  stdio …", "files       ok …", "memory      ok …"}, []string{"failed"}},
		{"describe files.edit_file", []string{"files.edit_file  Edit File", "      oldText  string, required", "  dryRun  boolean, default false", "  mcpctl call --config …"}, nil},
		{"describe everything", []string{"everything  Everything Reference Server …", "  15 tools, 7 resources, 2 templates, 4 prompts", "  # Everything Server …"}, nil},
		{"search graph entities", []string{"memory.create_entities  Create multiple new entities in the knowledge graph", "memory memory://knowledge-graph  [resource] The full knowledge graph with all entities and relations"}, []string{"files."}},
		{"search tail", []string{"files.read_text_file  Read the complete contents…"}, []string{"memory."}},
		{"call memory.create_entities --help", []string{"memory.create_entities  Create Entities", "  entities  object[], required", "      observations  string[], required"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			out := mcpctl(t, append(strings.Fields(tt.command), "--config", config)...)
			for _, want := range tt.want {
				begin, cut := strings.CutSuffix(want, "…")
				if !strings.Contains("\n"+out, "\n"+begin) || !cut && !strings.Contains("\n"+out, "\n"+want+"\n") {
					t.Errorf("no line %q", want)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(out, not) {
					t.Errorf("there is %q", not)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// TestExamples gives the examples on the pages of tools to a shell, as somebody
// would who copies them.
func TestExamples(t *testing.T) {
	config, _ := referenceServers(t, needPeers(t))
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	for _, name := range []string{"everything.get-structured-content", "files.edit_file", "memory.create_relations"} {
		page := mcpctl(t, "describe", name, "--config", config)
		_, example, ok := strings.Cut(page, "\nExample\n  mcpctl ")
		if !ok {
			t.Errorf("%s: no example in\n%s", name, page)
			continue
		}
		words, err := exec.CommandContext(t.Context(), sh, "-c", `printf '%s\n' `+example).Output()
		if err != nil {
			t.Fatal(err)
		}
		mcpctl(t, append(strings.Split(strings.TrimSpace(string(words)), "\n"), "--dry-run")...)
	}
}
