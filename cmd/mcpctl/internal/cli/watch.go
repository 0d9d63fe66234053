package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/spf13/cobra"
)

type watchOptions struct {
	target
	outputFlags
	resources []string
}

const watchLong = `Prints a line of JSON whenever a list of a server has changed, of its tools,
resources or prompts, and with --resource whenever that resource has, until it
is interrupted. A connection that breaks is made anew.

A server that is a command is started for the watch alone: it tells about what
happens in that process, and not about what another one of it changes.

What a server does not tell about is left out; where there is nothing that it
tells about, that is an error. Standard error says what is watched.`

const watchExample = `  # All configured servers
  mcpctl watch

  # A resource of one of them
  mcpctl watch logs --resource file:///var/log/app.log

  # List the tools again whenever they change
  mcpctl watch weather --jq 'select(.kind == "tools") | .server' | while read -r s; do mcpctl list "$s"; done`

func newWatchCmd(app *App) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:        "watch [server|URL...] [flags] [-- command args...]",
		Short:      "Say when lists and resources of servers change",
		SuggestFor: []string{"subscribe", "tail"},
		Long:       watchLong,
		Example:    watchExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.servers = append(o.servers, o.split(cmd, args)...)
			return runWatch(cmd.Context(), app, o)
		},
	}
	o.target.addFlags(cmd)
	o.outputFlags.addFlags(cmd, "json", "text")
	cmd.Flags().StringArrayVar(&o.resources, "resource", nil, "`URI` of a resource to watch too (repeatable)")
	return cmd
}

func runWatch(ctx context.Context, app *App, o watchOptions) error {
	if err := o.outputFlags.check(); err != nil {
		return err
	}
	specs, err := o.specs(ctx, app)
	if err != nil {
		return err
	}
	if len(o.resources) > 0 && len(specs) > 1 {
		// A URI says nothing about servers.
		return usagef("several servers are watched; -s says which one --resource is of")
	}
	w := &watcher{app: app, options: o, changes: make(chan view.Change)}
	c, err := app.open(ctx, specs, client.Options{Handlers: client.Handlers{
		Error: func(_ context.Context, err error) { w.complain(err) },
	}})
	if err != nil {
		return err
	}
	err = w.watch(ctx, c)
	return errors.Join(err, c.Close(context.WithoutCancel(ctx)))
}

// watcher prints what servers tell, a line at a time.
type watcher struct {
	app     *App
	options watchOptions
	changes chan view.Change
	// watching says that a server tells.
	watching atomic.Bool
	mu       sync.Mutex // of standard error
}

// complain prints a failure that ends nothing: the client tries again.
func (w *watcher) complain(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.app.printError(err, w.options.output == "json")
}

func (w *watcher) watch(ctx context.Context, c *client.Client) error {
	// Handlers that wait for a reader end with it.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	started := make(chan error, 1)
	go func() { started <- w.start(ctx, c) }()
	gone := readerGone(w.app.Out.Writer)
	for {
		select {
		case err := <-gone:
			return err
		case err := <-started:
			if err != nil {
				return err
			}
		case change := <-w.changes:
			err := printed(ctx, func() error { return w.print(ctx, change) })
			if err != nil && ctx.Err() == nil {
				return err
			}
		case <-ctx.Done():
			if w.watching.Load() {
				return nil // as it was told
			}
			return context.Cause(ctx)
		}
	}
}

// start has all servers tell, and fails if none does.
func (w *watcher) start(ctx context.Context, c *client.Client) error {
	answers := client.Collect(ctx, c, 0, func(ctx context.Context, s *client.Server) (struct{}, error) {
		return struct{}{}, w.follow(ctx, s)
	})
	if ctx.Err() != nil {
		return nil
	}
	var results []client.ServerResult
	for _, a := range answers {
		results = append(results, client.ServerResult{Name: a.Server, Err: a.Err})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.app.report(results, w.options.output == "json")
	if slices.ContainsFunc(results, func(r client.ServerResult) bool { return r.Err == nil }) {
		return nil
	}
	return err
}

// follow has a server tell about what there is to tell.
func (w *watcher) follow(ctx context.Context, s *client.Server) error {
	s.OnUpdated(func(life context.Context, uri string) {
		w.tell(ctx, life, view.Change{Server: s.Name(), Kind: "resource", URI: uri})
	})
	var watched []string
	var unable error
	for _, kind := range []client.Kind{client.KindTools, client.KindResources, client.KindPrompts} {
		_, err := s.OnListChanged(ctx, kind, func(life context.Context) {
			w.tell(ctx, life, view.Change{Server: s.Name(), Kind: string(kind)})
		})
		switch {
		case err == nil:
			watched = append(watched, string(kind))
		case errors.Is(err, client.ErrNotSupported):
			unable = err
		default:
			return err
		}
	}
	for _, uri := range w.options.resources {
		if err := s.Subscribe(ctx, uri); err != nil {
			return err
		}
		watched = append(watched, uri)
	}
	if len(watched) == 0 {
		return unable
	}
	w.watching.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.app.Err, "watching %s: %s\n", ui.Clean(s.Name()), ui.Clean(strings.Join(watched, ", ")))
	return nil
}

// tell passes on a change, unless it is too late for that.
func (w *watcher) tell(ctx, life context.Context, change view.Change) {
	w.watching.Store(true)
	change.Time = time.Now().Round(time.Millisecond)
	select {
	case w.changes <- change:
	case <-ctx.Done():
	case <-life.Done():
	}
}

// print writes a change in one piece, so that its reader has it at once.
func (w *watcher) print(ctx context.Context, change view.Change) error {
	o := &w.options
	switch {
	case o.query != nil:
		return o.filter(ctx, w.app, change)
	case o.text():
		what := change.URI
		if what == "" {
			what = "its " + change.Kind
		}
		at := w.app.Out.Faint(change.Time.Format(time.TimeOnly))
		_, err := fmt.Fprintf(w.app.Out, "%s  %s  %s changed\n", at, w.app.Out.Bold(ui.Clean(change.Server)), ui.Clean(what))
		return err
	}
	var line bytes.Buffer
	if err := view.WriteJSONLine(&line, change); err != nil {
		return err
	}
	text := line.Bytes()
	if w.app.Out.Terminal {
		text = ui.CleanJSON(text)
	}
	_, err := w.app.Out.Write(text)
	return err
}
