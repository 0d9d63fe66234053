package cli

import (
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpctl/mcpctl/internal/atomicfile"
	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/internal/scripttest"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite golden files")

// killAt is the variable that makes the program under test kill itself at a
// step of writing files.
const killAt = "MCPCTL_TEST_KILL_AT"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mcpctl":     func() { os.Exit(MainWith(atomicfile.Options{Step: killStep()})) },
		"fakeserver": fakeServer,
	})
}

func killStep() func(string) {
	n, _ := strconv.Atoi(os.Getenv(killAt))
	if n == 0 {
		return nil
	}
	return func(string) {
		if n--; n == 0 {
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
			select {} // until the signal arrives
		}
	}
}

// fakeServer is a stdio server: one of the behaviours of mcptest, or "tools
// FILE", which publishes the tools/list result in a file, or "answers FILE",
// which has results of further methods by their names.
func fakeServer() {
	mcptest.Main()
	if len(os.Args) > 2 && os.Args[1] == "tools" {
		list, err := os.ReadFile(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		script := mcptest.Modern()
		script.List = func(*string) string { return strings.ReplaceAll(string(list), "\n", " ") }
		script.Call = func(json.RawMessage) string { return `{"content":[{"type":"text","text":"called"}]}` }
		script.Serve(os.Stdin, os.Stdout)
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "answers" {
		var results map[string]json.RawMessage
		data, err := os.ReadFile(os.Args[2])
		if err == nil {
			err = json.Unmarshal(data, &results)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		script := mcptest.Modern(mcptest.Tool("t"))
		script.Discover = strings.Replace(script.Discover, `"tools":{}`, `"tools":{},"resources":{},"prompts":{}`, 1)
		script.Results = make(map[string]string)
		for method, result := range results {
			script.Results[method] = strings.ReplaceAll(string(result), "\n", " ")
		}
		script.Serve(os.Stdin, os.Stdout)
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "questions" {
		file, err := os.ReadFile(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		questioner(strings.Split(strings.TrimSpace(string(file)), "\n")).Serve(os.Stdin, os.Stdout)
		return
	}
	os.Exit(mcptest.Run(os.Args[1], os.Args[2:]...))
}

// questioner is a server whose tool "a" asks for rounds of input. A round that
// begins with "error:" is one of a server of an older revision.
func questioner(rounds []string) *mcptest.Script {
	script := mcptest.Modern(mcptest.Tool("a"))
	if strings.HasPrefix(rounds[0], "error:") {
		script = mcptest.Legacy(mcptest.Tool("a"))
	}
	script.Results = map[string]string{
		"prompts/list": `{"prompts":[{"name":"p","arguments":[{"name":"who","description":"Whom to greet","required":true}]}]}`,
		"prompts/get":  `{"messages":[{"role":"user","content":{"type":"text","text":"greeted"}}]}`,
	}
	script.Discover = strings.Replace(script.Discover, `"tools":{}`, `"tools":{},"prompts":{}`, 1)
	n, answers := 0, []string{}
	script.Call = func(raw json.RawMessage) string {
		var p struct {
			Responses json.RawMessage `json:"inputResponses"`
		}
		_ = json.Unmarshal(raw, &p)
		if p.Responses != nil {
			answers = append(answers, string(p.Responses))
		}
		if n++; n > len(rounds) {
			quoted, _ := json.Marshal(strings.Join(answers, "\n") + "\ndone")
			return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`
		}
		if strings.HasPrefix(rounds[n-1], "error:") {
			return rounds[n-1]
		}
		return `{"resultType":"input_required","inputRequests":` + rounds[n-1] + `}`
	}
	return script
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "..", "..", "testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               scripttest.Home,
		Cmds:                scripttest.Commands(map[string]scripttest.Command{"http": serveHTTP}),
		Condition: func(cond string) (bool, error) {
			if cond == "procfs" {
				return runtime.GOOS == "linux", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// serveHTTP starts a server and puts its address into a variable: http NAME
// BEHAVIOUR, where the behaviour is a status, "tools FILE", "hang", "stalls
// FILE", which never answers tools/call and makes FILE when that comes and
// FILE.cancelled when its caller goes, "tls FILE", which writes its certificate,
// or "echo STATUS", which repeats all headers in
// its body.
func serveHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: http NAME BEHAVIOUR")
	}
	var h http.Handler
	start := httptest.NewServer
	switch args[1] {
	case "tools":
		script := mcptest.Modern()
		list := strings.ReplaceAll(ts.ReadFile(args[2]), "\n", " ")
		script.List = func(*string) string { return list }
		h = script
	case "restless":
		h = restless(ts)
	case "hang":
		h = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	case "stalls":
		script := mcptest.Modern(mcptest.Tool("t"))
		script.Mute = []string{"tools/call"}
		file := ts.MkAbs(args[2])
		script.OnRequest = func(method string) {
			if method == "tools/call" {
				_ = os.WriteFile(file+".new", []byte("0"), 0o600)
				_ = os.Rename(file+".new", file)
			}
		}
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			script.ServeHTTP(w, r)
			if r.Context().Err() != nil {
				_ = os.WriteFile(file+".cancelled", nil, 0o600)
			}
		})
	case "tls":
		start = httptest.NewTLSServer
		h = mcptest.Modern()
	case "echo":
		status, err := strconv.Atoi(args[2])
		ts.Check(err)
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			all, _ := json.Marshal(r.Header)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":%q}}`, all)
		})
	default:
		status, err := strconv.Atoi(args[1])
		ts.Check(err)
		h = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	s := start(h)
	ts.Defer(s.CloseClientConnections)
	if cert := s.Certificate(); cert != nil {
		data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
		ts.Check(os.WriteFile(ts.MkAbs(args[2]), data, 0o600))
	}
	ts.Setenv(args[0], s.URL+"/mcp")
	ts.Setenv(args[0]+"_HOST", strings.TrimPrefix(strings.TrimPrefix(s.URL, "https://"), "http://"))
}
