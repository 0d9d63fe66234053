package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/internal/atomicfile"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/typegen"
	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/mod/modfile"
)

// generation is one run of the command: it gathers what the jobs produce, so
// that all of it can be checked before anything is written.
type generation struct {
	app         *App
	options     generateOptions
	outputs     []atomicfile.File
	folders     []string // folders of packages, for files of servers that are gone
	saved       []atomicfile.File
	stdout      []byte
	modules     []string
	diagnostics []typegen.Diagnostic
	contract    *catalog.Report // with --check, where a saved catalogue tells
}

// discover asks the servers of a job. Any failure fails the run.
func (g *generation) discover(ctx context.Context, j *job) error {
	if j.specs == nil {
		return nil
	}
	found, err := g.app.discover(ctx, j.specs)
	if err != nil {
		return err
	}
	if err := g.app.report(g.app.summarize(found.Results), g.options.diagnostics == "json"); err != nil {
		return err
	}
	j.catalog = found.Catalog()
	if g.options.save == "" || g.options.check {
		return nil
	}
	var b bytes.Buffer
	if err := j.catalog.Write(&b); err != nil {
		return err
	}
	g.saved = append(g.saved, atomicfile.File{Path: g.app.absolute(g.options.save), Data: b.Bytes()})
	return nil
}

// generate turns the catalogue of a job into code.
func (g *generation) generate(ctx context.Context, j *job) error {
	c := j.catalog
	for i := range c.Servers {
		s := &c.Servers[i]
		s.Tools = slices.DeleteFunc(slices.Clone(s.Tools), func(t catalog.Tool) bool { return !j.filter.Match(s.Name, t.Name) })
	}
	if g.options.check {
		if err := g.judge(j); err != nil {
			return err
		}
	}
	result, err := await(ctx, func() (typegen.Result, error) { return typegen.Generate(c, j.options) })
	if err != nil {
		if e, ok := errors.AsType[*typegen.Error](err); ok && !g.options.widen {
			return hinted{e, "--widen turns that place into raw JSON"}
		}
		return err
	}
	g.diagnostics = append(g.diagnostics, result.Diagnostics...)
	g.modules = append(g.modules, result.Modules...)
	switch {
	case j.outDir != "":
		g.folders = append(g.folders, j.outDir)
		for _, f := range result.Files {
			g.outputs = append(g.outputs, atomicfile.File{Path: filepath.Join(j.outDir, filepath.FromSlash(f.Name)), Data: f.Content})
		}
	case j.outFile != "":
		g.outputs = append(g.outputs, atomicfile.File{Path: j.outFile, Data: result.Files[0].Content})
	default:
		g.stdout = result.Files[0].Content
	}
	return nil
}

// sort brings everything into an order that depends on nothing but names.
func (g *generation) sort() {
	slices.SortFunc(g.outputs, func(a, b atomicfile.File) int { return cmp.Compare(a.Path, b.Path) })
	slices.Sort(g.modules)
	g.modules = slices.Compact(g.modules)
}

func (g *generation) warnings() []typegen.Diagnostic {
	return slices.DeleteFunc(slices.Clone(g.diagnostics), func(d typegen.Diagnostic) bool { return d.Severity != typegen.Warning })
}

// checkOutputs checks every file that will be written, now that all are known.
func (g *generation) checkOutputs() error {
	seen := make(map[string]bool)
	for _, f := range g.outputs {
		if err := g.checkTarget(f.Path); err != nil {
			return err
		}
		real := resolve(f.Path)
		if seen[real] {
			return &config.Error{Problem: fmt.Sprintf("two outputs are the file %s", g.app.relative(f.Path)), Hint: "give each its own"}
		}
		seen[real] = true
	}
	return nil
}

// stale lists the files of servers that are gone.
func (g *generation) stale(dryRun bool) ([]string, error) {
	keep := make(map[string]bool)
	for _, f := range g.outputs {
		keep[resolve(f.Path)] = true
	}
	var all []string
	for _, folder := range g.folders {
		removed, err := typegen.RemoveStale(resolve(folder), keep, dryRun)
		if err != nil {
			return all, err
		}
		all = append(all, removed...)
	}
	return all, nil
}

// compare prints what would change.
func (g *generation) compare() error {
	gone, err := g.stale(true)
	if err != nil {
		return err
	}
	var drift []view.GeneratedFile
	var diffs bytes.Buffer
	changed := 0
	note := func(path string, old, data []byte) {
		name := g.app.relative(path)
		if bytes.Equal(old, data) {
			drift = append(drift, view.GeneratedFile{Path: name, Status: "unchanged"})
			return
		}
		changed++
		drift = append(drift, view.GeneratedFile{Path: name, Status: "drifted"})
		diffs.Write(diff.Diff(filepath.ToSlash(name), old, filepath.ToSlash(name)+" (generated)", data))
	}
	for _, f := range g.outputs {
		old, err := os.ReadFile(f.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError(g.app.relative(f.Path), err)
		}
		note(f.Path, old, f.Data)
	}
	for _, path := range gone {
		old, err := os.ReadFile(path)
		if err != nil {
			return fileError(g.app.relative(path), err)
		}
		note(path, old, nil)
	}
	text := diffs.Bytes()
	if g.contract != nil && len(g.contract.Changes) > 0 {
		text = append([]byte(reportText(g.app.Out, *g.contract)+"\n"), text...)
	}
	if err := g.print(text, drift); err != nil {
		return err
	}
	if changed > 0 {
		err := negativeError{fmt.Sprintf("%s would change", plural(changed, "file"))}
		return hinted{err, "run the same command without --check"}
	}
	return nil
}

// write replaces the files and says what it did.
func (g *generation) write(ctx context.Context) error {
	files := slices.Concat(g.outputs, g.saved)
	written, err := atomicfile.Write(ctx, files, g.app.Files)
	if err != nil {
		return err
	}
	gone, err := g.stale(false)
	if err != nil {
		return err
	}
	var done []view.GeneratedFile
	for _, f := range files {
		status := "unchanged"
		if slices.Contains(written, f.Path) {
			status = "wrote"
		}
		done = append(done, view.GeneratedFile{Path: g.app.relative(f.Path), Status: status})
	}
	for _, path := range gone {
		done = append(done, view.GeneratedFile{Path: g.app.relative(path), Status: "removed"})
	}
	for _, f := range done {
		fmt.Fprintf(g.app.Err, "%s %s\n", f.Status, f.Path)
	}
	g.suggestModules()
	return g.print(g.stdout, done)
}

// print writes to standard output: the text, or with --diagnostics json one
// document.
func (g *generation) print(text []byte, files []view.GeneratedFile) error {
	if g.options.diagnostics != "json" {
		_, err := g.app.Out.Write(text)
		return err
	}
	out := view.Generated{Files: files, Diagnostics: g.diagnostics}
	if g.contract != nil {
		out.Contract = new(view.NewDiff(*g.contract))
	}
	return view.WriteJSON(g.app.Out, out)
}

// suggestModules tells what the module of an output lacks.
func (g *generation) suggestModules() {
	for _, f := range g.outputs {
		missing, ok := missingModules(filepath.Dir(f.Path), g.modules)
		if !ok {
			fmt.Fprintf(g.app.Err, "%s %s is in no Go module; begin one with go mod init, then go get %s\n",
				g.app.Err.Faint("hint:"), g.app.relative(f.Path), strings.Join(pinned(g.modules), " "))
			return
		}
		if len(missing) > 0 {
			fmt.Fprintf(g.app.Err, "%s the code needs: go get %s\n", g.app.Err.Faint("hint:"), strings.Join(pinned(missing), " "))
			return
		}
	}
}

// missingModules returns which of some modules the one around a folder does not
// require, and whether there is one.
func missingModules(dir string, needed []string) (missing []string, ok bool) {
	for {
		path := filepath.Join(dir, "go.mod")
		if isRegular(path) {
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, true // likewise
			}
			f, err := modfile.ParseLax("go.mod", data, nil)
			if err != nil || f.Module == nil {
				return nil, true // for the go command to complain about
			}
			have := []string{f.Module.Mod.Path}
			for _, r := range f.Require {
				have = append(have, r.Mod.Path)
			}
			for _, m := range needed {
				if !slices.Contains(have, m) {
					missing = append(missing, m)
				}
			}
			return missing, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, false
		}
		dir = parent
	}
}

// pinned gives modules the versions that this program was built with.
func pinned(modules []string) []string {
	versions := make(map[string]string)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			versions[m.Path] = m.Version
		}
	}
	var out []string
	for _, m := range modules {
		v := versions[m]
		if !strings.HasPrefix(v, "v") || strings.Contains(v, "+") {
			v = "latest"
		}
		out = append(out, m+"@"+v)
	}
	return out
}
