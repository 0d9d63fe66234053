package mcptest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// marker is the first argument of a test binary that is to be a server.
const marker = "mcptest-stdio-server"

// Main turns the test binary into a server if [Command] started it, and
// returns otherwise. Call it first in TestMain.
func Main() {
	if len(os.Args) > 2 && os.Args[1] == marker {
		os.Exit(Run(os.Args[2], os.Args[3:]...))
	}
}

// Command returns the command that runs a behaviour of [Run] in a process of
// its own, provided that the test binary calls [Main].
func Command(behaviour string, args ...string) (command string, arguments []string) {
	self, err := os.Executable()
	if err != nil {
		panic(err) // a test binary is a file
	}
	return self, append([]string{marker, behaviour}, args...)
}

// Run is a stdio server on the standard streams of the process. It returns
// the exit status. The behaviours:
//
//	modern, legacy     a good server of one era with the tools "a" and "b"
//	environ            modern; its instructions are its variables as a JSON list
//	exit STATUS        complains on stderr and exits at once
//	close              closes stdout and lingers
//	dies-on-probe      exits at server/discover, else legacy
//	deaf-to-probe      never answers server/discover, else legacy
//	hang               answers nothing
//	deaf               does not even read its input
//	rubbish            prints rubbish and answers nothing
//	rubbish-exit       prints rubbish and exits with status 3
//	stray              modern, with lines between that are no messages
//	long-line BYTES    answers the list of tools with a line of that size
//	deep-line DEPTH    answers the list of tools with a value nested that deeply
//	endless-pages      always has another page
//	repeated-cursor    always has the same next page
//	no-tools           modern without the tools capability
//	library            modern, with a resource, one that is no text, and a prompt;
//	                   it does not know of resource templates
//	half-library       the same, but refuses to list its prompts
//	asks               modern, asks for a number "n" in the middle of a call
//	asks-if-it-may     the same, but refuses where the client answers nothing
//	dies-on-call       modern, exits with status 4 when a tool is called
//	logs [MORE]        modern, logs at three levels when a tool is called, behind
//	                   as many errors as MORE says, and returns the level that it
//	                   was asked for
//	stalls FILE        modern, never answers tools/call; its process id goes
//	                   to FILE when that is called, and FILE.cancelled appears
//	                   when the call is cancelled
//	echo-secret NAME   puts its variable NAME wherever it can
//	echo-secret-exit NAME  puts it on stderr and exits
//	stubborn FILE      modern, ignores the end of its input and SIGTERM; its
//	                   process id goes to FILE
//	grandchild FILE    modern, starts a stubborn process that keeps the streams
//	                   open; the process id of that goes to FILE
//	grandchild-exit FILE  the same, and exits at once with status 5
//	grandchild-hang FILE  the same, and answers nothing
//	linger FILE        what these start
func Run(behaviour string, args ...string) int {
	arg := strings.Join(args, " ")
	script := Modern(Tool("b"), Tool("a"))
	switch behaviour {
	case "modern":
	case "legacy":
		script = Legacy(Tool("b"), Tool("a"))
	case "environ":
		vars, _ := json.Marshal(os.Environ())
		quoted, _ := json.Marshal(string(vars))
		script.Discover = strings.Replace(script.Discover, `"be kind"`, string(quoted), 1)
	case "exit":
		fmt.Fprintln(os.Stderr, "first complaint")
		fmt.Fprintln(os.Stderr, "cannot go on")
		status, _ := strconv.Atoi(arg)
		return status
	case "close":
		os.Stdout.Close()
		linger()
	case "dies-on-probe":
		script = Legacy(Tool("old"))
		script.OnRequest = func(method string) {
			if method == "server/discover" {
				fmt.Fprintln(os.Stderr, "what is that")
				os.Exit(2)
			}
		}
	case "deaf-to-probe":
		script = Legacy(Tool("old"))
		script.Mute = []string{"server/discover"}
	case "hang":
		script = &Script{Mute: []string{"server/discover", "initialize"}}
	case "deaf":
		linger()
	case "rubbish", "rubbish-exit":
		fmt.Println("listening on port 3000\n{\"level\":\"info\"}\n[1,2]\n{broken")
		if behaviour == "rubbish-exit" {
			return 3
		}
		script = &Script{Mute: []string{"server/discover", "initialize"}}
	case "stray":
		serveStray(script)
		return 0
	case "long-line":
		size, _ := strconv.Atoi(arg)
		script.List = func(*string) string {
			longLine(size)
			return "error:never read"
		}
	case "deep-line":
		depth, _ := strconv.Atoi(arg)
		script.List = func(*string) string {
			return `{"tools":[],"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
		}
	case "library", "half-library":
		script.Discover = strings.Replace(script.Discover, `"tools":{}`, `"tools":{},"resources":{},"prompts":{}`, 1)
		script.Results = map[string]string{
			"resources/list": `{"resources":[{"uri":"memo://a","name":"a","size":8},{"uri":"memo://b/c.png","name":"picture","mimeType":"image/png"}]}`,
			"resources/read": `{"contents":[{"uri":"memo://a","text":"one line"},{"uri":"memo://b","mimeType":"a/b","blob":"AAEC"}]}`,
			"prompts/list":   `{"prompts":[{"name":"greet","arguments":[{"name":"name","required":true},{"name":"tone"}]}]}`,
			"prompts/get":    `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"hello"}},{"role":"assistant","content":{"type":"odd"}}]}`,
		}
		if behaviour == "half-library" {
			script.Results["prompts/list"] = "error:not today"
		}
	case "asks", "asks-if-it-may":
		script.Call = func(params json.RawMessage) string {
			var p struct {
				Responses json.RawMessage `json:"inputResponses"`
			}
			_ = json.Unmarshal(params, &p)
			if behaviour == "asks-if-it-may" && !bytes.Contains(params, []byte(`"elicitation"`)) {
				return `error:{"code":-32021,"message":"cannot ask","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}`
			}
			if p.Responses == nil {
				return `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"How many?",` +
					`"requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}}}}`
			}
			quoted, _ := json.Marshal(string(p.Responses))
			return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`
		}
	case "endless-pages":
		n := 0
		script.List = func(*string) string {
			n++
			return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, n)
		}
	case "repeated-cursor":
		script.List = func(*string) string { return `{"tools":[],"nextCursor":"again"}` }
	case "no-tools":
		script.Discover = strings.Replace(script.Discover, `"tools":{}`, "", 1)
		script.List = nil
	case "dies-on-call":
		script.Call = func(json.RawMessage) string {
			fmt.Fprintln(os.Stderr, "that was too much")
			os.Exit(4)
			return ""
		}
	case "logs":
		script.Call = func(call json.RawMessage) string {
			var p struct {
				Meta struct {
					Level string `json:"io.modelcontextprotocol/logLevel"`
				} `json:"_meta"`
			}
			_ = json.Unmarshal(call, &p)
			more, _ := strconv.Atoi(arg)
			for n := range more {
				fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"line %d"}}`+"\n", n)
			}
			for _, params := range []string{
				`{"level":"debug","data":"small"}`,
				`{"level":"info","logger":"db","data":{"rows":1.50}}`,
				`{"level":"critical","data":"on \u001b[31mfire\nnow"}`,
			} {
				fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":%s}`+"\n", params)
			}
			return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, p.Meta.Level)
		}
	case "stalls":
		script.Mute = []string{"tools/call"}
		script.OnRequest = func(method string) {
			switch method {
			case "tools/call":
				writePID(arg)
			case "notifications/cancelled":
				_ = os.WriteFile(arg+".cancelled", nil, 0o600)
			}
		}
	case "echo-secret", "echo-secret-exit":
		secret := os.Getenv(arg)
		fmt.Fprintln(os.Stderr, "starting with "+secret)
		if behaviour == "echo-secret-exit" {
			return 1
		}
		fmt.Println("connected with " + secret)
		script.List = func(*string) string { return "error:refusing " + secret }
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		writePID(arg)
		script.Serve(os.Stdin, os.Stdout)
		linger()
	case "grandchild", "grandchild-exit", "grandchild-hang":
		startLinger(arg)
		switch behaviour {
		case "grandchild-exit":
			return 5
		case "grandchild-hang":
			script = &Script{Mute: []string{"server/discover", "initialize"}}
		}
	case "linger":
		signal.Ignore(syscall.SIGTERM)
		writePID(arg)
		_ = os.NewFile(3, "ready").Close()
		linger()
	default:
		fmt.Fprintf(os.Stderr, "no behaviour %q\n", behaviour)
		return 2
	}
	script.Serve(os.Stdin, os.Stdout)
	return 0
}

// linger stays until it is killed. Were it to wait for nothing at all, the
// runtime would call that a deadlock.
func linger() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	defer w.Close()
	_, _ = r.Read(make([]byte, 1))
}

// writePID names the process in a file, which appears with its content.
func writePID(file string) {
	_ = os.WriteFile(file+".new", []byte(strconv.Itoa(os.Getpid())), 0o600)
	_ = os.Rename(file+".new", file)
}

// startLinger starts a process that outlives its parent, and returns when it
// has named itself in file.
func startLinger(file string) {
	ready, theirs, err := os.Pipe()
	if err != nil {
		return
	}
	self, args := Command("linger", file)
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	theirs.Close()
	_, _ = ready.Read(make([]byte, 1))
}

func serveStray(script *Script) {
	fmt.Println("[db] Connected")
	fmt.Println(`{"level":"info","msg":"ready"}`)
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if answer := script.Answer(bytes.TrimSpace(line)); answer != nil {
			fmt.Printf("{info} request\n\n  %s\r\nnot yet a line", answer)
			fmt.Print(" but now\n")
		}
		if err != nil {
			return
		}
	}
}

// longLine writes a message whose line has about size bytes, without building
// it.
func longLine(size int) {
	out := bufio.NewWriter(os.Stdout)
	_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":99,"result":{"x":"`)
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	for left := size; left > 0; left -= len(chunk) {
		if _, err := out.Write(chunk[:min(left, len(chunk))]); err != nil {
			return
		}
	}
	_, _ = io.WriteString(out, "\"}}\n")
	_ = out.Flush()
}
