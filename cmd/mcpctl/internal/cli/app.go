// Package cli is the command line of mcpctl: its commands, flags, exit codes
// and messages. Each command is a file: an options struct, its flags, and one
// run function that knows nothing of cobra.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/schemacache"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/internal/atomicfile"
	"github.com/mcpctl/mcpctl/internal/redact"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
)

// version is set by the release build; other builds read it from the build
// information.
var version string

// Version returns the version of the program, such as "v0.3.0", or "devel".
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// App is what a command knows of the world. Tests make their own.
type App struct {
	In  io.Reader
	Out *ui.Stream
	Err *ui.Stream
	// Interactive says that a person is there to answer a question.
	Interactive bool
	// Log is for what -v shows.
	Log *slog.Logger
	// Dir is the working directory, UserDir the user's configuration folder
	// of mcpctl, Exe the path of this program.
	Dir, UserDir, Exe string
	// CacheDir is the user's folder for what can be learnt again.
	CacheDir  string
	LookupEnv func(string) (string, bool)
	// Files are the options of writing files; a test stops the process there.
	Files atomicfile.Options

	line  []string // the command line
	flags globalFlags
	// helpErr is how help failed that had to ask a server.
	helpErr error
	// configs are those that were loaded, opened the servers that a client was
	// opened for.
	configs []*config.Config
	opened  map[string]client.Spec
	// background is work that ends with the command, and that it does not
	// wait for before.
	background sync.WaitGroup
	// asking is held while a person is asked something.
	asking sync.Mutex
	// interrupt ends the context of the command as a signal does.
	interrupt context.CancelCauseFunc
	// secrets are kept out of everything that goes to standard error.
	secrets *redact.Redactor
}

type globalFlags struct {
	config    string
	verbose   int
	logFormat string
	color     string
	noInput   bool
}

// configOptions is what the configuration has to know.
func (app *App) configOptions() config.Options {
	return config.Options{Dir: app.Dir, UserDir: app.UserDir, Lookup: app.lookup}
}

// lookup returns a variable of the environment. MCPCTL is always there: it
// names this program, so that a configuration can start it as a server.
func (app *App) lookup(name string) (string, bool) {
	if name == "MCPCTL" {
		return app.Exe, app.Exe != ""
	}
	return app.LookupEnv(name)
}

// loadConfig finds, reads and accepts a configuration: the named one, else that
// of --config, else what there is.
func (app *App) loadConfig(ctx context.Context, named string) (*config.Config, error) {
	if named == "" {
		named = app.flags.config
	}
	file, err := config.Find(named, app.configOptions())
	if err != nil {
		return nil, err
	}
	app.Log.Info("using configuration", "file", file.Path, "because", string(file.Found))
	cfg, err := await(ctx, func() (*config.Config, error) { return config.Load(file, app.configOptions()) })
	if err != nil {
		return nil, err
	}
	app.configs = append(app.configs, cfg)
	for _, w := range cfg.Warnings {
		app.warn(w.Error(), w.Hint)
	}
	return cfg, app.trust(ctx, cfg)
}

// trustStore remembers what was accepted.
func (app *App) trustStore() config.TrustStore {
	if app.UserDir == "" {
		return config.TrustStore{} // a relative path would lead into the checkout
	}
	return config.TrustStore{Path: filepath.Join(app.UserDir, "trusted.json")}
}

// trust asks a person, where there is one, about a configuration that was found
// rather than named.
func (app *App) trust(ctx context.Context, cfg *config.Config) error {
	err := cfg.CheckTrust(app.trustStore())
	untrusted, ok := errors.AsType[*config.TrustError](err)
	if !ok || !app.Interactive {
		return err
	}
	fmt.Fprintf(app.Err, "%s was found here and has not been used before. It would:\n", untrusted.File)
	for _, reason := range untrusted.Reasons {
		fmt.Fprintf(app.Err, "  %s\n", ui.Clean(reason))
	}
	yes, askErr := app.confirm(ctx, "Use it from now on?")
	if askErr != nil {
		return askErr
	}
	if !yes {
		return err
	}
	return app.trustStore().Trust(ctx, cfg)
}

// confirm asks a question that is answered with yes or no; no is the default.
func (app *App) confirm(ctx context.Context, question string) (bool, error) {
	app.asking.Lock()
	defer app.asking.Unlock()
	defer app.Err.Pause()()
	fmt.Fprintf(app.Err, "%s [y/N] ", question)
	app.Err.Flush()
	line, err := await(ctx, func() (string, error) { return readLine(app.In), nil })
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes", err
}

// await runs what may block without heeding a context: a read from a terminal,
// the opening of a named pipe. When the context ends it is left behind.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// readLine reads a line byte by byte, so that nothing behind it is lost.
func readLine(r io.Reader) string {
	var line []byte
	b := make([]byte, 1)
	for len(line) < 1024 {
		if n, err := r.Read(b); n == 0 || err != nil {
			break
		}
		if b[0] == '\n' {
			break
		}
		line = append(line, b[0])
	}
	return string(line)
}

// warn prints a warning and what to do about it.
func (app *App) warn(message, hint string) {
	fmt.Fprintf(app.Err, "%s %s\n", app.Err.Yellow("warning:"), ui.Clean(message))
	if hint != "" {
		fmt.Fprintf(app.Err, "%s %s\n", app.Err.Faint("hint:"), ui.Clean(hint))
	}
}

// open returns a client that keeps to the house: its identity, its log, its
// environment, its secrets.
func (app *App) open(ctx context.Context, specs []client.Spec, opts client.Options) (*client.Client, error) {
	app.opened = make(map[string]client.Spec)
	for i := range specs {
		app.secrets.Add(specs[i].SecretValues()...)
		app.opened[specs[i].Name] = specs[i]
		if app.flags.verbose >= 2 {
			specs[i].LogLevel = "debug"
		}
	}
	var err error
	if opts.Transport, err = app.transport(); err != nil {
		return nil, err
	}
	// Everything says that it can be asked, forms and pages, also where nobody
	// is there to answer: servers hide tools from clients that cannot be asked,
	// and what they offer must not depend on which command looks, or where.
	if opts.Handlers.Input == nil {
		opts.Handlers.Input = unanswered
	}
	opts.Handlers.InputURL = true
	opts.Logger = app.Log
	opts.ClientInfo = client.Implementation{Name: "mcpctl", Version: Version()}
	opts.LookupEnv = app.LookupEnv
	return client.Open(ctx, specs, opts)
}

// discover asks all servers for their tools at once and disconnects. Failures
// of servers are in the results; the error is another one.
func (app *App) discover(ctx context.Context, specs []client.Spec) (client.Discovery, error) {
	waiting := newWaiting(specs)
	c, err := app.open(ctx, specs, client.Options{OnResult: waiting.remove})
	if err != nil {
		return client.Discovery{}, err
	}
	stop := app.Err.Progress(waiting.String)
	found := c.Discover(ctx)
	stop()
	for i, r := range found.Results {
		// Marks tools of one name, of which only one can be called.
		found.Results[i].Server = catalog.New(r.Server).Servers[0]
		if r.Err == nil {
			app.remember(r.Name, schemacache.Update{Server: new(found.Results[i].Server)})
		}
	}
	return found, c.Close(context.WithoutCancel(ctx))
}

// waiting knows which servers have not answered yet.
type waiting struct {
	mu    sync.Mutex
	names []string
}

func newWaiting(specs []client.Spec) *waiting {
	w := new(waiting)
	for _, s := range specs {
		w.names = append(w.names, s.Name)
	}
	return w
}

func (w *waiting) remove(r client.ServerResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = slices.DeleteFunc(w.names, func(name string) bool { return name == r.Name })
}

func (w *waiting) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.names) == 0 {
		return "disconnecting"
	}
	return "waiting for " + ui.Clean(strings.Join(w.names, ", "))
}

// report prints the failures of servers and returns the one that decides the
// exit code, marked as printed.
func (app *App) report(results []client.ServerResult, jsonOutput bool) error {
	var worst error
	for _, r := range results {
		if r.Err == nil {
			continue
		}
		// A server that was left because of a signal did not fail.
		if e, ok := errors.AsType[*client.ServerError](r.Err); !ok || e.Class != client.ClassCancelled {
			app.printError(r.Err, jsonOutput)
		}
		if worst == nil || precedes(exitCode(r.Err), exitCode(worst)) {
			worst = r.Err
		}
	}
	if worst == nil {
		return nil
	}
	return printedError{worst}
}

// reportBeside is [App.report] where the output may have failed too. What an
// expression could not make sense of may come from a server that failed.
func (app *App) reportBeside(outputErr error, results []client.ServerResult, jsonOutput bool) error {
	if is[goneError](outputErr) {
		return outputErr
	}
	err := app.report(results, jsonOutput)
	if err == nil {
		return outputErr
	}
	if outputErr != nil && !is[signalError](outputErr) { // which is told at the end
		app.printError(outputErr, jsonOutput)
	}
	return err
}

// printError prints one failure: what, and what to do.
func (app *App) printError(err error, jsonOutput bool) {
	e := describe(err)
	if jsonOutput {
		e.Message, e.Hint, e.Example = app.secrets.String(e.Message), app.secrets.String(e.Hint), app.secrets.String(e.Example)
		for i := range e.Questions {
			e.Questions[i] = e.Questions[i].Map(app.secrets.String)
		}
		_ = view.WriteJSONLine(app.Err, e)
		return
	}
	fmt.Fprintf(app.Err, "%s %s\n", app.Err.Red("mcpctl:"), ui.Clean(e.Message))
	if e.Hint != "" {
		fmt.Fprintf(app.Err, "%s %s\n", app.Err.Faint("hint:"), ui.Clean(e.Hint))
	}
	if e.Example != "" {
		fmt.Fprintf(app.Err, "%s %s\n", app.Err.Faint("example:"), ui.Clean(e.Example))
	}
	app.printQuestions(e.Questions)
	if s, ok := errors.AsType[*client.ServerError](err); ok && s.Stderr != "" && !is[summaryError](err) {
		for line := range strings.SplitSeq(strings.TrimRight(s.Stderr, "\n"), "\n") {
			fmt.Fprintf(app.Err, "  %s\n", app.Err.Faint(s.Server+"> "+ui.Clean(line)))
		}
	}
}

// checkOutput checks the value of an --output flag.
func checkOutput(output string, allowed ...string) error {
	if slices.Contains(allowed, output) {
		return nil
	}
	return usagef("--output must be %s, not %q", strings.Join(allowed, " or "), output)
}

// relative shortens a path for a message.
func (app *App) relative(path string) string {
	if rel, err := filepath.Rel(app.Dir, path); err == nil && !strings.HasPrefix(rel, ".."+string(os.PathSeparator)) && rel != ".." {
		return rel
	}
	return path
}
