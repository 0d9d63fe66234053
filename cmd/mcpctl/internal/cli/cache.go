package cli

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/schemacache"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// remember keeps what a server publishes for completion. It does so beside the
// work of the command, which does not wait for it before its end; a failure is
// worth a line in the log and no more.
func (app *App) remember(server string, u schemacache.Update) {
	key := app.cacheKey(app.opened[server])
	if key == "" || app.CacheDir == "" {
		return
	}
	app.background.Go(func() {
		if err := app.cache().Save(context.Background(), key, u); err != nil {
			app.Log.Debug("the cache for completion could not be written", "server", server, "err", err)
		}
	})
}

func (app *App) cache() schemacache.Store { return schemacache.Store{Dir: app.CacheDir} }

// cacheKey returns what a server is known by in the cache, or "" for one that
// is not kept: a command that was given on the command line, for instance.
func (app *App) cacheKey(spec client.Spec) string {
	key := ""
	for _, cfg := range app.configs {
		id := cfg.Identity(spec.Name)
		switch {
		case id == nil:
		case key != "":
			return "" // there are two of this name
		default:
			key = schemacache.Key(id...)
		}
	}
	if key == "" && spec.HTTP != nil {
		return urlKey(spec.HTTP.URL)
	}
	return key
}

// owners names the servers that were seen to have a tool, a prompt or a resource
// of a name. None is asked.
func (app *App) owners(cfg *config.Config, name string) []string {
	var all []string
	for _, server := range cfg.Enabled() {
		id := cfg.Identity(server)
		if id == nil {
			continue
		}
		known := app.cache().Load(schemacache.Key(id...))
		if slices.ContainsFunc(known.Tools(), func(t catalog.Tool) bool { return t.Name == name }) ||
			slices.ContainsFunc(promptsOf(known), func(p mcp.Prompt) bool { return p.Name == name }) ||
			slices.ContainsFunc(resourcesOf(known), func(r mcp.Resource) bool { return r.URI == name }) {
			all = append(all, server)
		}
	}
	return all
}

// urlKey is for a server whose URL is given on the command line.
func urlKey(raw string) string {
	if u, err := url.Parse(raw); err != nil || u.User != nil {
		return ""
	}
	return schemacache.Key("url", raw)
}

// raws returns what a server sent for each item of a list. It is not nil, as a
// list without items is known too.
func raws[T any](items []T, raw func(T) json.RawMessage) []json.RawMessage {
	all := make([]json.RawMessage, len(items))
	for i, item := range items {
		all[i] = raw(item)
	}
	return all
}

func rawPrompts(items []client.Prompt) []json.RawMessage {
	return raws(items, func(p client.Prompt) json.RawMessage { return p.Raw })
}

func rawResources(items []client.Resource) []json.RawMessage {
	return raws(items, func(r client.Resource) json.RawMessage { return r.Raw })
}

func rawTemplates(items []client.ResourceTemplate) []json.RawMessage {
	return raws(items, func(t client.ResourceTemplate) json.RawMessage { return t.Raw })
}

// learnt is what there is to remember of an offer of some kinds.
func learnt(o view.Offer, kinds []view.Kind) (u schemacache.Update) {
	for _, kind := range kinds {
		switch kind {
		case view.Tools:
			u.Server = &o.Server
		case view.Resources:
			u.Resources = rawResources(o.Resources)
		case view.Templates:
			u.Templates = rawTemplates(o.Templates)
		case view.Prompts:
			u.Prompts = rawPrompts(o.Prompts)
		}
	}
	return u
}
