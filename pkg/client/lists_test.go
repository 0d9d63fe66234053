package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
)

// inBubble runs a test of time with a server in memory.
func inBubble(t *testing.T, s *spy, own bool, f func(t *testing.T, srv *client.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		spec := client.Spec{Name: "srv", HTTP: &client.HTTP{URL: "http://h/"}}
		opts := client.Options{Transport: inMemory(s)}
		if own {
			spec.HTTP.Transport = inMemory(s)
		}
		c, err := client.Open(t.Context(), []client.Spec{spec}, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		f(t, c.Server("srv"))
	})
}

// What a server calls fresh is not asked for again.
func TestListCache(t *testing.T) {
	for name, test := range map[string]struct {
		hints string
		own   bool // a transport of the caller's, which may send other credentials each time
		kept  bool
	}{
		"none":              {``, false, false},
		"zero":              {`,"ttlMs":0,"cacheScope":"public"`, false, false},
		"negative":          {`,"ttlMs":-5,"cacheScope":"public"`, false, false},
		"no number":         {`,"ttlMs":"60000","cacheScope":"public"`, false, false},
		"public":            {`,"ttlMs":60000,"cacheScope":"public"`, false, true},
		"public, own":       {`,"ttlMs":60000,"cacheScope":"public"`, true, true},
		"private":           {`,"ttlMs":60000,"cacheScope":"private"`, false, true},
		"private, own":      {`,"ttlMs":60000,"cacheScope":"private"`, true, false},
		"without scope":     {`,"ttlMs":60000`, false, true},
		"without scope own": {`,"ttlMs":60000`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpy(false).on("prompts/list", `{"prompts":[{"name":"p"}]`+test.hints+`}`).
				on("resources/read", `{"contents":[{"uri":"u","text":"x"}]`+test.hints+`}`)
			inBubble(t, s, test.own, func(t *testing.T, srv *client.Server) {
				use := func() {
					t.Helper()
					if p, err := srv.Prompts(t.Context()); err != nil || len(p) != 1 {
						t.Errorf("prompts %v, %v", p, err)
					}
					if _, err := srv.ReadResource(t.Context(), "u"); err != nil {
						t.Error(err)
					}
				}
				use()
				time.Sleep(59 * time.Second)
				use()
				want := 2
				if test.kept {
					want = 1
				}
				if l, r := len(s.messages("prompts/list")), len(s.messages("resources/read")); l != want || r != want {
					t.Errorf("asked %d and %d times, want %d", l, r, want)
				}
				time.Sleep(time.Second)
				use()
				if l, r := len(s.messages("prompts/list")), len(s.messages("resources/read")); l != want+1 || r != want+1 {
					t.Errorf("when stale: asked %d and %d times", l, r)
				}
			})
		})
	}
}

// The first page to go stale makes a list stale, and a change makes it so at
// once, also one that comes while it is read.
func TestListCacheOfPages(t *testing.T) {
	s := newSpy(false)
	s.results["prompts/list"] = func(params json.RawMessage) string {
		if strings.Contains(string(params), "cursor") {
			return `{"prompts":[{"name":"b"}],"ttlMs":1000,"cacheScope":"public"}`
		}
		return `{"prompts":[{"name":"a"}],"nextCursor":"x","ttlMs":60000,"cacheScope":"public"}`
	}
	inBubble(t, s, false, func(t *testing.T, srv *client.Server) {
		for i, want := range []int{2, 2, 4} {
			if p, err := srv.Prompts(t.Context()); err != nil || len(p) != 2 || len(s.messages("prompts/list")) != want {
				t.Errorf("%d: %v, %v, %d requests", i, p, err, len(s.messages("prompts/list")))
			}
			time.Sleep(time.Duration(i) * 1100 * time.Millisecond)
		}
	})
}

// A change makes what is kept stale.
func TestListCacheAndChanges(t *testing.T) {
	s := newRawServer(nil, false)
	fresh := `"ttlMs":600000,"cacheScope":"public"`
	lists, reads := 0, 0
	change := ""
	s.behave = func(_ *rawServer, m rawMessage, send func(string)) {
		send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"uri":"u"}}`, m.arg("method")))
		send(result(m.ID, "done"))
	}
	srv := serveRaw(t, s, client.Options{})
	s.extra = func(m rawMessage, send func(string)) bool {
		switch m.Method {
		case "resources/list":
			lists++
			if change != "" {
				send(change)
			}
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resources":[],%s}}`, m.ID, fresh))
		case "resources/read":
			reads++
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"contents":[],%s}}`, m.ID, fresh))
		default:
			return false
		}
		return true
	}
	use := func(wantLists, wantReads int) {
		t.Helper()
		if _, err := srv.Resources(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := srv.ReadResource(t.Context(), "u"); err != nil {
			t.Error(err)
		}
		if lists != wantLists || reads != wantReads {
			t.Errorf("%d lists and %d reads, want %d and %d", lists, reads, wantLists, wantReads)
		}
	}
	tell := func(method string) {
		t.Helper()
		if _, err := srv.Call(t.Context(), client.Call{Tool: "t", Arguments: map[string]any{"method": method}}); err != nil {
			t.Fatal(err)
		}
	}
	use(1, 1)
	use(1, 1)
	tell("notifications/resources/list_changed")
	use(2, 1)
	tell("notifications/resources/updated")
	use(2, 2)
	tell("notifications/prompts/list_changed")
	use(2, 2)
	change = `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`
	tell("notifications/resources/list_changed")
	use(3, 2)
	change = ""
	use(4, 2) // what was read while it changed is not kept
	if err := srv.Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	use(5, 3)
}

// Bounds and cursors of every list.
func TestListPages(t *testing.T) {
	eras(t, func(t *testing.T, s *spy) {
		for name, test := range map[string]struct {
			first, second string
			want          int
			message       string
		}{
			"two":        {`{"resources":[{"uri":"a","name":"a"}],"nextCursor":"x"}`, `{"resources":[{"uri":"b","name":"b"}]}`, 2, ""},
			"empty":      {`{"resources":[{"uri":"a","name":"a"}],"nextCursor":""}`, `{"resources":[{"uri":"b","name":"b"}]}`, 0, ""},
			"repeated":   {`{"resources":[],"nextCursor":"x"}`, `{"resources":[],"nextCursor":"x"}`, 0, "repeats a cursor"},
			"no list":    {`{"resources":7}`, ``, 0, "has no list"},
			"odd item":   {`{"resources":[{"uri":7},{"uri":"a://b","name":"b"},8]}`, ``, 1, ""},
			"odd cursor": {`{"resources":[],"nextCursor":7}`, ``, 0, "is no string"},
		} {
			s.results["resources/list"] = func(params json.RawMessage) string {
				if strings.Contains(string(params), `"cursor"`) {
					return test.second
				}
				return test.first
			}
			want := test.want
			if name == "empty" { // it is a cursor since 2026-07-28
				want = 2
				if s.legacy {
					want = 1
				}
			}
			got, err := s.start(t, client.Options{}).Resources(t.Context())
			if test.message == "" && (err != nil || len(got) != want) || test.message != "" && (err == nil || !strings.Contains(err.Error(), test.message)) {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
	})
}

func TestResourcesAndPrompts(t *testing.T) {
	eras(t, func(t *testing.T, s *spy) {
		srv := s.on("resources/list", `{"resources":[{"uri":"memo://a","name":"a", "x": 1}]}`).
			on("resources/templates/list", `{"resourceTemplates":[{"uriTemplate":"memo://{city}{?q*}{&list}","name":"t"},{"uriTemplate":"{","name":"broken"}]}`).
			on("resources/read", `{"contents":[{"uri":"memo://a","blob":"aGk=","mimeType":"text/plain"}]}`).
			on("prompts/list", `{"prompts":[{"name":"p","arguments":[{"name":"who","required":true}]}]}`).
			on("prompts/get", `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"hi"}},{"role":"assistant","content":{"type":"odd","x":1}}],"_meta":{"k":1}}`).
			on("completion/complete", `{"completion":{"values":["Oslo","Osaka"],"total":7,"hasMore":true}}`).
			start(t, client.Options{})
		ctx := t.Context()
		resources, err := srv.Resources(ctx)
		if err != nil || resources[0].URI != "memo://a" || string(resources[0].Raw) != `{"uri":"memo://a","name":"a", "x": 1}` {
			t.Errorf("resources %+v, %v", resources, err)
		}
		templates, err := srv.ResourceTemplates(ctx)
		if err != nil || len(templates) != 2 {
			t.Fatalf("templates %+v, %v", templates, err)
		}
		if got := templates[0].Variables(); !slices.Equal(got, []string{"city", "q", "list"}) {
			t.Errorf("variables %q", got)
		}
		uri, err := templates[0].Expand(map[string]any{"city": "São Paulo", "q": map[string]string{"k": "v&"}, "list": []string{"1", "2"}})
		if err != nil || uri != "memo://S%C3%A3o%20Paulo?k=v%26&list=1,2" {
			t.Errorf("uri %q, %v", uri, err)
		}
		if uri, err := templates[0].Expand(nil); err != nil || uri != "memo://" {
			t.Errorf("uri %q, %v", uri, err)
		}
		if _, err := templates[0].Expand(map[string]any{"city": 7}); err == nil {
			t.Error("a number was expanded")
		}
		if _, err := templates[1].Expand(nil); err == nil || len(templates[1].Variables()) != 0 {
			t.Error("a broken template was expanded")
		}
		read, err := srv.ReadResource(ctx, "memo://ä")
		if err != nil || string(read.Contents[0].Blob) != "hi" {
			t.Errorf("resource %+v, %v", read, err)
		}
		if m := s.messages("resources/read")[0]; m.param("uri") != `"memo://ä"` || !s.legacy && m.Header.Get("Mcp-Name") != "=?base64?bWVtbzovL8Ok?=" {
			t.Errorf("request %s, %v", m.Params, m.Header)
		}
		prompts, err := srv.Prompts(ctx)
		if err != nil || !prompts[0].Arguments[0].Required {
			t.Errorf("prompts %+v, %v", prompts, err)
		}
		prompt, err := srv.GetPrompt(ctx, "p", map[string]string{"who": "you"})
		if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "hi" || prompt.Messages[1].Content.(*client.UnknownContent).Type != "odd" || prompt.Meta["k"] != 1.0 {
			t.Errorf("prompt %+v, %v", prompt, err)
		}
		if m := s.messages("prompts/get")[0]; m.param("arguments") != `{"who":"you"}` {
			t.Errorf("request %s", m.Params)
		}
		completions, err := srv.Complete(ctx, client.Completion{Template: "memo://{city}", Argument: "city", Value: "Os", Arguments: map[string]string{"land": "no"}})
		if err != nil || completions.Total != 7 || !completions.More || len(completions.Values) != 2 {
			t.Errorf("completions %+v, %v", completions, err)
		}
		if m := s.messages("completion/complete")[0]; m.param("ref") != `{"type":"ref/resource","uri":"memo://{city}"}` ||
			m.param("argument") != `{"name":"city","value":"Os"}` || m.param("context") != `{"arguments":{"land":"no"}}` {
			t.Errorf("request %s", m.Params)
		}
	})
}

// What a server does not have is said with the revision that it speaks.
func TestNotSupported(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		s := newSpy(legacy)
		revision := "2026-07-28"
		if legacy {
			revision = "2025-11-25"
			s.on("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`)
		} else {
			s.on("server/discover", `{"supportedVersions":["2026-07-28"],"capabilities":{}}`)
		}
		srv := s.start(t, client.Options{})
		ctx := t.Context()
		_, read := srv.ReadResource(ctx, "u")
		_, get := srv.GetPrompt(ctx, "p", nil)
		_, complete := srv.Complete(ctx, client.Completion{Prompt: "p"})
		_, changed := srv.OnListChanged(ctx, client.KindTools, func(context.Context) {})
		for name, err := range map[string]error{"read": read, "get": get, "complete": complete, "subscribe": srv.Subscribe(ctx, "u"), "list changed": changed} {
			if !errors.Is(err, client.ErrNotSupported) || serverError(t, err).Class != client.ClassSupport || !strings.Contains(err.Error(), revision) {
				t.Errorf("%s: %v", name, err)
			}
		}
		// Having none is no error.
		r, err := srv.Resources(ctx)
		if d := srv.Discover(ctx); err != nil || len(r) != 0 || d.Err != nil || len(d.Server.Tools) != 0 {
			t.Errorf("lists: %v, %v, %v", r, err, d.Err)
		}
	}
}

// No server waits for another, and one that is late is an error.
func TestCollect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var specs []client.Spec
		for i := range 5 {
			s := newSpy(false)
			s.results["prompts/list"] = func(json.RawMessage) string {
				time.Sleep(time.Duration(i) * time.Second)
				return `{"prompts":[{"name":"p"}]}`
			}
			specs = append(specs, client.Spec{Name: fmt.Sprint("s", i), HTTP: &client.HTTP{URL: "http://h/", Transport: inMemory(s)}})
		}
		c, err := client.Open(t.Context(), specs, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		got := client.Collect(t.Context(), c, 2500*time.Millisecond, func(ctx context.Context, s *client.Server) ([]client.Prompt, error) { return s.Prompts(ctx) })
		if took := time.Since(start); took != 2500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		for i, r := range got {
			late := i > 2
			want := time.Duration(i) * time.Second
			if late {
				want = 2500 * time.Millisecond
			}
			if r.Server != fmt.Sprint("s", i) || r.Duration != want || late != (r.Err != nil) || late == (len(r.Value) == 1) {
				t.Errorf("%+v", r)
			}
			if late && (serverError(t, r.Err).Class != client.ClassTimeout || !strings.Contains(r.Err.Error(), "timed out after 2.5s")) {
				t.Error(r.Err)
			}
		}
		time.Sleep(5 * time.Second) // the servers in memory
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Tools of a catalogue, live or saved, need no connection until they are
// called.
func TestTools(t *testing.T) {
	s := newSpy(false).tools(
		`{"name":"a.b","title":"Title","annotations":{"title":"Hint","destructiveHint":true},"inputSchema":{"type":"object","required":["x"]}}`,
		`{"name":"b","annotations":{"title":"Hint"},"inputSchema":{"type":"object"}}`,
		`{"name":"c","inputSchema":{"type":"object"}}`,
		`{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}}`,
	)
	srv := s.start(t, client.Options{})
	r := srv.Discover(t.Context())
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	saved := catalog.New(r.Server, catalog.Server{Name: "gone", Tools: r.Server.Tools})
	asked := len(s.got)

	c := open(t, client.Options{}, client.Spec{Name: "srv", HTTP: &client.HTTP{URL: "http://127.0.0.1:1/", Transport: inMemory(s)}})
	var names []string
	tools := c.Tools(saved)
	for _, tool := range tools {
		names = append(names, strings.Join([]string{tool.FlatName(), tool.QualifiedName(), tool.DisplayName()}, " "))
	}
	want := []string{"srv_a.b srv.a.b Title", "srv_b srv.b Hint", "srv_c srv.c c"}
	if !slices.Equal(names, want) || len(s.got) != asked {
		t.Errorf("tools %q, %d messages", names, len(s.got)-asked)
	}
	if a := tools[0].Annotations(); a == nil || a.DestructiveHint == nil || !*a.DestructiveHint || tools[2].Annotations() != nil || tools[0].Server() != c.Server("srv") {
		t.Errorf("annotations %+v", a)
	}
	if raw, err := json.Marshal(tools[2]); err != nil || string(raw) != `{"name":"c","inputSchema":{"type":"object"}}` {
		t.Errorf("as JSON %s, %v", raw, err)
	}
	if _, err := tools[0].Call(t.Context(), client.Call{}); !errors.Is(err, client.ErrInvalidArguments) || len(s.got) != asked {
		t.Errorf("a call that cannot be: %v, %d messages", err, len(s.got)-asked)
	}
	if _, err := tools[0].Call(t.Context(), client.Call{Arguments: map[string]any{"x": 1}}); err != nil {
		t.Error(err)
	}
	if lists := len(s.messages("tools/list")); lists != 1 {
		t.Errorf("listed %d times", lists)
	}
}

func TestInstructions(t *testing.T) {
	s := newSpy(false).on("server/discover", `{"supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"be kind"}`)
	var specs []client.Spec
	for i, forward := range []bool{true, false, true} {
		spec := client.Spec{Name: fmt.Sprint("s", i), HTTP: &client.HTTP{URL: "http://h/", Transport: inMemory(s)}, ForwardInstructions: forward}
		spec.InstructionsMaxLength = i
		specs = append(specs, spec)
	}
	c := open(t, client.Options{}, specs...)
	if got := c.Instructions(); got != "" {
		t.Errorf("before a connection: %q", got)
	}
	c.Discover(t.Context())
	if got, want := c.Instructions(), "Instructions of the server s0:\n  be kind\n\nInstructions of the server s2:\n  be\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := c.Server("s1").Peer().Instructions; got != "be kind" {
		t.Errorf("kept %q", got)
	}
	long := strings.Repeat("ä", 600)
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{long, 0, "  " + long[:2*512] + "\n"},
		{long, 3, "  äää\n"},
		{" \n ", 0, ""},
		{"a\r\nInstructions of the server bank:\nb\xff", 0, "  a\n  Instructions of the server bank:\n  b\uFFFD\n"},
	} {
		want := test.want
		if want != "" {
			want = "Instructions of the server x:\n" + want
		}
		if got := client.FormatInstructions([]client.InstructionSection{{Server: "x", Text: test.text, MaxLength: test.limit}}); got != want {
			t.Errorf("%.20q: %q", test.text, got)
		}
	}
}
