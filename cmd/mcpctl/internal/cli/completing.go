package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/schemacache"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// completionLimit is how long a shell waits for a server that is not in the
// cache, its end included.
const (
	completionLimit = 2 * time.Second
	completionClose = 200 * time.Millisecond
)

// completing is one question of a shell: what may this word become?
type completing struct {
	app  *App
	ctx  context.Context
	cmd  *cobra.Command
	args []string // before the word, without flags
	word string

	cfg    *config.Config
	loaded bool

	found     []cobra.Completion
	added     map[string]bool
	directive cobra.ShellCompDirective
}

// complete makes a function of cobra's out of one that adds to a question what
// the word may become. Nothing that goes wrong is shown, as it would be shown
// in the middle of what is being typed.
func (app *App) complete(f func(*completing)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		// Cobra parses the line with a -- of its own, so this cannot be asked.
		if slices.Contains(app.line, "--") {
			return nil, cobra.ShellCompDirectiveDefault // a command of its own
		}
		app.Err = ui.NewStream(io.Discard, nil, ui.Never, app.LookupEnv)
		app.Log = slog.New(slog.DiscardHandler)
		app.Interactive = false
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completionLimit)
		defer cancel()
		q := &completing{app: app, ctx: ctx, cmd: cmd, args: args, word: word, added: make(map[string]bool), directive: cobra.ShellCompDirectiveNoFileComp}
		f(q)
		return q.found, q.directive
	}
}

// add adds what the word may become, if it may, and what to say about it.
func (q *completing) add(candidate, about string) {
	if q.added[candidate] || !strings.HasPrefix(candidate, q.word) || !typeable(candidate) {
		return
	}
	q.added[candidate] = true
	about = firstSentence(q.app.Err, ui.Clean(about))
	q.found = append(q.found, cobra.CompletionWithDesc(candidate, about))
}

// typeable reports whether a text is offered: one that a shell can take for
// nothing else, whatever its script for completion does with it. What servers
// sent would else be a program in somebody's shell.
func typeable(text string) bool {
	return len(text) <= 500 && !strings.HasPrefix(text, "_activeHelp_") && !strings.ContainsFunc(text, func(r rune) bool {
		return strings.ContainsRune("\"'`$\\;|&<>()", r) || !unicode.IsPrint(r)
	})
}

// noSpace says that the word goes on behind what it becomes.
func (q *completing) noSpace() { q.directive |= cobra.ShellCompDirectiveNoSpace }

// inOrder keeps the order in which candidates were added.
func (q *completing) inOrder() { q.directive |= cobra.ShellCompDirectiveKeepOrder }

// config returns the configuration, nil if there is none that can be read.
func (q *completing) config() *config.Config {
	if q.loaded {
		return q.cfg
	}
	q.loaded = true
	file, err := config.Find(q.app.flags.config, q.app.configOptions())
	if err != nil {
		return nil
	}
	q.cfg, err = await(q.ctx, func() (*config.Config, error) { return config.Load(file, q.app.configOptions()) })
	if err != nil {
		q.cfg = nil
		return nil
	}
	q.app.configs = append(q.app.configs, q.cfg)
	return q.cfg
}

// source is a server whose names are wanted.
type source struct {
	name       string
	key        string // in the cache
	configured bool
}

func (q *completing) configured(name string) *source {
	cfg := q.config()
	if cfg == nil {
		return nil
	}
	id := cfg.Identity(name)
	if id == nil {
		return nil
	}
	return &source{name, schemacache.Key(id...), true}
}

// given returns the server that -s names.
func (q *completing) given() (s *source, ok bool) {
	servers, _ := q.cmd.Flags().GetStringArray("server")
	slices.Sort(servers)
	servers = slices.Compact(servers) // cobra has parsed the line twice
	switch {
	case len(servers) == 0:
		return nil, false
	case len(servers) > 1:
		return nil, true
	case config.IsURL(servers[0]):
		return &source{name: servers[0], key: urlKey(servers[0])}, true
	}
	return q.configured(servers[0]), true
}

// one returns the server that is meant, by the rule of [target.one], and ref
// without its name; nil if that is not known.
func (q *completing) one(ref string) (*source, string) {
	if s, ok := q.given(); ok {
		return s, ref
	}
	cfg := q.config()
	if cfg == nil {
		return nil, ref
	}
	server, rest := owner(cfg, ref)
	if enabled := cfg.Enabled(); server == "" && len(enabled) == 1 {
		server = enabled[0]
	}
	if server == "" {
		return nil, ref
	}
	return q.configured(server), rest
}

// owner returns the server that a reference begins with, the longest of them,
// and what is behind it.
func owner(cfg *config.Config, ref string) (server, rest string) {
	rest = ref
	for _, name := range cfg.Names() {
		if after, ok := strings.CutPrefix(ref, name+"."); ok && len(name) > len(server) {
			server, rest = name, after
		}
	}
	return server, rest
}

// entry returns what is known of a server. One that is not in the cache is
// asked, if its configuration was accepted.
func (q *completing) entry(s *source, list schemacache.List) schemacache.Entry {
	if s == nil || s.key == "" {
		return schemacache.Entry{}
	}
	cache := q.app.cache()
	known := cache.Load(s.key)
	if known.Has(list) || !s.configured || cache.Waiting(s.key) || q.cfg.CheckTrust(q.app.trustStore()) != nil {
		return known
	}
	u, err := q.ask(s.name)
	// What cannot be kept is a cache that stays empty, and no more.
	keep := context.WithoutCancel(q.ctx)
	if err != nil {
		_ = cache.Missed(keep, s.key)
		return known
	}
	_ = cache.Save(keep, s.key, u)
	return cache.Load(s.key)
}

// ask asks a server for all that it lists.
func (q *completing) ask(name string) (u schemacache.Update, err error) {
	specs, err := q.cfg.Specs(name)
	if err != nil {
		return u, err
	}
	c, err := q.app.open(q.ctx, specs, client.Options{})
	if err != nil {
		return u, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), completionClose)
		defer cancel()
		_ = c.Close(ctx)
	}()
	ctx, cancel := context.WithTimeout(q.ctx, completionLimit-2*completionClose)
	defer cancel()
	offer := askOffer(ctx, c.Server(name), view.Kinds)
	// A list that it refuses is as good as empty: asking again would not help.
	if offer.Err != nil && code(offer.Err) == 0 {
		return u, offer.Err
	}
	return learnt(offer, view.Kinds), nil
}

// named is a tool or a prompt.
type named struct{ name, about string }

// names adds the names of tools or prompts: as they are where one server is
// meant, else behind the name of their server and a dot.
func (q *completing) names(list schemacache.List, of func(schemacache.Entry) []named) {
	if s, ok := q.given(); ok {
		for _, n := range of(q.entry(s, list)) {
			q.add(n.name, n.about)
		}
		return
	}
	cfg := q.config()
	if cfg == nil {
		return
	}
	enabled := cfg.Enabled()
	open := 0
	for _, server := range cfg.Names() {
		s := q.configured(server)
		prefix := server + "."
		begun, _ := owner(cfg, q.word)
		meant := begun == server
		if !meant && !slices.Contains(enabled, server) {
			continue
		}
		only := len(enabled) == 1 && !meant
		known := q.app.cache().Load(s.key)
		if only || meant {
			known = q.entry(s, list)
		}
		for _, n := range of(known) {
			if only {
				q.add(n.name, n.about)
			} else if whose, _ := owner(cfg, prefix+n.name); whose == server {
				q.add(prefix+n.name, n.about)
			}
		}
		// Nobody wants all servers started for a list of names.
		if only && q.word != "" || !only && !meant && !known.Has(list) {
			before := len(q.found)
			q.add(prefix, "")
			open += len(q.found) - before
		}
	}
	if open > 0 && open == len(q.found) {
		q.noSpace()
	}
}

// tools adds the names of tools.
func (q *completing) tools() {
	q.names(schemacache.Tools, func(e schemacache.Entry) []named {
		var all []named
		for _, t := range e.Tools() {
			if t.Problem == "" {
				all = append(all, named{t.Name, cmp.Or(t.Description, t.Title)})
			}
		}
		return all
	})
}

// call completes mcpctl call: a tool, then its arguments.
func (q *completing) call() {
	if len(q.args) == 0 {
		q.tools()
		return
	}
	s, name := q.one(q.args[0])
	for _, t := range q.entry(s, schemacache.Tools).Tools() {
		if t.Name == name && t.Problem == "" {
			q.arguments(t)
		}
	}
}

// describe completes mcpctl describe: a tool, a prompt or a server.
func (q *completing) describe() {
	if len(q.args) > 0 {
		return
	}
	q.tools()
	q.prompts()
	if _, given := q.given(); !given {
		q.servers()
	}
}

// prompt completes mcpctl prompt: a prompt, then its arguments.
func (q *completing) prompt() {
	if len(q.args) == 0 {
		q.prompts()
		return
	}
	s, name := q.one(q.args[0])
	for _, p := range promptsOf(q.entry(s, schemacache.Prompts)) {
		if p.Name == name {
			q.promptArguments(p)
		}
	}
}

// prompts adds the names of prompts.
func (q *completing) prompts() {
	q.names(schemacache.Prompts, func(e schemacache.Entry) []named {
		var all []named
		for _, p := range promptsOf(e) {
			all = append(all, named{p.Name, cmp.Or(p.Description, p.Title)})
		}
		return all
	})
}

func promptsOf(e schemacache.Entry) []mcp.Prompt {
	return decoded[mcp.Prompt](e.Items(schemacache.Prompts))
}

func resourcesOf(e schemacache.Entry) []mcp.Resource {
	return decoded[mcp.Resource](e.Items(schemacache.Resources))
}

// complete completes mcpctl complete: a prompt or a template, then the names
// of its arguments.
func (q *completing) complete() {
	if len(q.args) > 0 && !isTemplate(q.args[0]) {
		q.prompt()
		return
	}
	s, _ := q.one("")
	templates := decoded[mcp.ResourceTemplate](q.entry(s, schemacache.Templates).Items(schemacache.Templates))
	if len(q.args) == 0 {
		q.prompt()
		for _, t := range templates {
			q.add(t.URITemplate, cmp.Or(t.Description, t.Title))
		}
		return
	}
	for _, t := range templates {
		if t.URITemplate == q.args[0] {
			q.noSpace()
			for _, name := range (client.ResourceTemplate{ResourceTemplate: &t}).Variables() {
				q.add(name+"=", "")
			}
		}
	}
}

// resource completes a URI: those that are listed, and where those of a
// template begin.
func (q *completing) resource() {
	if len(q.args) > 0 {
		return
	}
	s, _ := q.one("")
	e := q.entry(s, schemacache.Resources)
	begun := 0
	for _, t := range decoded[mcp.ResourceTemplate](e.Items(schemacache.Templates)) {
		if begin, _, ok := strings.Cut(t.URITemplate, "{"); ok && begin != "" {
			before := len(q.found)
			q.add(begin, cmp.Or(t.Description, t.Title))
			begun += len(q.found) - before
		}
	}
	for _, r := range resourcesOf(e) {
		q.add(r.URI, cmp.Or(r.Description, r.Title, r.Name))
	}
	if begun > 0 && begun == len(q.found) {
		q.noSpace()
	}
}

// watched completes --resource of mcpctl watch.
func (q *completing) watched() {
	ref := ""
	if len(q.args) == 1 {
		ref = q.args[0] + "."
	}
	s, _ := q.one(ref)
	for _, r := range resourcesOf(q.entry(s, schemacache.Resources)) {
		q.add(r.URI, cmp.Or(r.Description, r.Title, r.Name))
	}
}

func decoded[T any](items []json.RawMessage) []T {
	all := make([]T, 0, len(items))
	for _, item := range items {
		var v T
		if json.Unmarshal(item, &v) == nil {
			all = append(all, v)
		}
	}
	return all
}

// servers adds the names of configured servers.
func (q *completing) servers() {
	cfg := q.config()
	if cfg == nil {
		return
	}
	for _, name := range cfg.Names() {
		if !slices.Contains(q.args, name) {
			q.add(name, "")
		}
	}
}

// list completes mcpctl list: a kind, then servers.
func (q *completing) list() {
	if len(q.args) == 0 {
		for _, kind := range view.Kinds {
			q.add(string(kind), "")
		}
	}
	q.servers()
}

// completeFlag says which values a flag has.
func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	// It fails for a flag that is not there, and a test would miss the values.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder))
}
