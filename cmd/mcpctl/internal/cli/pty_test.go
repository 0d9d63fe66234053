//go:build unix

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/term"
)

// The keys that the tests press.
const (
	enter = "\r"
	tab   = "\t"
	esc   = "\x1b"
	ctrlC = "\x03"
	ctrlD = "\x04"
	ctrlU = "\x15"
	down  = "\x1b[B"
)

// console is the program on a terminal that shows what it is sent and answers
// no question of its own.
type console struct {
	t       *testing.T
	master  *os.File
	tty     *os.File
	before  *term.State
	cmd     *exec.Cmd
	dir     string
	arrived chan []byte
	raw     []byte // all that was written
	screen  *vt.Emulator
	out     bytes.Buffer // standard output, which is no terminal
}

// The size of the terminal. It holds all that a test shows.
const (
	rows = 100
	cols = 100
)

// startConsole runs the program in a folder with these files.
func startConsole(t *testing.T, dir string, env []string, args ...string) *console {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		master.Close()
		tty.Close()
	})
	if err := pty.Setsize(master, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		t.Fatal(err)
	}
	c := &console{t: t, master: master, tty: tty, dir: dir, arrived: make(chan []byte, 1<<14), screen: vt.NewEmulator(cols, rows)}
	go io.Copy(io.Discard, c.screen) // it would answer
	t.Cleanup(func() { c.screen.InputPipe().(io.Closer).Close() })
	if c.before, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	c.cmd = exec.CommandContext(ctx, os.Args[0], args...)
	c.cmd.Args[0] = "mcpctl" // by which the test binary knows its part
	c.cmd.Dir = dir
	c.cmd.Env = append([]string{
		"TERM=xterm-256color", "HOME=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
		"PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE"),
	}, env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, &c.out, tty
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			b := make([]byte, 4096)
			n, err := master.Read(b)
			if err != nil {
				close(c.arrived)
				return
			}
			c.arrived <- b[:n]
		}
	}()
	return c
}

// shows waits until each of the texts stands on the screen.
func (c *console) shows(texts ...string) {
	c.t.Helper()
	deadline := time.After(30 * time.Second)
	for _, text := range texts {
		for !strings.Contains(c.text(), text) {
			select {
			case b := <-c.arrived:
				c.take(b)
			case <-deadline:
				c.t.Fatalf("%q is not shown, but:\n%s", text, c.text())
			}
		}
	}
}

func (c *console) take(b []byte) {
	c.raw = append(c.raw, b...)
	if _, err := c.screen.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// text is what stands on the screen, without the space at the ends of lines.
func (c *console) text() string {
	lines := strings.Split(c.screen.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \r")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// types presses keys.
func (c *console) types(keys ...string) {
	c.t.Helper()
	for _, key := range keys {
		if _, err := c.master.WriteString(key); err != nil {
			c.t.Fatal(err)
		}
	}
}

// ends waits for the end of the program, checks its exit code, and that the
// terminal is as it was. It returns all that was shown and printed.
func (c *console) ends(code int) string {
	c.t.Helper()
	err := c.cmd.Wait()
	c.drain()
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.t.Fatalf("exit code %d (%v), want %d, after:\n%s", got, err, code, c.text())
	}
	after, err := term.GetState(int(c.tty.Fd()))
	if err != nil {
		c.t.Fatal(err)
	}
	if !reflect.DeepEqual(after, c.before) {
		c.t.Error("the terminal is not as it was")
	}
	for _, mode := range []string{"?25", "?2004"} { // cursor, bracketed paste
		shown := bytes.LastIndex(c.raw, []byte("\x1b["+mode+"h"))
		hidden := bytes.LastIndex(c.raw, []byte("\x1b["+mode+"l"))
		if mode == "?25" && hidden > shown || mode == "?2004" && shown > hidden {
			c.t.Errorf("mode %s is not as it was", mode)
		}
	}
	// Questions that a terminal would answer, to the shell if it is late.
	for _, question := range []string{"\x1b[6n", "\x1b[c", "\x1b[>q", "\x1b]10;?", "\x1b]11;?", "$p"} {
		if bytes.Contains(c.raw, []byte(question)) {
			c.t.Errorf("the terminal is asked %q", question)
		}
	}
	return c.text() + c.out.String()
}

// drain takes what the program has written before it ended: everything up to a
// mark that is written behind it.
func (c *console) drain() {
	const mark = "\x00end\x00"
	if _, err := c.tty.WriteString(mark); err != nil {
		c.t.Fatal(err)
	}
	var b []byte
	for !bytes.Contains(b, []byte(mark)) {
		b = append(b, <-c.arrived...)
	}
	c.take(b[:bytes.Index(b, []byte(mark))])
}

func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// form asks for a value of each kind.
const everyKind = `{"type":"object","required":["name","plan","agreed"],"properties":{` +
	`"name":{"type":"string","title":"Name","description":"In full","minLength":2},` +
	`"mail":{"type":"string","format":"email"},` +
	`"site":{"type":"string","format":"uri"},` +
	`"born":{"type":"string","format":"date"},` +
	`"at":{"type":"string","format":"date-time"},` +
	`"code":{"type":"string","pattern":"^[A-Z]+$","default":"ABC"},` +
	`"age":{"type":"integer","minimum":18,"maximum":99},` +
	`"share":{"type":"number","maximum":1.5,"default":0.5},` +
	`"agreed":{"type":"boolean"},` +
	`"news":{"type":"boolean"},` +
	`"plan":{"type":"string","enum":["free","paid"]},` +
	`"size":{"type":"string","enum":["s","m"],"enumNames":["Small","Medium"],"default":"m"},` +
	`"hero":{"oneOf":[{"const":"h1","title":"Ada"},{"const":"h2","title":"Grace"}]},` +
	`"tags":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["x","y","z"]}},` +
	`"fish":{"type":"array","items":{"anyOf":[{"const":"f1","title":"Tuna"},{"const":"f2","title":"Trout"}]},"default":["f2"]}}}`

func round(message, schema string) string {
	return fmt.Sprintf(`{"q":{"method":"elicitation/create","params":{"message":%q,"requestedSchema":%s}}}`, message, schema)
}

// A form with a field of each kind: what does not fit is said at the field,
// and the answer is what was typed and chosen.
func TestFormOfEveryKind(t *testing.T) {
	dir := writeFiles(t, map[string]string{"q.jsonl": round("Who are\nyou?", everyKind)})
	c := startConsole(t, dir, nil, "call", "a", "--", "fakeserver", "questions", "q.jsonl")
	c.shows("fakeserver asks, because of a:\n  Who are\n  you?\n", "Name (required)", "In full · at least 2 characters", "enter next")
	c.types(enter)
	c.shows("Name: an answer is needed")
	c.types("A", enter)
	c.shows("Name: shorter than 2")
	c.types("da", enter, "nobody", enter)
	c.shows("mail: no email")
	c.types(ctrlU, "ada@example.org", enter, "http://ada.example", enter, "yesterday", enter)
	c.shows("born: no date")
	c.types(ctrlU, "1815-12-10", enter, "1815-12-10T06:00:00Z", enter, "d", enter)
	c.shows("code: does not match")
	c.types(ctrlU, "XYZ", enter, "old", enter)
	c.shows("age: it takes")
	c.types(ctrlU, "17", enter)
	c.shows("age: less than 18")
	c.types(ctrlU, "36", enter, enter, "y")
	c.types(down, enter)        // news: yes
	c.types(down, enter, enter) // plan: paid; size: as it is
	c.types(down, down, enter)  // hero: Grace
	c.types("x", down, "x", down, "x", enter)
	c.types(enter) // fish: as it is
	c.shows("What now?", "Send the answer")
	c.types(enter)
	got := c.ends(0)
	const want = `{"q":{"action":"accept","content":{"name":"Ada","mail":"ada@example.org","site":"http://ada.example","born":"1815-12-10",` +
		`"at":"1815-12-10T06:00:00Z","code":"XYZ","age":36,"share":0.5,"agreed":true,"news":true,"plan":"paid","size":"m","hero":"h2","tags":["x","y"],"fish":["f2"]}}}`
	if !strings.Contains(got, want+"\ndone\n") {
		t.Errorf("sent another answer:\n%s", got)
	}
}

// The same line by line, for terminals that cannot do more and screen readers.
func TestFormInLines(t *testing.T) {
	for name, env := range map[string]string{"dumb": "TERM=dumb", "accessible": "ACCESSIBLE=1"} {
		t.Run(name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{"q.jsonl": round("Who?", everyKind)})
			c := startConsole(t, dir, []string{env}, "call", "a", "--", "fakeserver", "questions", "q.jsonl")
			c.shows("Name (required)\n  In full · at least 2 characters\n>")
			c.types("A\n")
			c.shows("Name: shorter than 2 characters\n>")
			c.types("Ada\n")
			c.shows("mail (optional)")
			c.types("\n\n\n\n")
			c.shows("code (optional)\n  matches ^[A-Z]+$\n[ABC] >")
			c.types("-\n")
			c.shows("age (optional)")
			c.types("5\n")
			c.shows("age: less than 18\n>")
			c.types("20\n\n")
			c.shows("agreed (required)\n[No] >")
			c.types("maybe\n")
			c.shows("agreed: it takes yes or no")
			c.types("yes\n2\npaid\n")
			c.shows("size (optional)\n  1. Small\n  2. Medium\n[Medium] >")
			c.types("-\nGrace\n")
			c.shows("tags (optional)")
			c.types("1,2,3\n")
			c.shows("tags: more than 2")
			c.types("3, x\n")
			c.shows("fish (optional)\n  1. Tuna\n  2. Trout\n[Trout] >")
			c.types("-\n")
			c.shows("What now?\n  1. Send the answer\n  2. Decline: tell the server no\n  3. Cancel: give no answer\n[Send the answer] >")
			c.types("\n")
			got := c.ends(0)
			const want = `{"q":{"action":"accept","content":{"name":"Ada","age":20,"share":0.5,"agreed":true,"news":false,"plan":"paid","hero":"h2","tags":["x","z"]}}}`
			if !strings.Contains(got, want+"\ndone\n") {
				t.Errorf("sent another answer:\n%s", got)
			}
			if name == "dumb" && bytes.ContainsRune(c.raw, '\x1b') {
				t.Errorf("escape sequences: %q", c.raw)
			}
		})
	}
}

// A question can be turned down and dismissed, also where a field does not let
// go, and Ctrl-C ends the program as a signal does.
func TestFormIsLeft(t *testing.T) {
	for name, test := range map[string]struct {
		env    string
		before string
		keys   []string
		code   int
		shows  string
	}{
		"decline":            {keys: []string{"1", enter, down, enter}, shows: `{"q":{"action":"decline"}}`},
		"cancel":             {keys: []string{"1", enter, down, down, enter}, shows: `{"q":{"action":"cancel"}}`},
		"lines, decline":     {env: "TERM=dumb", keys: []string{"1\n", "2\n"}, shows: `{"q":{"action":"decline"}}`},
		"lines, Ctrl-D":      {env: "TERM=dumb", keys: []string{ctrlD}, shows: `{"q":{"action":"cancel"}}`},
		"lines, late Ctrl-D": {env: "TERM=dumb", keys: []string{"1\n", ctrlD}, shows: `{"q":{"action":"cancel"}}`},
		"Ctrl-C":             {keys: []string{ctrlC}, code: 130, shows: "mcpctl: interrupted\n"},
		"lines, Ctrl-C":      {env: "TERM=dumb", keys: []string{ctrlC}, code: 130, shows: "mcpctl: interrupted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{"q.jsonl": round("How many?", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)})
			c := startConsole(t, dir, []string{test.env}, "call", "a", "--", "fakeserver", "questions", "q.jsonl")
			c.shows("n (required)", ">")
			c.types(test.keys...)
			if got := c.ends(test.code); !strings.Contains(got, test.shows) {
				t.Errorf("shown:\n%s", got)
			}
		})
	}
	t.Run("Esc", func(t *testing.T) {
		dir := writeFiles(t, map[string]string{"q.jsonl": round("How many?", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)})
		c := startConsole(t, dir, nil, "call", "a", "--", "fakeserver", "questions", "q.jsonl")
		c.shows("n (required)")
		c.types("1", esc)
		c.shows("Leave the question?", "Go on answering")
		c.types(enter)
		c.shows("n (required)", "> 1")
		c.types(esc)
		c.shows("Leave the question?")
		c.types(down, enter)
		if got := c.ends(0); !strings.Contains(got, `{"q":{"action":"decline"}}`) {
			t.Errorf("shown:\n%s", got)
		}
	})
	t.Run("terminated", func(t *testing.T) {
		dir := writeFiles(t, map[string]string{"q.jsonl": round("How many?", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)})
		c := startConsole(t, dir, nil, "call", "a", "--", "fakeserver", "questions", "q.jsonl")
		c.shows("n (required)")
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		c.ends(143)
	})
}

// Flags fill in a form, and answer what they answer in full.
func TestFormAndFlags(t *testing.T) {
	const q = `{"type":"object","properties":{"n":{"type":"integer"},"why":{"type":"string"}},"required":["n","why"]}`
	dir := writeFiles(t, map[string]string{"q.jsonl": round("How many?", q)})
	c := startConsole(t, dir, nil, "call", "a", "--answer", "n=7", "--", "fakeserver", "questions", "q.jsonl")
	c.shows("n (required)", "> 7")
	c.types(enter, "so", enter, enter)
	if got := c.ends(0); !strings.Contains(got, `"content":{"n":7,"why":"so"}`) {
		t.Errorf("shown:\n%s", got)
	}
	c = startConsole(t, dir, nil, "call", "a", "--answer", "n=7", "--answer", "why=so", "--", "fakeserver", "questions", "q.jsonl")
	if got := c.ends(0); !strings.Contains(got, `"content":{"n":7,"why":"so"}`) || strings.Contains(got, "asks") {
		t.Errorf("shown:\n%s", got)
	}
	for name, env := range map[string]string{"--no-input": "", "CI": "CI=1"} {
		t.Run(name, func(t *testing.T) {
			args := []string{"call", "a", "--", "fakeserver", "questions", "q.jsonl"}
			if env == "" {
				args = append([]string{"--no-input"}, args...)
			}
			c := startConsole(t, dir, []string{env}, args...)
			if got := c.ends(2); !strings.Contains(got, "--answer n=VALUE --answer why=VALUE") {
				t.Errorf("shown:\n%s", got)
			}
		})
	}
}

// Missing arguments are asked for; what is there stays.
func TestMissingArguments(t *testing.T) {
	const tools = `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"t","inputSchema":{"type":"object",` +
		`"properties":{"city":{"type":"string"},"days":{"type":"integer","maximum":7},"unit":{"$ref":"#/$defs/unit"},"place":{"type":"object","required":["lat"]},"note":{"type":"string"}},` +
		`"required":["city","days","unit","place"],"$defs":{"unit":{"enum":["c","f"]}}}}]}`
	dir := writeFiles(t, map[string]string{"tools.json": tools})
	c := startConsole(t, dir, nil, "call", "t", "city=Berlin", "--dry-run", "--", "fakeserver", "tools", "tools.json")
	c.shows("fakeserver.t takes more:", "days (required)", "at most 7")
	c.types("9", enter)
	c.shows("days: more than 7")
	c.types(ctrlU, "3", enter, down, enter, `{"lon":1}`, enter)
	c.shows(`place: missing "lat"`)
	c.types(ctrlU, `{"lat": 52.50}`, enter)
	if got := c.ends(0); !strings.Contains(got, "{\n  \"city\": \"Berlin\",\n  \"days\": 3,\n  \"unit\": \"f\",\n  \"place\": {\n    \"lat\": 52.50\n  }\n}\n") || strings.Contains(got, "note") {
		t.Errorf("shown:\n%s", got)
	}
	// Who leaves the form is where a script is.
	c = startConsole(t, dir, nil, "call", "t", "city=Berlin", "--", "fakeserver", "tools", "tools.json")
	c.shows("days (required)")
	c.types(esc)
	if got := c.ends(2); !strings.Contains(got, `missing "days"`) {
		t.Errorf("shown:\n%s", got)
	}
	c = startConsole(t, dir, nil, "call", "t", "city=Berlin", "--", "fakeserver", "tools", "tools.json")
	c.shows("days (required)")
	c.types(ctrlC)
	c.ends(130)
}

func TestMissingArgumentsOfAPrompt(t *testing.T) {
	dir := writeFiles(t, map[string]string{"q.jsonl": "{}"})
	c := startConsole(t, dir, nil, "prompt", "p", "--", "fakeserver", "questions", "q.jsonl")
	c.shows("fakeserver.p takes more:", "who (required)", "Whom to greet")
	c.types("Ada", enter)
	if got := c.ends(0); !strings.Contains(got, "greeted") {
		t.Errorf("shown:\n%s", got)
	}
}

// A person sees what would be called, and what was approved once is known as
// long as the contract stays.
func TestApproval(t *testing.T) {
	tools := func(schema string) string {
		return `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"t","description":"` + schema + `","inputSchema":{"type":"object"` + schema + `},"annotations":{"destructiveHint":true}}]}`
	}
	plain := strings.Replace(tools(""), `"description":""`, `"description":"Deletes"`, 1)
	const server = `{"command":"fakeserver","args":["tools","tools.json"],"approval":%q}`
	dir := writeFiles(t, map[string]string{
		"tools.json": plain,
		"mcp.json":   `{"mcpServers":{"once":` + fmt.Sprintf(server, "ask") + `,"some":` + fmt.Sprintf(server, "destructive") + `}}`,
	})
	start := func(args ...string) *console {
		return startConsole(t, dir, nil, append([]string{"call", "--config", "mcp.json"}, args...)...)
	}
	c := start("some.t", `path:="x\u001b[31my"`)
	c.shows("some is to call the tool t:\n  {\n    \"path\": \"x\\u001b[31my\"\n  }\nThe server claims: destructive: it may delete or overwrite.\nCall it? [y/N]")
	c.types("y\n")
	if got := c.ends(0); !strings.HasSuffix(got, "called\n") {
		t.Errorf("shown:\n%s", got)
	}
	for _, no := range []string{"n\n", "\n", ctrlD} {
		c = start("some.t")
		c.shows("Call it? [y/N]")
		c.types(no)
		if got := c.ends(1); !strings.Contains(got, "the call was not approved") || strings.Contains(got, "called\n") {
			t.Errorf("shown:\n%s", got)
		}
	}
	c = start("some.t")
	c.shows("[y/N]")
	c.types(ctrlC)
	c.ends(130)

	c = start("once.t")
	c.shows("Call it, now and from now on? [y/N]")
	c.types("n\n")
	c.ends(1)
	c = start("once.t")
	c.shows("Call it, now and from now on? [y/N]")
	c.types("y\n")
	c.ends(0)
	c = start("once.t", "--no-input") // remembered
	c.ends(0)
	// Words do not matter, schemas do.
	if err := os.WriteFile(filepath.Join(dir, "tools.json"), []byte(strings.Replace(plain, "Deletes", "Harmless", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	c = start("once.t", "--no-input")
	c.ends(0)
	changed := strings.Replace(plain, `"inputSchema":{"type":"object"`, `"inputSchema":{"type":"object","required":["force"],"properties":{"force":{"type":"boolean"}}`, 1)
	if err := os.WriteFile(filepath.Join(dir, "tools.json"), []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	c = start("once.t", "force=true", "--no-input")
	c.ends(2)
	info, err := os.Stat(filepath.Join(dir, "config", "mcpctl", "approved.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	// Another configuration is another server.
	other := filepath.Join(dir, "other.json")
	if err := os.WriteFile(other, []byte(`{"mcpServers":{"once":`+fmt.Sprintf(server, "ask")+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tools.json"), []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	c = startConsole(t, dir, nil, "call", "--config", "other.json", "once.t", "--no-input")
	c.ends(2)
}

// A page is shown with its host, opened only after a yes, and never fetched.
func TestVisit(t *testing.T) {
	page := func(message, url string) string {
		quoted, _ := json.Marshal(url)
		return fmt.Sprintf(`{"mode":"url","message":%q,"url":%s,"elicitationId":"e"}`, message, quoted)
	}
	modern := func(url string) string {
		return `{"q":{"method":"elicitation/create","params":` + page("Log in", url) + `}}`
	}
	const url = "https://good.example:pw@login.example/start?x=1&y=2"
	for name, test := range map[string]struct {
		rounds []string
		talk   func(c *console)
		opened string
		shows  string
		code   int
	}{
		"opened": {
			rounds: []string{modern(url)},
			talk: func(c *console) {
				c.shows("fakeserver asks, because of a:\n  Log in\nIt wants you to visit a page of login.example:\n  "+url, "Open it in the browser")
				c.types(enter)
			},
			opened: url, shows: `{"q":{"action":"accept"}}`,
		},
		"by hand": {
			rounds: []string{modern(url)},
			talk:   func(c *console) { c.shows("Visit it?", "Cancel:"); c.types(down, enter) },
			shows:  `{"q":{"action":"accept"}}`,
		},
		"declined": {
			rounds: []string{modern(url)},
			talk:   func(c *console) { c.shows("Visit it?", "Cancel:"); c.types(down, down, enter) },
			shows:  `{"q":{"action":"decline"}}`,
		},
		"dismissed": {
			rounds: []string{modern(url)},
			talk:   func(c *console) { c.shows("Visit it?", "Cancel:"); c.types(esc) },
			shows:  `{"q":{"action":"cancel"}}`,
		},
		"asked again": {
			rounds: []string{modern(url), modern(url)},
			talk: func(c *console) {
				c.shows("Visit it?", "I have opened it myself")
				c.types(enter)
				c.shows("Visit it?", "I have finished there: go on")
				c.types(down, enter)
			},
			opened: url, shows: "done",
		},
		"no page": {
			rounds: []string{modern("file:///etc/passwd")},
			talk:   func(c *console) { c.shows("no http or https URL: declined") },
			shows:  `{"q":{"action":"decline"}}`,
		},
		"letters that look alike": {
			rounds: []string{modern("https://l\u043egin.example/")},
			talk:   func(c *console) { c.shows("letters that can look like others", "Visit it?", "Cancel:"); c.types(esc) },
			shows:  `{"q":{"action":"cancel"}}`,
		},
		"older server": {
			rounds: []string{`error:{"code":-32042,"message":"log in","data":{"elicitations":[` + page("Log in", url) + `]}}`},
			talk: func(c *console) {
				c.shows("Visit it?", "Cancel:")
				c.types(enter)
				c.shows("Finished there?", "Go on")
				c.types(enter)
			},
			opened: url, shows: "done",
		},
		"older server, not finished": {
			rounds: []string{`error:{"code":-32042,"message":"log in","data":{"elicitations":[` + page("Log in", url) + `]}}`},
			talk: func(c *console) {
				c.shows("Visit it?", "Cancel:")
				c.types(enter)
				c.shows("Finished there?", "Go on")
				c.types(down, enter)
			},
			opened: url, shows: "the server asks for input", code: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{
				"q.jsonl":      strings.Join(test.rounds, "\n"),
				"bin/xdg-open": "#!/bin/sh\nprintf %s \"$1\" > opened.part\nmv opened.part opened\necho noise\n",
			})
			if err := os.Symlink("xdg-open", filepath.Join(dir, "bin", "open")); err != nil { // macOS
				t.Fatal(err)
			}
			c := startConsole(t, dir, []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}, "call", "a", "--", "fakeserver", "questions", "q.jsonl")
			test.talk(c)
			if got := c.ends(test.code); !strings.Contains(got, test.shows) {
				t.Errorf("shown:\n%s", got)
			}
			opened, _ := os.ReadFile(filepath.Join(dir, "opened"))
			if string(opened) != test.opened {
				t.Errorf("opened %q, want %q", opened, test.opened)
			}
		})
	}
}
