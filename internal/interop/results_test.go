package interop

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestResults shows and saves what the tools of server-everything return.
func TestResults(t *testing.T) {
	config := filepath.Join(t.TempDir(), "mcp.json")
	servers := fmt.Sprintf(`{"mcpServers": {"everything": {"url": %q}}}`, needPeers(t).everything(t, "streamableHttp")+"/mcp")
	if err := os.WriteFile(config, []byte(servers), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	const image = `\[image image/png, [0-9.]+ kB; `
	const data = `demo://resource/dynamic/`
	tests := []struct {
		command string
		want    string // a regular expression for the whole output
	}{
		{"call everything.get-tiny-image", `Here's .*\n` + image + `--save DIR would keep it\]\nThe image .*\n`},
		{"call everything.get-tiny-image --save DIR", `Here's .*\n` + image + `saved as DIR/image\.png\]\nThe image .*\n`},
		{"call everything.get-annotated-message messageType=error includeImage=true --save DIR", `Error: Operation failed\n` + image + `saved as DIR/image-2\.png\]\n`},
		{"call everything.get-tiny-image --images kitty", `(?s)Here's .*\]\n\x1b_Gf=100,q=2,a=T(,m=1)?;[^\x1b]+\x1b\\.*\nThe image .*\n`},
		{"call everything.get-tiny-image --save DIR --jq .saved[].path", `DIR/image-3\.png\n`},
		{
			"call everything.get-resource-links count=2",
			`Here are 2 .*\n\[link Blob Resource 1\] mcpctl read --config .* -s everything ` + data + `blob/1\n\[link Text Resource 2\] mcpctl read .*` + data + `text/2\n`,
		},
		{"read -s everything " + data + "blob/1 --save DIR", `\[resource ` + data + `blob/1 text/plain, [0-9]+ bytes; saved as DIR/1\.txt\]\n`},
		{"call everything.get-resource-reference resourceType=Text resourceId=7", `Returning .*\n\[resource ` + data + `text/7 text/plain\]\nResource 7: .*\nYou can .*\n`},
		{"call everything.get-resource-reference resourceType=Blob resourceId=7 --save DIR", `Returning .*\n\[resource ` + data + `blob/7 text/plain, [0-9]+ bytes; saved as DIR/7\.txt\]\nYou can .*\n`},
		{"call everything.get-structured-content location=Chicago", `\{\n  "temperature": [0-9]+,\n  "conditions": ".*",\n  "humidity": [0-9]+\n\}\n`},
		{"call everything.get-structured-content location=Chicago -o structured --jq .humidity+0", `[0-9]+\n`},
		{"call everything.trigger-long-running-operation duration=0.01 steps=2", `Long running operation completed. .*\n`},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(tt.command, "DIR", folder))
			out := mcpctl(t, append(args, "--config", config)...)
			want := strings.ReplaceAll(tt.want, "DIR/", regexp.QuoteMeta(folder+string(filepath.Separator)))
			if !regexp.MustCompile(`^` + want + `$`).MatchString(out) {
				t.Errorf("%q does not match %s", out, want)
			}
		})
	}
	sent, err := base64.StdEncoding.DecodeString(strings.TrimSpace(mcpctl(t, "call", "everything.get-tiny-image", "--jq", ".content[1].data", "--config", config)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"image.png", "image-2.png", "image-3.png"} {
		if data, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !bytes.Equal(data, sent) {
			t.Errorf("%s has %d bytes instead of %d, error %v", name, len(data), len(sent), err)
		}
	}
	for name, want := range map[string]string{"1.txt": "Resource 1: This is a base64 blob", "7.txt": "Resource 7: This is a base64 blob"} {
		if data, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !strings.HasPrefix(string(data), want) {
			t.Errorf("%s is %q, error %v", name, data, err)
		}
	}
}
