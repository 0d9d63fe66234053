package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server names the file at most, and no name does harm.
func TestFileName(t *testing.T) {
	for _, test := range []struct{ uri, media, want string }{
		{"", "image/png", "image.png"},
		{"memo://note", "text/plain", "note.txt"},
		{"file:///srv/logo.png", "image/png", "logo.png"},
		{"file:///srv/logo.PNG", "image/png", "logo.PNG"},
		{"file:///srv/photo.jpeg", "image/jpeg", "photo.jpeg"},
		{"file:///srv/main.go", "text/plain", "main.go"},
		{"file:///srv/archive.tar.gz", "application/octet-stream", "archive.tar.gz"},
		{"https://e.org/a/b/?x=../../c#d/e", "text/html", "b.html"},
		{"https://e.org", "application/ld+json", "e.org.json"},
		{"urn:isbn:123", "application/vnd.odd", "123.bin"},
		{"file:///x/program.exe", "image/png", "program.exe.png"},
		{"file:///a%2Fb%5Cc.txt", "text/plain", "a_b_c.txt"},
		{"file:///..", "text/plain", "image.txt"},
		{"file:///%2e%2e%2f%2e%2e%2fetc%2fpasswd", "text/plain", "_.._etc_passwd.txt"},
		{`file:///C:\Users\me\.profile`, "", "profile.bin"},
		{"file:///.ssh/.bashrc", "text/plain", "bashrc.txt"},
		{"file:///-rf", "text/plain", "rf.txt"},
		{"file:///~root", "text/plain", "root.txt"},
		{"file:///a\x1b[31m\u202egnp.exe\n", "", "a_[31m_gnp.exe_.bin"},
		{"file:///\xff\xfe", "image/gif", "image.gif"},
		{"file:///con.txt", "text/plain", "_con.txt"},
		{"file:///NUL", "", "_NUL.bin"},
		{"file:///com1.tar.gz", "application/gzip", "_com1.tar.gz"},
		{"file:///command.com", "", "command.com"},
		{"file:///a. . .", "text/plain", "a.txt"},
		{"file:///" + strings.Repeat("ä", 200) + ".png", "image/png", strings.Repeat("ä", 50) + ".png"},
		{"file:///x." + strings.Repeat("y", 200), "", "x." + strings.Repeat("y", 98) + ".bin"},
		{"file:///", "text/csv", "image.csv"},
	} {
		got := fileName("image", test.uri, test.media)
		if got != test.want {
			t.Errorf("%q (%s): %q, want %q", test.uri, test.media, got, test.want)
		}
		if !filepath.IsLocal(got) || strings.ContainsAny(got, `/\:`) {
			t.Errorf("%q leads out of the folder", got)
		}
	}
}

func TestStore(t *testing.T) {
	image := &mcp.ImageContent{MIMEType: "image/png; a=b", Data: []byte("png")}
	text := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "memo://note", Text: "words"}}
	all := func() []piece {
		return []piece{
			{Content: image},
			{Content: &mcp.TextContent{Text: "t"}},
			{Content: image},
			{Content: &mcp.ResourceLink{URI: "file:///etc/passwd"}},
			{Content: text},
			{Content: &client.UnknownContent{Type: "odd"}},
		}
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"outside": "mine", "image.png": "mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A link that stands where a file is to be is not followed.
	if err := os.Symlink(filepath.Join(dir, "outside"), filepath.Join(dir, "image-2.png")); err != nil {
		t.Skip(err)
	}
	pieces := all()
	saved, err := store(t.Context(), dir, dir, pieces)
	if err != nil {
		t.Fatal(err)
	}
	want := []view.Saved{
		{Path: filepath.Join(dir, "image-3.png"), MIMEType: "image/png", Bytes: 3},
		{Path: filepath.Join(dir, "image-4.png"), MIMEType: "image/png", Bytes: 3},
		{Path: filepath.Join(dir, "note.txt"), MIMEType: "text/plain", Bytes: 5},
	}
	if diff := cmp.Diff(want, saved); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(&want[2], pieces[4].saved); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	const all1 = "image-2.png=mine image-3.png=png image-4.png=png image.png=mine note.txt=words outside=mine"
	if got := folder(t, dir); got != all1 {
		t.Errorf("the folder has %s", got)
	}

	// All, or nothing.
	broken := append(all(), piece{Content: &client.UnknownContent{Type: "image"}})
	if saved, err := store(t.Context(), dir, dir, broken); err == nil || saved != nil || !strings.Contains(err.Error(), "nothing was saved") {
		t.Errorf("saved %v, error %v", saved, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if saved, err := store(ctx, dir, dir, all()); err == nil || saved != nil {
		t.Errorf("saved %v, error %v", saved, err)
	}
	if got := folder(t, dir); got != all1 {
		t.Errorf("the folder has %s", got)
	}
	if _, err := store(t.Context(), filepath.Join(dir, "missing"), "missing", all()); err == nil {
		t.Error("a missing folder is no error")
	}
	if saved, err := store(t.Context(), dir, dir, nil); err != nil || saved == nil {
		t.Errorf("nothing to save: %v, error %v", saved, err)
	}
}

// folder describes what is in a folder.
func folder(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Name()+"="+string(data))
	}
	return strings.Join(all, " ")
}

// FuzzFileName holds that every name is that of a file in the folder.
func FuzzFileName(f *testing.F) {
	for _, uri := range []string{"", "file:///a/b.txt", "memo://..", "urn:x:con", "a/%2e%2e%2f%00", `\\host\share\x`, "x." + strings.Repeat("y", 300)} {
		f.Add(uri, "image/png")
		f.Add(uri, "text/plain")
	}
	f.Fuzz(func(t *testing.T, uri, media string) {
		name := fileName("resource", uri, media)
		if !filepath.IsLocal(name) || filepath.Base(name) != name || strings.ContainsAny(name, "/\\:\x00\n") {
			t.Errorf("%q is not the name of a file", name)
		}
		if len(name) > maxStem+2*maxExtension || !utf8.ValidString(name) || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") {
			t.Errorf("%q is no good name", name)
		}
	})
}
