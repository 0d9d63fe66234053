package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	v := &variables{folder: "/src/project", lookup: environment(
		"A", "1", "EMPTY", "", "HOME", "/home/ann", "ProgramFiles(x86)", `C:\Programs`, "RAW", "${A}",
	)}
	for in, want := range map[string]string{
		"":                           "",
		"plain":                      "plain",
		"${A}":                       "1",
		"a${A}b${A}c":                "a1b1c",
		"${env:A}":                   "1",
		"${env:ProgramFiles(x86)}":   `C:\Programs`,
		"${EMPTY}":                   "",
		"${EMPTY:-x}":                "x",
		"${A:-x}":                    "1",
		"${NO:-x y:-z}":              "x y:-z",
		"${NO:-}":                    "",
		"${NO:-two\nlines}":          "two\nlines",
		"${env:NO:-x}":               "x",
		"${RAW}":                     "${A}", // values are not expanded again
		"${workspaceFolder}/x":       "/src/project/x",
		"${workspaceFolderBasename}": "project",
		"${userHome}":                "/home/ann",
		// No variables.
		"$A $ $$ $5 $(x) }{": "$A $ $$ $5 $(x) }{",
		"${":                 "${",
		"${}":                "${}",
		"${A":                "${A",
		"${#x}":              "${#x}",
		"${1}":               "${1}",
		"${#${A}":            "${#1",
		"$${A}":              "$1",
	} {
		got, err := v.expand(in)
		if err != nil || got != want {
			t.Errorf("%q gives %q, %v, want %q", in, got, err, want)
		}
	}
	if _, err := (&variables{lookup: environment()}).expand("${userHome}"); err == nil {
		t.Error("there is a home folder without HOME")
	}
}

func TestEnvironmentNames(t *testing.T) {
	got := environmentNames("${A} ${workspaceFolder} ${env:B} $C ${D:-x} ${#${E} ${input:f}")
	if diff := cmp.Diff([]string{"A", "B", "D", "E"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExpandLinear would run for minutes if openings cost more than their
// length.
func TestExpandLinear(t *testing.T) {
	v := &variables{lookup: environment()}
	for _, s := range []string{
		strings.Repeat("${", maxSize/2),
		strings.Repeat("${", maxSize/2) + "}",
		strings.Repeat("${}", maxSize/3),
	} {
		if got, err := v.expand(s); err != nil || got != s {
			t.Errorf("%.10q… changed, or failed: %v", s, err)
		}
	}
}
