package interop

import (
	"strings"
	"testing"
)

// TestComplete asks the reference server for values from the shell.
func TestComplete(t *testing.T) {
	config, _ := referenceServers(t, needPeers(t))
	for _, tt := range []struct{ args, want string }{
		{"everything.completable-prompt department=E", "Engineering\n"},
		{"everything.completable-prompt name= department=Sales", "David\nEve\nFrank\n"},
		{"-s everything demo://resource/dynamic/text/{resourceId} resourceId=7", "7\n"},
		{"-s everything demo://resource/dynamic/text/{resourceId} resourceId=x", ""},
	} {
		if got := mcpctl(t, append([]string{"complete", "--config", config}, strings.Fields(tt.args)...)...); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.args, got, tt.want)
		}
	}
	// What Tab shows of it, from the server and then from the cache.
	if got := mcpctl(t, "__complete", "--config", config, "prompt", "everything.compl"); !strings.HasPrefix(got, "everything.completable-prompt\t") {
		t.Errorf("got %q", got)
	}
}
