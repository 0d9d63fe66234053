package interop

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpctl/mcpctl/internal/scripttest"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs scripts against the reference servers, which the
// configuration has as everything, files and memory. $NODE with $EVERYTHING or
// $FILESYSTEM starts one, and $EVERYTHING_URL is one over streamable HTTP. The
// files that a server may see are in $WORK/files.
func TestScripts(t *testing.T) {
	p := needPeers(t)
	program, err := bin.build()
	if err != nil {
		t.Fatal(err)
	}
	url := p.everything(t, "streamableHttp") + "/mcp"
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			config, err := p.configure(e.WorkDir, filepath.Join(e.WorkDir, "files"))
			if err != nil {
				return err
			}
			for name, value := range map[string]string{
				"PATH":           filepath.Dir(program) + string(os.PathListSeparator) + e.Getenv("PATH"),
				"MCPCTL_CONFIG":  config,
				"NODE":           p.node,
				"EVERYTHING":     p.script("everything"),
				"EVERYTHING_URL": url,
				"FILESYSTEM":     p.script("filesystem"),
			} {
				e.Setenv(name, value)
			}
			return scripttest.Home(e)
		},
		Cmds: scripttest.Commands(nil),
	})
}
