package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/mcpctl/mcpctl/pkg/typegen"
)

// job is one configuration or target, and where its code goes: to a file, to a
// folder, or if both are empty to standard output.
type job struct {
	source          string // what messages call it
	config          *config.Config
	specs           []client.Spec
	catalog         catalog.Catalog
	filter          config.ToolFilter
	outFile, outDir string
	options         typegen.Options
}

// plan says what is to be done: a job for each configuration, or one for the
// target on the command line.
func (o *generateOptions) plan(ctx context.Context, app *App) ([]*job, error) {
	if o.adhoc() || o.from != "" && len(o.configs) == 0 {
		j := &job{source: "the command line", outFile: app.absolute(o.output)}
		j.options = o.typegenOptions(&config.Typegen{})
		j.options.Package = cmp.Or(o.pkg, packageFor(j.outFile, app.Dir))
		var err error
		if o.from != "" {
			j.catalog, err = await(ctx, func() (catalog.Catalog, error) { return o.readCatalog(app) })
			return []*job{j}, cmp.Or(err, present(j.catalog, o.from))
		}
		if j.specs, err = o.specs(ctx, app); err == nil && o.name != "" {
			j.specs[0].Name = o.name
		}
		return []*job{j}, err
	}
	configs, err := o.loadConfigs(ctx, app)
	if err != nil {
		return nil, err
	}
	var jobs []*job
	for _, cfg := range configs {
		j, err := o.configured(ctx, app, cfg)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// loadConfigs loads each configuration once, however often and through
// whatever links it is named.
func (o *generateOptions) loadConfigs(ctx context.Context, app *App) ([]*config.Config, error) {
	names := o.configs
	if len(names) == 0 {
		names = []string{""}
	}
	var configs []*config.Config
	var seen []os.FileInfo
	for _, name := range names {
		cfg, err := app.loadConfig(ctx, name)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(cfg.File.Path)
		if err != nil {
			return nil, fileError(cfg.File.Name, err)
		}
		if !slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
			seen = append(seen, info)
			configs = append(configs, cfg)
		}
	}
	return configs, nil
}

// configured is the job of a configuration.
func (o *generateOptions) configured(ctx context.Context, app *App, cfg *config.Config) (*job, error) {
	section, err := cfg.Typegen()
	if err != nil {
		return nil, err
	}
	if section == nil {
		section = &config.Typegen{}
	}
	j := &job{source: cfg.File.Name, config: cfg, filter: section.Tools, outFile: section.OutFile, outDir: section.OutDir}
	if o.output != "" {
		j.outFile, j.outDir = app.absolute(o.output), ""
	}
	if j.outFile == "" && j.outDir == "" {
		return nil, &config.Error{
			File: cfg.File.Name, Problem: "says nothing about what to generate",
			Hint: `add "typegen": {"outFile": "mcp.go"}, or name a file with -o`,
		}
	}
	j.options = o.typegenOptions(section)
	j.options.Prefix = j.outFile != ""
	j.options.PackagePerServer = j.outDir != ""
	if j.outFile != "" {
		j.options.Package = cmp.Or(o.pkg, section.Package, packageFor(j.outFile, app.Dir))
	} else if o.pkg != "" {
		return nil, usagef("--package does not go with outDir: each server has a package of its own")
	}
	if o.from == "" {
		specs, err := cfg.Specs()
		if err != nil {
			return nil, err
		}
		if len(specs) == 0 {
			return nil, noServers(cfg)
		}
		j.specs = o.override(specs)
		return j, nil
	}
	all, err := await(ctx, func() (catalog.Catalog, error) { return o.readCatalog(app) })
	if err != nil {
		return nil, err
	}
	j.catalog, err = pick(all, cfg, o.from)
	return j, err
}

// pick takes the servers of a configuration from a catalogue, so that the
// result is that of a live run.
func pick(all catalog.Catalog, cfg *config.Config, from string) (catalog.Catalog, error) {
	var servers []catalog.Server
	for _, name := range cfg.Enabled() {
		i := slices.IndexFunc(all.Servers, func(s catalog.Server) bool { return s.Name == name })
		if i < 0 {
			return catalog.Catalog{}, &config.Error{File: cfg.File.Name, Server: name, Problem: "is not in the catalogue " + from}
		}
		servers = append(servers, all.Servers[i])
	}
	if len(servers) == 0 {
		return catalog.Catalog{}, noServers(cfg)
	}
	c := catalog.New(servers...)
	return c, present(c, from)
}

// typegenOptions are the options of a configuration with the flags on top.
func (o *generateOptions) typegenOptions(section *config.Typegen) typegen.Options {
	numbers := cmp.Or(o.numbers, section.Numbers)
	if numbers == "float64" {
		numbers = string(typegen.NumbersNative)
	}
	options := typegen.Options{
		Extras:     typegen.Extras(cmp.Or(o.extras, section.Extras)),
		Numbers:    typegen.Numbers(numbers),
		Formats:    typegen.Formats(cmp.Or(o.formats, section.Formats)),
		Widen:      o.widen || section.Widen != nil && *section.Widen,
		NoValidate: section.Validate != nil && !*section.Validate,
	}
	if o.validate != "" {
		options.NoValidate = o.validate == "off"
	}
	return options
}

// readCatalog reads what --from names.
func (o *generateOptions) readCatalog(app *App) (catalog.Catalog, error) {
	var in io.Reader = app.In
	if o.from != "-" {
		f, err := os.Open(app.absolute(o.from))
		if err != nil {
			return catalog.Catalog{}, &config.Error{File: o.from, Problem: fileError("cannot be read", err).Error()}
		}
		defer f.Close()
		in = f
	}
	c, err := catalog.Read(in, o.name)
	if err != nil {
		return c, &config.Error{File: o.from, Problem: err.Error(), Err: err}
	}
	if len(c.Servers) == 0 {
		return c, &config.Error{File: o.from, Problem: "the catalogue has no servers"}
	}
	return c, nil
}

func (app *App) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(app.Dir, path)
}

// packageFor says which package a new file belongs to: that of the files beside
// it, else one named after the folder.
func packageFor(file, dir string) string {
	if file != "" {
		dir = filepath.Dir(file)
	}
	sources, _ := filepath.Glob(filepath.Join(dir, "*.go")) // a strange name finds none
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") || !isRegular(source) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.PackageClauseOnly)
		if err == nil && f.Name.Name != "documentation" {
			return f.Name.Name
		}
	}
	return packageName(filepath.Base(dir))
}

// isRegular reports whether a path leads to a file that can be read without
// waiting for anybody.
func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// packageName makes a package name of the name of a folder.
func packageName(folder string) string {
	name := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return -1
	}, folder)
	name = strings.TrimLeft(name, "0123456789")
	if name == "" || token.IsKeyword(name) {
		return "mcptools"
	}
	return name
}

// checkFlag checks a flag that takes one of some words, or nothing.
func checkFlag(name, value string, allowed ...string) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return usagef("%s must be %s, not %q", name, strings.Join(allowed, " or "), value)
}

// checkTargets finds outputs that may not be written before any server is
// asked.
func (g *generation) checkTargets(jobs []*job) error {
	inputs := []string{}
	for _, j := range jobs {
		if j.config != nil {
			inputs = append(inputs, j.config.File.Path)
		}
	}
	if g.options.from != "" && g.options.from != "-" {
		inputs = append(inputs, g.app.absolute(g.options.from))
	}
	outputs := make(map[string]string)
	add := func(path, source string, generated bool) error {
		if path == "" {
			return nil
		}
		if isInput(path, inputs) {
			return &config.Error{File: source, Problem: fmt.Sprintf("the output %s is one of the inputs", g.app.relative(path))}
		}
		real := resolve(path)
		if other, ok := outputs[real]; ok {
			problem := fmt.Sprintf("the output %s is that of %s too", g.app.relative(path), other)
			return &config.Error{File: source, Problem: problem, Hint: "give each its own"}
		}
		for other := range outputs {
			if within(real, other) || within(other, real) {
				problem := fmt.Sprintf("the output %s and another one, %s, lie one in the other", g.app.relative(path), g.app.relative(other))
				return &config.Error{File: source, Problem: problem, Hint: "give each a place of its own"}
			}
		}
		outputs[real] = source
		if generated {
			return g.checkTarget(path)
		}
		return nil
	}
	for _, j := range jobs {
		if err := cmp.Or(add(j.outFile, j.source, true), add(j.outDir, j.source, false)); err != nil {
			return err
		}
		if j.outFile == "" && j.outDir == "" && (g.options.check || g.options.diagnostics == "json") {
			return usagef("--check and --diagnostics json need a file: name one with -o")
		}
	}
	save := g.app.absolute(g.options.save)
	if err := add(save, "--save", false); err != nil {
		return err
	}
	return g.app.checkCatalog(save, g.options.force)
}

// within reports whether a path lies below another one.
func within(path, folder string) bool {
	return strings.HasPrefix(path, folder+string(filepath.Separator))
}

// checkCatalog finds out whether a catalogue may be saved to a path: where
// nothing is yet, or over a regular file that holds a catalogue. With force any
// regular file may be replaced.
func (app *App) checkCatalog(path string, force bool) error {
	if path == "" {
		return nil
	}
	// Generated code has the same rules but for what may be replaced.
	if err := typegen.CheckTarget(path, true); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil || force {
		return nil // it is not there yet, or nobody minds
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	if _, err := catalog.Read(f, ""); err != nil {
		return hinted{&typegen.TargetError{Path: app.relative(path), Reason: "holds no catalogue and is left as it is"}, "name another file, or remove this one"}
	}
	return nil
}

func (g *generation) checkTarget(path string) error {
	err := typegen.CheckTarget(path, g.options.force)
	if e, ok := errors.AsType[*typegen.TargetError](err); ok {
		e.Path = g.app.relative(e.Path)
		if strings.Contains(e.Reason, "not generated") {
			return hinted{e, "--force replaces it"}
		}
	}
	return err
}

// isInput reports whether a path leads to one of some files.
func isInput(path string, inputs []string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(inputs, func(input string) bool {
		other, err := os.Stat(input)
		return err == nil && os.SameFile(info, other)
	})
}

// resolve follows the links of the part of a path that exists.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}
