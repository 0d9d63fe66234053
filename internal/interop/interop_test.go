package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var bin struct {
	build func() (string, error)
	dir   string
}

func TestMain(m *testing.M) {
	if scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO"); scenario != "" {
		if err := conformanceClient(scenario); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "mcpctl-interop-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bin.dir = dir
		bin.build = sync.OnceValues(buildProgram)
		defer stopBackgrounds()
		return m.Run()
	}())
}

func buildProgram() (string, error) {
	// The test cache sees what this process opens, not what go build reads:
	// walk the sources, so that a change of them runs the tests again.
	for _, dir := range []string{"cmd", "pkg", "internal"} {
		err := filepath.WalkDir(filepath.Join(repository(), dir), func(string, fs.DirEntry, error) error { return nil })
		if err != nil {
			return "", err
		}
	}
	name := filepath.Join(bin.dir, "mcpctl")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", name, "./cmd/mcpctl")
	cmd.Dir = repository()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return name, nil
}

// mcpctl runs the program in a folder of its own, away from the user's
// configuration, and returns what it printed.
func mcpctl(t testing.TB, args ...string) (stdout string) {
	t.Helper()
	program, err := bin.build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	home := t.TempDir()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "MCPCTL_CONFIG=")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("mcpctl %s: %v\nstdout: %s\nstderr: %s", strings.Join(args, " "), err, &out, &errs)
	}
	return out.String()
}

// A trial is a peer and a call of one of its tools by generated code.
type trial struct {
	peer
	// ours says that the program connects with pkg/client.
	ours bool
	// call is Go code of a program that has ctx and tools, the generated client.
	call string
	// want is what it prints.
	want string
}

func trials(t testing.TB, p peers) []trial {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(dir, "note.txt")
	if err := os.WriteFile(note, []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const weather = `out, err := tools.GetStructuredContent(ctx, p.GetStructuredContentInput{Location: p.GetStructuredContentInputLocationChicago})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Temperature, out.Conditions, out.Humidity)`
	const forecast = "36 Light rain / drizzle 82\n"
	return []trial{
		{
			peer: peer{name: "everything-stdio", args: []string{p.script("everything"), "stdio"}},
			call: weather, want: forecast,
		},
		{
			peer: peer{name: "everything-http", url: p.everything(t, "streamableHttp") + "/mcp"},
			call: weather, want: forecast,
		},
		{
			peer: peer{name: "everything-sse", url: p.everything(t, "sse") + "/sse", sse: true},
			call: weather, want: forecast,
		},
		{
			peer: peer{name: "filesystem", args: []string{p.script("filesystem"), dir}},
			call: fmt.Sprintf(`out, err := tools.ReadTextFile(ctx, p.ReadTextFileInput{Path: %q, Head: new(2.0)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%%q\n", out.Content)`, note),
			want: `"one\ntwo"` + "\n",
		},
		{
			peer: peer{
				name: "memory", args: []string{p.script("memory")},
				env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")},
			},
			ours: true,
			call: `created, err := tools.CreateEntities(ctx, p.CreateEntitiesInput{Entities: []p.CreateEntitiesInputEntitiesItem{
		{Name: "mcpctl", EntityType: "program", Observations: []string{"speaks MCP"}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	graph, err := tools.ReadGraph(ctx, p.ReadGraphInput{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.Entities[0].EntityType, len(graph.Entities), graph.Entities[0].Observations[0])`,
			want: "program 1 speaks MCP\n",
		},
	}
}

// target is how a command line of mcpctl names the peer.
func (p peer) target(node string) []string {
	if p.url != "" {
		return []string{"-s", p.url}
	}
	var args []string
	for name, value := range p.env {
		args = append(args, "-e", name+"="+value)
	}
	return append(append(args, "--", node), p.args...)
}

// connect is Go code that connects to the peer: by the SDK alone, as a program
// does that has no use for more, or through this module's client.
func (tr trial) connect(node string) string {
	if tr.ours {
		return fmt.Sprintf(`c, err := client.Open(ctx, []client.Spec{{Name: "peer", Stdio: &client.Stdio{
		Command: %q, Args: %#v, Env: %#v,
	}}}, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	session := c.Server("peer")`, node, tr.args, tr.env)
	}
	var transport string
	switch {
	case tr.sse:
		transport = fmt.Sprintf("&mcp.SSEClientTransport{Endpoint: %q}", tr.url)
	case tr.url != "":
		transport = fmt.Sprintf("&mcp.StreamableClientTransport{Endpoint: %q}", tr.url)
	default:
		transport = fmt.Sprintf("&mcp.CommandTransport{Command: exec.Command(%q, %#v...)}", node, tr.args)
	}
	return fmt.Sprintf(`session, err := mcp.NewClient(&mcp.Implementation{Name: "fresh", Version: "1"}, nil).Connect(ctx, %s, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()`, transport)
}

// imports are the imports that connect needs.
func (tr trial) imports() string {
	switch {
	case tr.ours:
		return `"github.com/mcpctl/mcpctl/pkg/client"`
	case tr.url != "":
		return `"github.com/modelcontextprotocol/go-sdk/mcp"`
	}
	return "\"os/exec\"\n\n\t\"github.com/modelcontextprotocol/go-sdk/mcp\""
}

func TestListShowsAllTools(t *testing.T) {
	p := needPeers(t)
	for _, trial := range trials(t, p) {
		t.Run(trial.name, func(t *testing.T) {
			out := mcpctl(t, append([]string{"list", "-o", "json"}, trial.target(p.node)...)...)
			var listed struct {
				Servers []struct {
					Tools []struct {
						Name string `json:"name"`
					} `json:"tools"`
				} `json:"servers"`
			}
			if err := json.Unmarshal([]byte(out), &listed); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			var names []string
			for _, server := range listed.Servers {
				for _, tool := range server.Tools {
					names = append(names, tool.Name)
				}
			}
			slices.Sort(names)
			if diff := cmp.Diff(publishedNames(t, p.node, trial.peer), names); diff != "" {
				t.Errorf("tools (-server +list):\n%s", diff)
			}
		})
	}
}

// From a server that we did not write to a program that calls it: generate,
// build in a module that has nothing else, call, compare.
func TestGeneratedClientCalls(t *testing.T) {
	p := needPeers(t)
	for _, trial := range trials(t, p) {
		t.Run(trial.name, func(t *testing.T) {
			t.Parallel()
			dir := freshModule(t)
			file := filepath.Join(dir, "p", "p.go")
			generate := append([]string{"generate", "-o", file, "--package", "p"}, trial.target(p.node)...)
			mcpctl(t, generate...)
			// The same server publishes the same, and gives the same bytes.
			mcpctl(t, slices.Insert(generate, 1, "--check")...)

			program := fmt.Sprintf(`package main

import (
	"context"
	"fmt"
	"log"

	%s

	"example.com/fresh/p"
)

func main() {
	ctx := context.Background()
	%s
	tools := p.%s(session)
	%s
}
`, trial.imports(), trial.connect(p.node), constructor(t, file), trial.call)
			if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644); err != nil {
				t.Fatal(err)
			}
			goCommand(t, dir, "vet", "./...")
			if got := goCommand(t, dir, "run", "."); got != trial.want {
				t.Errorf("the program printed %q, want %q", got, trial.want)
			}
		})
	}
}

// freshModule makes a module that requires this one, as it is on disk, and
// nothing else. The checksums are ours, so that no network is needed.
func freshModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(repository(), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(repository(), "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	goLine := regexp.MustCompile(`(?m)^go .*$`).Find(mod)
	sdk := regexp.MustCompile(`(?m)github\.com/modelcontextprotocol/go-sdk v\S+`).Find(mod)
	if goLine == nil || sdk == nil {
		t.Fatal("go.mod names no version of Go or of the SDK")
	}
	text := fmt.Sprintf("module example.com/fresh\n\n%s\n\nrequire github.com/mcpctl/mcpctl v0.0.0\n\nrequire %s\n\nreplace github.com/mcpctl/mcpctl => %s\n",
		goLine, sdk, filepath.ToSlash(repository()))
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "p"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func goCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience) // a cold build cache
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, &out, &errs)
	}
	return out.String()
}

// constructor finds the one function New…Client of a generated file.
func constructor(t *testing.T, file string) string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, decl := range parsed.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "New") && strings.HasSuffix(f.Name.Name, "Client") {
			found = append(found, f.Name.Name)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has not one constructor of a client but %v", file, found)
	}
	return found[0]
}
