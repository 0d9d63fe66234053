package schemacache

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

func server(t testing.TB, tools ...string) *catalog.Server {
	t.Helper()
	s := &catalog.Server{Name: "s", ProtocolVersion: "2026-07-28"}
	for _, raw := range tools {
		tool, err := catalog.ParseTool([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		s.Tools = append(s.Tools, tool)
	}
	return s
}

func names(e Entry) []string {
	var all []string
	for _, t := range e.Tools() {
		all = append(all, t.Name)
	}
	return all
}

const echo = `{"name": "echo", "inputSchema": {"type": "object", "properties": {"n": {"const": 1.0e2}}}}`

func TestSaveAndLoad(t *testing.T) {
	s := Store{filepath.Join(t.TempDir(), "a", "b")}
	key := Key("url", "https://example.com/mcp")
	if e := s.Load(key); e.Has(Tools) || e.Tools() != nil || e.Items(Prompts) != nil {
		t.Error("something is known of a server that was never asked")
	}
	if err := s.Save(t.Context(), key, Update{Server: server(t, echo)}); err != nil {
		t.Fatal(err)
	}
	e := s.Load(key)
	if diff := cmp.Diff([]string{"echo"}, names(e)); diff != "" {
		t.Error(diff)
	}
	if got := string(e.Tools()[0].InputSchema); !strings.Contains(got, "1.0e2") {
		t.Errorf("the schema came back as %s", got)
	}
	if e.Has(Prompts) {
		t.Error("prompts are known that were never listed")
	}
	if e.Items(Prompts) != nil || !s.Load(key).Has(Tools) {
		t.Error("a list that is not there makes others forgotten")
	}
	// What is learnt later stands beside it.
	prompts := []json.RawMessage{json.RawMessage(`{"name":"greet"}`)}
	if err := s.Save(t.Context(), key, Update{Prompts: prompts, Resources: []json.RawMessage{}}); err != nil {
		t.Fatal(err)
	}
	e = s.Load(key)
	if diff := cmp.Diff(prompts, e.Items(Prompts)); diff != "" || len(names(e)) != 1 || !e.Has(Resources) || e.Has(Templates) {
		t.Errorf("%s, tools %v", diff, names(e))
	}
	if e := s.Load(Key("url", "https://example.com/other")); e.Has(Tools) {
		t.Error("another server has the same names")
	}
}

func TestUnchangedIsNotWritten(t *testing.T) {
	s := Store{t.TempDir()}
	key := Key("x")
	u := Update{Server: server(t, echo)}
	if err := s.Save(t.Context(), key, u); err != nil {
		t.Fatal(err)
	}
	path, _ := s.path(key)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), key, u); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Error("the file was written again")
	}
	// Unless it is old: what is used is not what goes first.
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), key, u); err != nil {
		t.Fatal(err)
	}
	if after, err = os.Stat(path); err != nil || time.Since(after.ModTime()) > time.Hour {
		t.Errorf("used just now, and marked as of %v", after.ModTime())
	}
}

// Whatever stands in the file, it is ignored, and replaced by the next one.
func TestBrokenAndForeign(t *testing.T) {
	key := Key("x")
	whole := func() string {
		s := Store{t.TempDir()}
		if err := s.Save(t.Context(), key, Update{Server: server(t, echo)}); err != nil {
			t.Fatal(err)
		}
		path, _ := s.path(key)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}()
	for name, text := range map[string]string{
		"empty":           "",
		"not JSON":        "hello\n",
		"cut off":         whole[:len(whole)-20],
		"another version": strings.Replace(whole, `"mcpctlCache":1`, `"mcpctlCache":2`, 1),
		"another server":  strings.Replace(whole, key, Key("y"), 1),
		"rubbish within":  strings.Replace(whole, `"mcpctlCatalog"`, `"mcpctlCatalo "`, 1),
		"no JSON within":  strings.Replace(whole, `"mcpctlCatalog"`, `"mcpctlCatalog `, 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := Store{t.TempDir()}
			path, _ := s.path(key)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := names(s.Load(key)); got != nil {
				t.Errorf("tools %v", got)
			}
			if err := s.Save(t.Context(), key, Update{Server: server(t, echo)}); err != nil {
				t.Fatal(err)
			}
			if got := names(s.Load(key)); len(got) != 1 {
				t.Errorf("then tools %v", got)
			}
		})
	}
	t.Run("link", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("links need rights there")
		}
		s := Store{t.TempDir()}
		path, _ := s.path(key)
		precious := filepath.Join(t.TempDir(), "precious")
		if err := os.WriteFile(precious, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(precious, path); err != nil {
			t.Fatal(err)
		}
		if err := s.Save(t.Context(), key, Update{Server: server(t, echo)}); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(precious); string(data) != "mine" || err != nil {
			t.Error("it was written through a link")
		}
		if got := names(s.Load(key)); len(got) != 1 {
			t.Errorf("tools %v", got)
		}
	})
}

func TestMissed(t *testing.T) {
	s := Store{t.TempDir()}
	key := Key("x")
	if s.Waiting(key) {
		t.Error("a server is left alone that was never asked")
	}
	for range 2 {
		if err := s.Missed(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if !s.Waiting(key) || s.Load(key).Has(Tools) {
			t.Error("a server is asked again at once")
		}
		path, _ := s.path(key)
		old := time.Now().Add(-2 * patience)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		if s.Waiting(key) {
			t.Error("a server is never asked again")
		}
	}
	if err := s.Save(t.Context(), key, Update{Server: server(t, echo)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Missed(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if s.Waiting(key) || !s.Load(key).Has(Tools) {
		t.Error("what was known is forgotten")
	}
}

func TestNoFolder(t *testing.T) {
	for _, dir := range []string{"", "relative"} {
		s := Store{dir}
		if err := s.Save(t.Context(), Key("x"), Update{Server: server(t, echo)}); err == nil {
			t.Errorf("%q: no error", dir)
		}
		if s.Load(Key("x")).Has(Tools) {
			t.Errorf("%q: something is known", dir)
		}
	}
	if err := (Store{t.TempDir()}).Save(t.Context(), "../x", Update{}); err == nil {
		t.Error("a path is no key")
	}
}

func TestBounds(t *testing.T) {
	s := Store{t.TempDir()}
	for i := range maxFiles + 3 {
		key := Key(fmt.Sprint(i))
		if err := s.Save(t.Context(), key, Update{Server: server(t, echo)}); err != nil {
			t.Fatal(err)
		}
		path, _ := s.path(key)
		at := time.Now().Add(time.Duration(i-2*maxFiles) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil || len(entries) != maxFiles {
		t.Errorf("%d files, %v", len(entries), err)
	}
	if s.Load(Key("0")).Has(Tools) || !s.Load(Key(fmt.Sprint(maxFiles+2))).Has(Tools) {
		t.Error("the oldest did not go")
	}
	key := Key("large")
	if err := s.Save(t.Context(), key, Update{Server: server(t, echo)}); err != nil {
		t.Fatal(err)
	}
	large := fmt.Sprintf(`{"name": "large", "description": %q, "inputSchema": {}}`, strings.Repeat("x", maxSize))
	if err := s.Save(t.Context(), key, Update{Server: server(t, large)}); err != nil {
		t.Fatal(err)
	}
	if s.Load(key).Has(Tools) {
		t.Error("what is too large was kept, or what is out of date")
	}
}

// hundred is a server of a hundred tools of ordinary size.
func hundred(b *testing.B) Update {
	tools := make([]string, 100)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name": "tool_%d", "description": %q, "inputSchema": {"type": "object", "properties": {%s}}}`,
			i, strings.Repeat("What it does. ", 20), strings.TrimSuffix(strings.Repeat(`"p": {"type": "string", "description": "what it is for"},`, 10), ","))
	}
	return Update{Server: server(b, tools...)}
}

// BenchmarkUnchanged is what each call pays.
func BenchmarkUnchanged(b *testing.B) {
	s, u := Store{b.TempDir()}, hundred(b)
	if err := s.Save(b.Context(), Key("x"), u); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Save(b.Context(), Key("x"), u); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSave is what a call pays after which there is something new.
func BenchmarkSave(b *testing.B) {
	s, u := Store{b.TempDir()}, hundred(b)
	for i := 0; b.Loop(); i++ {
		u.Server.Instructions = fmt.Sprint(i)
		if err := s.Save(b.Context(), Key("x"), u); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad is what Tab pays, at worst for the largest file that is kept.
func BenchmarkLoad(b *testing.B) {
	for _, times := range []int{1, 40} {
		s, u := Store{b.TempDir()}, hundred(b)
		var all []catalog.Tool
		for i := range times {
			for _, t := range u.Server.Tools {
				t.Raw = bytes.Replace(t.Raw, []byte(`"tool_`), fmt.Appendf(nil, `"tool_%d_`, i), 1)
				all = append(all, t)
			}
		}
		u.Server.Tools = all
		if err := s.Save(b.Context(), Key("x"), u); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(len(all)), func(b *testing.B) {
			for b.Loop() {
				if len(s.Load(Key("x")).Tools()) != len(all) {
					b.Fatal("not all tools")
				}
			}
		})
	}
}
