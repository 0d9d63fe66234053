package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// besideCode is the catalogue that --check looks for beside generated code.
const besideCode = "catalogue.json"

// judge compares the catalogue that the present code was generated from, if it
// is at hand, with what a job would generate from now.
func (g *generation) judge(j *job) error {
	name, named := g.options.save, true
	if name == "" {
		named = false
		switch {
		case j.outDir != "":
			name = filepath.Join(j.outDir, besideCode)
		case j.outFile != "":
			name = filepath.Join(filepath.Dir(j.outFile), besideCode)
		default:
			return nil
		}
	}
	data, err := os.ReadFile(g.app.absolute(name))
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil
	}
	shown := g.app.relative(name)
	if err != nil {
		return &config.Error{File: shown, Problem: fileError("cannot be read", err).Error(), Err: err}
	}
	old, err := catalog.Read(bytes.NewReader(data), "")
	if err != nil {
		return &config.Error{File: shown, Problem: err.Error(), Err: err}
	}
	report := catalog.Diff(g.generated(old, j), j.catalog)
	if g.contract == nil {
		g.contract = new(catalog.Report)
	}
	g.contract.Add(report)
	return nil
}

// generated takes from an old catalogue what a job generates code for: its
// servers, and of them the tools that its filter lets through.
func (g *generation) generated(old catalog.Catalog, j *job) catalog.Catalog {
	if len(old.Servers) != 1 || len(j.catalog.Servers) != 1 {
		old.Servers = slices.DeleteFunc(old.Servers, func(s catalog.Server) bool {
			return !slices.ContainsFunc(j.catalog.Servers, func(o catalog.Server) bool { return o.Name == s.Name })
		})
	}
	for i := range old.Servers {
		s := &old.Servers[i]
		s.Tools = slices.DeleteFunc(s.Tools, func(t catalog.Tool) bool { return !j.filter.Match(s.Name, t.Name) })
	}
	return old
}

// present checks that all servers of a saved catalogue were discovered then.
func present(c catalog.Catalog, from string) error {
	for _, s := range c.Servers {
		if s.Missing != "" {
			return &config.Error{
				File: from, Server: s.Name, Problem: "is marked as missing in the catalogue (" + s.Missing + ")",
				Hint: "save the catalogue anew when the server answers",
			}
		}
	}
	return nil
}
