package client_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpctl/mcpctl/pkg/client"
)

// rawMessage is what a misbehaving server gets.
type rawMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`

	write func(string)    // writes as it is, and flushes
	left  <-chan struct{} // closed when an HTTP client has left
	gone  <-chan struct{} // the same, where that is how it says so
}

// arg returns an argument of a tool call.
func (m rawMessage) arg(name string) string {
	var p struct{ Arguments map[string]any }
	_ = json.Unmarshal(m.Params, &p)
	if v, ok := p.Arguments[name]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

func result(id json.RawMessage, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[{"type":"text","text":%q}]}}`, id, text)
}

// misbehaviour answers a tool call. What it sends goes to stdout, or onto the
// stream of the call; the stream ends when it returns.
type misbehaviour func(s *rawServer, m rawMessage, send func(string))

// rawServer speaks either era over either transport and misbehaves in calls.
type rawServer struct {
	behave misbehaviour
	legacy bool
	extra  func(m rawMessage, send func(string)) bool // answers further methods

	mu        sync.Mutex
	seen      map[string]int
	cancelled chan rawMessage
	sent      chan struct{} // a burst is out
	listening map[string]json.RawMessage
	reads     bool // on while it answers a call, over stdio
}

const rawTool = `{"name":"t","inputSchema":{"type":"object"}}`

func (s *rawServer) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[method]
}

func newRawServer(behave misbehaviour, legacy bool) *rawServer {
	return &rawServer{behave: behave, legacy: legacy, seen: make(map[string]int), cancelled: make(chan rawMessage, 100), sent: make(chan struct{}, 100), listening: make(map[string]json.RawMessage)}
}

func (s *rawServer) handle(m rawMessage, send func(string)) {
	key := m.Method
	if m.Method == "" {
		key = "answer" // to a request of the server
	}
	s.mu.Lock()
	s.seen[key]++
	s.mu.Unlock()
	if s.extra != nil && s.extra(m, send) {
		return
	}
	capabilities := `"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{}}`
	answer := func(result string) { send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)) }
	switch {
	case m.Method == "server/discover" && !s.legacy:
		answer(`{"supportedVersions":["2026-07-28"],` + capabilities + `}`)
	case m.Method == "initialize" && s.legacy:
		answer(`{"protocolVersion":"2025-11-25",` + capabilities + `,"serverInfo":{"name":"raw","version":"1"}}`)
	case m.Method == "tools/list":
		answer(`{"tools":[` + rawTool + `]}`)
	case m.Method == "resources/subscribe", m.Method == "logging/setLevel":
		answer(`{}`)
	case m.Method == "subscriptions/listen" && !s.legacy:
		var p struct{ Notifications json.RawMessage }
		_ = json.Unmarshal(m.Params, &p)
		s.mu.Lock()
		s.listening[string(p.Notifications)] = m.ID
		s.mu.Unlock()
		send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{`+
			`"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}}`, m.ID, p.Notifications))
		if m.left != nil {
			<-m.left
		}
	case m.Method == "tools/call":
		s.behave(s, m, send)
	case m.Method == "notifications/cancelled":
		s.cancelled <- m
	case m.ID != nil && m.Method != "":
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID))
	}
}

// urgent reports whether a message goes out at once: bursts are written in
// large pieces.
func urgent(text string) bool {
	return !strings.Contains(text, `"method":"notifications/`) || strings.Contains(text, "acknowledged")
}

// ServeHTTP answers with event streams.
func (s *rawServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m rawMessage
	if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if m.ID == nil || m.Method == "" {
		s.handle(m, nil)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := bufio.NewWriterSize(w, 64<<10)
	m.write = func(text string) {
		_, _ = out.WriteString(text)
		_ = out.Flush()
		_ = http.NewResponseController(w).Flush()
	}
	if m.left = r.Context().Done(); !s.legacy {
		m.gone = m.left
	}
	s.handle(m, func(text string) {
		fmt.Fprintf(out, "data: %s\n\n", text)
		if out.Buffered() > 32<<10 || urgent(text) {
			_ = out.Flush()
			_ = http.NewResponseController(w).Flush()
		}
	})
	_ = out.Flush()
}

// serve speaks over stdio.
func (s *rawServer) serve(r io.Reader, w io.Writer) {
	var mu sync.Mutex
	out := bufio.NewWriterSize(w, 64<<10)
	send := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = out.WriteString(text + "\n")
		if urgent(text) {
			_ = out.Flush()
		}
	}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var m rawMessage
		m.write = func(text string) {
			mu.Lock()
			defer mu.Unlock()
			_, _ = out.WriteString(text)
			_ = out.Flush()
		}
		if json.Unmarshal(bytes.TrimSpace(line), &m) == nil {
			if m.Method == "tools/call" && s.reads {
				go s.handle(m, send)
			} else {
				s.handle(m, send)
			}
		}
		if err != nil {
			return
		}
	}
}

// stressServer is the first argument of a test binary that is a misbehaving
// stdio server.
const stressServer = "stress-server"

func init() {
	if len(os.Args) < 4 || os.Args[1] != stressServer {
		return
	}
	writeStressPID()
	s := newRawServer(misbehaviours[os.Args[2]], os.Args[3] == "legacy")
	s.reads = os.Args[2] != "deaf"
	s.serve(os.Stdin, os.Stdout)
	os.Exit(0)
}

// stressSpec returns the spec of a misbehaving process. None may be left when
// the test is over.
func stressSpec(t *testing.T, name, era string) client.Spec {
	t.Helper()
	spec := client.Spec{Name: "srv", Timeout: 20 * time.Second, Stdio: &client.Stdio{
		Command: os.Args[0], Args: []string{stressServer, name, era},
		Env: map[string]string{stressPIDs: filepath.Join(t.TempDir(), "pids")},
	}}
	t.Cleanup(func() { // after the client is closed
		for _, pid := range stressProcesses(t, spec) {
			if running(pid) {
				t.Errorf("process %d is left", pid)
			}
		}
	})
	return spec
}

// stressPIDs names the file to which misbehaving processes add themselves.
const stressPIDs = "STRESS_PIDS"

func writeStressPID() {
	file := os.Getenv(stressPIDs)
	if file == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, os.Getpid())
}

// stressProcesses returns the processes that were started for a spec so far.
func stressProcesses(t *testing.T, spec client.Spec) []int {
	t.Helper()
	raw, err := os.ReadFile(spec.Stdio.Env[stressPIDs])
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var pids []int
	for line := range strings.Lines(string(raw)) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// legacyEra reports which era [raw] has started.
func legacyEra(spec client.Spec, s *rawServer) bool {
	return s != nil && s.legacy || spec.Stdio != nil && slices.Contains(spec.Stdio.Args, "legacy")
}

// raw starts a misbehaving server over each transport in each era.
func raw(t *testing.T, name string, f func(t *testing.T, spec client.Spec, s *rawServer)) {
	t.Helper()
	for _, era := range []string{"modern", "legacy"} {
		t.Run("stdio/"+era, func(t *testing.T) {
			f(t, stressSpec(t, name, era), nil)
		})
		t.Run("http/"+era, func(t *testing.T) {
			s := newRawServer(misbehaviours[name], era == "legacy")
			srv := httptest.NewServer(s)
			t.Cleanup(srv.Close)
			f(t, httpSpec(srv.URL), s)
		})
	}
}

var misbehaviours = map[string]misbehaviour{
	"noise": func(_ *rawServer, m rawMessage, send func(string)) {
		for _, line := range []string{"", "listening on port 3000", "[db] connected", `{"level":"info"}`, "[1,2]", "{broken", "\x1b[31mred"} {
			send(line)
		}
		send(result(m.ID, "done"))
	},
	"ids": func(_ *rawServer, m rawMessage, send func(string)) {
		n, _ := strconv.Atoi(string(m.ID))
		for _, id := range []string{strconv.Itoa(n + 1000), `"` + string(m.ID) + `"`, "0", "-1", "1e999", strconv.Itoa(n - 1), "{}", "null"} {
			send(result(json.RawMessage(id), "wrong"))
		}
		send(fmt.Sprintf(`{"jsonrpc":"2.0","result":%s}`, `{"content":[]}`))
		send(result(m.ID, "done"))
	},
	"twice": func(_ *rawServer, m rawMessage, send func(string)) {
		send(result(m.ID, "done"))
		send(result(m.ID, "again"))
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"again"}}`, m.ID))
	},
	"partial": func(s *rawServer, m rawMessage, send func(string)) {
		text := result(m.ID, "done")
		begin, end := "", "\n"
		if m.left != nil {
			begin, end = "data: ", "\n\n"
		}
		half := len(text) / 2
		switch m.arg("how") {
		case "pieces":
			for _, b := range []byte(begin + text + end) {
				m.write(string(b))
			}
		case "cut":
			m.write(begin + text[:half])
			if m.left == nil {
				os.Exit(3)
			}
		case "last": // complete but for the end of the line
			m.write(begin + text)
			if m.left == nil {
				os.Exit(0)
			}
		default:
			send(text)
		}
	},
	"deaf": func(*rawServer, rawMessage, func(string)) {
		// Were it to wait for nothing, the runtime would call that a deadlock.
		time.Sleep(time.Hour)
	},
	"again": func(_ *rawServer, m rawMessage, send func(string)) {
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"s"}}`, m.ID))
	},
	"updates": func(_ *rawServer, m rawMessage, send func(string)) {
		send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"memo://` + strings.Repeat("x", 100_000) + `"}}`)
		for i := range 3000 {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"memo://other/%d"}}`, i))
		}
		send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"memo://mine"}}`)
		send(result(m.ID, "done"))
	},
	"lingers": func(_ *rawServer, m rawMessage, send func(string)) {
		send(result(m.ID, "done"))
		if m.left != nil {
			<-m.left
		}
	},
	"size": func(_ *rawServer, m rawMessage, send func(string)) {
		size, _ := strconv.Atoi(m.arg("size"))
		empty := len(result(m.ID, ""))
		send(result(m.ID, strings.Repeat("x", size-empty)))
	},
	"late": func(s *rawServer, m rawMessage, send func(string)) {
		if m.arg("wait") != "" {
			select {
			case c := <-s.cancelled:
				send(result(m.ID, "late"))
				s.cancelled <- c
			case <-m.gone:
				s.cancelled <- m
			}
			return
		}
		<-s.cancelled // the server was told
		send(result(m.ID, "done"))
	},
	"dies": func(s *rawServer, m rawMessage, send func(string)) {
		if file := m.arg("file"); file != "" {
			f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				_, _ = f.WriteString("x")
				f.Close()
			}
			last, _ := strconv.Atoi(m.arg("last")) // with nothing answered before
			if got, _ := os.ReadFile(file); len(got) == max(last, 1) {
				os.Exit(7)
			} else if last > 1 {
				<-s.sent // never
			}
		}
		send(result(m.ID, "alive"))
	},
	"burst": func(s *rawServer, m rawMessage, send func(string)) {
		if m.arg("after") != "" {
			select {
			case <-s.sent:
				send(result(m.ID, "after"))
			case <-m.left:
			}
			return
		}
		n, _ := strconv.Atoi(m.arg("n"))
		size, _ := strconv.Atoi(m.arg("size"))
		var p struct {
			Meta struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		}
		_ = json.Unmarshal(m.Params, &p)
		padding := strings.Repeat("x", size)
		notify := func(method, params string, args ...any) {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/`+method+`","params":{`+params+`}}`, args...))
		}
		// What must not be lost comes first, and more than is kept of the
		// rest after it.
		for i := range n {
			if i < n/2 {
				notify("resources/updated", `"uri":"memo://%d"`, i%10)
				notify([]string{"tools", "resources", "prompts"}[i%3]+"/list_changed", "")
			}
			if p.Meta.Token != nil {
				notify("progress", `"progressToken":%s,"progress":%d`, p.Meta.Token, i+1)
			}
			notify("message", `"level":"info","data":"%d %s"`, i, padding)
		}
		s.sent <- struct{}{}
		send(result(m.ID, "done"))
	},
	"withdraws": func(s *rawServer, m rawMessage, send func(string)) {
		s.mu.Lock()
		id := s.listening[m.arg("filter")]
		s.mu.Unlock()
		send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id))
		send(result(m.ID, "done"))
	},
	"echo": func(_ *rawServer, m rawMessage, send func(string)) { send(result(m.ID, m.arg("text"))) },
	"requests": func(s *rawServer, m rawMessage, send func(string)) {
		before := s.count("answer")
		n, _ := strconv.Atoi(m.arg("n"))
		for i := range n {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"message":"q","requestedSchema":{"type":"object","properties":{}}}}`, i, m.arg("method")))
		}
		// What is answered is answered before the next request is read.
		if want, _ := strconv.Atoi(m.arg("want")); want > 0 {
			for s.count("answer")-before < want {
				select {
				case <-m.left:
					return
				case <-time.After(time.Millisecond): // polls its own reader
				}
			}
		}
		send(result(m.ID, fmt.Sprint(s.count("answer")-before)))
	},
	"asks": func(_ *rawServer, m rawMessage, send func(string)) {
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"k":`+
			`{"method":"elicitation/create","params":{"message":"more?","requestedSchema":{"type":"object"}}}}}}`, m.ID))
	},
}
