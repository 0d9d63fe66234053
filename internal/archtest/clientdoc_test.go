package archtest

import (
	"regexp"
	"strings"
	"testing"
)

// docs/client.md says which test holds a promise; that test must exist.
func TestClientPageNamesTests(t *testing.T) {
	var all strings.Builder
	for name := range sources(t, "pkg", "internal") {
		if strings.HasSuffix(name, "_test.go") {
			all.WriteString(read(t, name))
		}
	}
	found := regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`").FindAllStringSubmatch(read(t, "docs/client.md"), -1)
	if len(found) == 0 {
		t.Fatal("the page names no tests")
	}
	for _, m := range found {
		if !strings.Contains(all.String(), "func "+m[1]+"(t *testing.T)") {
			t.Errorf("docs/client.md names %s, and there is no such test", m[1])
		}
	}
}
