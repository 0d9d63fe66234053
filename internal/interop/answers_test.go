package interop

import (
	"encoding/json"
	"strings"
	"testing"
)

// The form of server-everything has a field of each kind that the
// specification knows; flags answer it.
func TestEverythingIsAnswered(t *testing.T) {
	p := needPeers(t)
	out := mcpctl(
		t, "call", "trigger-elicitation-request", "-o", "json",
		"--answer", "name=Ada", "--answer", "check=true", "--answer", "email=ada@example.org", "--answer", "birthdate=1815-12-10",
		"--answer", "integer=7", "--answer", "untitledMultipleSelectEnum=Piano", "--answer", "untitledMultipleSelectEnum=Bass",
		"--answer", "titledSingleSelectEnum=hero-2", "--answers", `{"number":2.5}`,
		"--", p.node, p.script("everything"), "stdio",
	)
	var result struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || result.IsError || len(result.Content) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	_, raw, ok := strings.Cut(result.Content[len(result.Content)-1].Text, "Raw result: ")
	var answer struct {
		Action  string
		Content map[string]any
	}
	if err := json.Unmarshal([]byte(raw), &answer); !ok || err != nil || answer.Action != "accept" {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]any{
		"name": "Ada", "check": true, "birthdate": "1815-12-10", "integer": 7.0, "number": 2.5, "titledSingleSelectEnum": "hero-2",
		"firstLine": "It was a dark and stormy night.", // its default
	} {
		if answer.Content[name] != want {
			t.Errorf("%s is %v, want %v", name, answer.Content[name], want)
		}
	}
}

// A page that server-everything wants visited is turned down in a script; a
// server that thinks nobody can visit one would hide the tool.
func TestEverythingIsTurnedDown(t *testing.T) {
	p := needPeers(t)
	out := mcpctl(
		t, "call", "trigger-url-elicitation", "url=https://login.example/start", "--answers", "decline",
		"--", p.node, p.script("everything"), "stdio",
	)
	if !strings.Contains(out, `"action": "decline"`) {
		t.Errorf("the server was not told: %s", out)
	}
}
