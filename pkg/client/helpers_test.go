package client_test

import (
	"io"
	"log"
	"os"
	"slices"
	"testing"
)

func writeFile(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	if s == nil {
		s = []string{}
	}
	return s
}

// quiet keeps what test servers complain about out of the output.
var quiet = log.New(io.Discard, "", 0)
