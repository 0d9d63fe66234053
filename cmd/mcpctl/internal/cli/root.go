package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/internal/atomicfile"
	"github.com/mcpctl/mcpctl/internal/redact"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Main runs the program on the process's own streams and returns its exit
// code.
func Main() int { return MainWith(atomicfile.Options{}) }

// MainWith is [Main] with options for writing files, for tests that stop the
// process while it writes.
func MainWith(files atomicfile.Options) (code int) {
	secrets := redact.New()
	stderr := secrets.Writer(os.Stderr)
	defer stderr.Flush()
	defer func() {
		// An uncaught panic would exit with 2, which means a usage error.
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "mcpctl: internal error: %v\n", p)
			code = exitLocal
		}
	}()
	// net/http tells the default logger what servers send out of turn.
	log.SetOutput(io.Discard)
	ignoreFileSizeSignal()
	catchPipeSignal()
	ctx, stop := withSignals(context.Background())
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(stderr, "mcpctl: %v\n", fileError("working directory", err))
		return exitLocal
	}
	app := &App{In: os.Stdin, Dir: dir, LookupEnv: os.LookupEnv, Files: files, secrets: secrets}
	app.Exe, _ = os.Executable()
	if user, err := os.UserConfigDir(); err == nil && filepath.IsAbs(user) {
		app.UserDir = filepath.Join(user, "mcpctl")
	}
	if user, err := os.UserCacheDir(); err == nil && filepath.IsAbs(user) {
		app.CacheDir = filepath.Join(user, "mcpctl")
	}
	return app.Run(ctx, os.Args[1:], os.Stdout, stderr)
}

// orderly is how long a process that was told to end may take to do so; the
// client needs less to end its servers.
const orderly = 6 * time.Second

// echo is how long after a signal another one counts as the same.
const echo = 300 * time.Millisecond

// withSignals ends the context with a [signalError] when the process is
// interrupted, terminated or hung up.
func withSignals(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		s, ok := <-c
		if !ok {
			return
		}
		e := signalError{s.(syscall.Signal)}
		cancel(e)
		// Ending in order takes a few seconds at most. Whoever asks again, or
		// waits longer than that, gets an end without order. Some parents pass
		// on a signal that the whole group has got; that is not asking again.
		asked := time.Now()
		late := time.After(orderly)
		for again := true; again; {
			select {
			case _, ok = <-c:
				again = ok && time.Since(asked) < echo
			case <-late:
				again = false
			}
		}
		if ok {
			os.Exit(exitCode(e))
		}
	}()
	return ctx, func() {
		signal.Stop(c)
		close(c)
		cancel(nil)
	}
}

// Run runs one command line and returns the exit code.
func (app *App) Run(ctx context.Context, args []string, stdout io.Writer, stderr io.Writer) int {
	app.line = args
	root, started := app.command(stdout, stderr)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	app.streams(stdout, stderr, ui.Auto)
	defer app.background.Wait()
	ctx, app.interrupt = context.WithCancelCause(ctx)
	defer app.interrupt(nil)
	ran, err := root.ExecuteContextC(ctx)
	if err == nil && app.helpErr != nil {
		err, *started = app.helpErr, true
	}
	if err == nil {
		return exitOK
	}
	// After a signal every failure is only how the work ended.
	if s, ok := errors.AsType[signalError](context.Cause(ctx)); ok {
		err = s
	} else if gone, ok := errors.AsType[goneError](err); ok {
		return exitCode(gone) // nobody listens
	}
	if !*started && !is[usageError](err) {
		err = usageError{err, usageHint(ran, args, err)}
	}
	if !is[printedError](err) && !is[quietError](err) {
		app.printError(err, wantsJSON(ran))
	}
	return exitCode(err)
}

// usageHint says what to do about a command line that cobra refused.
func usageHint(ran *cobra.Command, args []string, err error) string {
	hint := fmt.Sprintf("%q shows how it is used", ran.CommandPath()+" --help")
	var flags, commands []string
	ran.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	for _, c := range ran.Commands() {
		commands = append(commands, c.Name())
	}
	unknown, isFlag := strings.CutPrefix(err.Error(), "unknown flag: --")
	if near := config.Nearest(unknown, flags); isFlag && near != "" {
		return "did you mean --" + near + "?"
	}
	switch {
	case isFlag && (ran.Name() == "call" || ran.Name() == "prompt"):
		return "arguments are written name=value; " + hint
	case strings.Contains(err.Error(), "missing unit in duration"):
		return "a time has a unit, such as 5s or 2m"
	}
	if len(args) > 0 && strings.HasPrefix(err.Error(), "unknown command") {
		for _, c := range ran.Commands() {
			if slices.Contains(c.SuggestFor, args[0]) {
				return "did you mean mcpctl " + c.Name() + "?"
			}
		}
		if near := config.Nearest(args[0], commands); near != "" {
			return "did you mean mcpctl " + near + "?"
		}
	}
	return hint
}

// quietError decides the exit code and has nothing to say.
type quietError struct{ negativeError }

func (e quietError) Unwrap() error { return e.negativeError }

// wantsJSON reports whether a command was told to print JSON.
func wantsJSON(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("output")
	return f != nil && f.Value.String() == "json" || cmd.Flags().Changed("diagnostics")
}

// streams sets up the outputs.
func (app *App) streams(stdout, stderr io.Writer, color ui.When) {
	outFile, _ := stdout.(*os.File)
	var errFile *os.File
	if outFile == os.Stdout {
		errFile = os.Stderr // behind the redaction
	}
	app.Out = ui.NewStream(pipe{stdout}, outFile, color, app.LookupEnv)
	app.Err = ui.NewStream(stderr, errFile, color, app.LookupEnv)
	app.Log = slog.New(slog.DiscardHandler)
}

const rootLong = `mcpctl inspects MCP servers from a shell and generates typed Go code from what
they publish.

Servers come from mcp.json, the file that other MCP programs read too, or are
given on the command line: a URL, or a command behind --.`

const rootExample = `  # What do the configured servers offer?
  mcpctl list

  # Call a tool
  mcpctl call weather.get_forecast city=Berlin

  # Generate a typed Go client of one server
  mcpctl generate -o weather.go -- npx -y some-weather-server`

// Command returns the tree of commands, for what describes it.
func Command() *cobra.Command {
	root, _ := (&App{LookupEnv: os.LookupEnv}).command(io.Discard, io.Discard)
	return root
}

// command builds the tree of commands. Started tells whether a command began
// its work, so that what failed before is a mistake of usage.
func (app *App) command(stdout, stderr io.Writer) (root *cobra.Command, started *bool) {
	started = new(bool)
	root = &cobra.Command{
		Use:           "mcpctl",
		Short:         "Inspect MCP servers and generate typed Go code from them",
		Long:          rootLong,
		Example:       rootExample,
		Version:       fmt.Sprintf("%s (%s, %s/%s)", Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return app.applyFlags(stdout, stderr)
		},
	}
	root.SetVersionTemplate("mcpctl {{.Version}}\n")
	f := root.PersistentFlags()
	f.StringVar(&app.flags.config, "config", "", "configuration `file` instead of the one that is found")
	f.CountVarP(&app.flags.verbose, "verbose", "v", "say more: -v what is done, -vv every detail")
	f.StringVar(&app.flags.logFormat, "log-format", "text", "`format` of log lines: text or json")
	f.StringVar(&app.flags.color, "color", "auto", "`when` to use colour: auto, always or never")
	f.BoolVar(&app.flags.noInput, "no-input", false, "never ask a question")
	group := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, cmd := range commands {
			cmd.GroupID = id
		}
		root.AddCommand(commands...)
	}
	group("inspect", "Find out what servers offer:",
		newListCmd(app),
		newDescribeCmd(app),
		newSearchCmd(app),
		newWatchCmd(app),
	)
	group("use", "Use what they offer:",
		newCallCmd(app),
		newReadCmd(app),
		newPromptCmd(app),
		newCompleteCmd(app),
	)
	group("code", "Code and contracts:",
		newGenerateCmd(app),
		newDiffCmd(app),
		newSnapshotCmd(app),
	)
	group("setup", "Serve and set up:",
		newServeCmd(app),
		newConfigCmd(app),
		newCompletionCmd(app),
	)
	root.SetHelpCommandGroupID("setup")
	root.InitDefaultHelpCmd()
	app.addCompletions(root)
	noteStart(root, started)
	return root, started
}

// noteStart makes every command note that it began.
func noteStart(cmd *cobra.Command, started *bool) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*started = true
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		noteStart(sub, started)
	}
}

// applyFlags gives the global flags their effect.
func (app *App) applyFlags(stdout, stderr io.Writer) error {
	color := ui.When(app.flags.color)
	if color != ui.Auto && color != ui.Always && color != ui.Never {
		return usagef("--color must be auto, always or never, not %q", app.flags.color)
	}
	app.streams(stdout, stderr, color)
	_, ci := app.LookupEnv("CI")
	app.Interactive = isTerminal(app.In) && app.Err.Terminal && !ci && !app.flags.noInput
	level := slog.LevelWarn
	switch {
	case app.flags.verbose >= 2:
		level = slog.LevelDebug
	case app.flags.verbose == 1:
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	var left *atomic.Int64
	if app.flags.verbose == 0 {
		left = new(atomic.Int64)
		left.Store(mostLogs)
	}
	switch app.flags.logFormat {
	case "text":
		app.Log = slog.New(serverLogs{Handler: slog.NewTextHandler(app.Err, o), out: app.Err, left: left})
	case "json":
		app.Log = slog.New(serverLogs{Handler: slog.NewJSONHandler(app.Err, o), left: left})
	default:
		return usagef("--log-format must be text or json, not %q", app.flags.logFormat)
	}
	return nil
}
