package client

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/content"
	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	stduritemplate "github.com/std-uritemplate/std-uritemplate/go/v2"
)

// Resource is a resource that a server lists.
type Resource struct {
	*mcp.Resource
	// Raw is the item of the list as the server sent it.
	Raw json.RawMessage
}

// ResourceTemplate is a template for the URIs of resources (RFC 6570).
type ResourceTemplate struct {
	*mcp.ResourceTemplate
	// Raw is the item of the list as the server sent it.
	Raw json.RawMessage
}

// Expand returns the URI for some values. A value is a string, a []string or
// a map[string]string, whose order is not kept; one that is missing leaves its
// expression out (RFC 6570, section 2.3).
func (t ResourceTemplate) Expand(values map[string]any) (string, error) {
	for name, value := range values {
		switch value.(type) {
		case string, []string, map[string]string:
		default:
			return "", fmt.Errorf("the value of %q is neither a string nor a list nor a map of strings", name)
		}
	}
	uri, err := stduritemplate.Expand(t.URITemplate, values)
	if err != nil {
		return "", fmt.Errorf("resource template %q is not one of RFC 6570", t.Name)
	}
	return uri, nil
}

// expression is an expression of a template (RFC 6570, section 2.2).
var expression = regexp.MustCompile(`\{[+#./;?&=,!@|]?([^{}]+)\}`)

// Variables returns the names of the variables of the template, in order.
func (t ResourceTemplate) Variables() []string {
	var names []string
	for _, e := range expression.FindAllStringSubmatch(t.URITemplate, -1) {
		for spec := range strings.SplitSeq(e[1], ",") {
			name, _, _ := strings.Cut(strings.TrimSuffix(spec, "*"), ":")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Prompt is a prompt that a server lists.
type Prompt struct {
	*mcp.Prompt
	// Raw is the item of the list as the server sent it.
	Raw json.RawMessage
}

// Resources returns what the server lists, in its order; nothing from a server
// without resources. The list may be one that the server called fresh.
func (s *Server) Resources(ctx context.Context) ([]Resource, error) {
	return listItems(ctx, s, resourceListing, func(item *mcp.Resource, raw json.RawMessage) Resource { return Resource{item, raw} })
}

// ResourceTemplates is like [Server.Resources] for templates.
func (s *Server) ResourceTemplates(ctx context.Context) ([]ResourceTemplate, error) {
	return listItems(ctx, s, templateListing, func(item *mcp.ResourceTemplate, raw json.RawMessage) ResourceTemplate {
		return ResourceTemplate{item, raw}
	})
}

// Prompts is like [Server.Resources] for prompts.
func (s *Server) Prompts(ctx context.Context) ([]Prompt, error) {
	return listItems(ctx, s, promptListing, func(item *mcp.Prompt, raw json.RawMessage) Prompt { return Prompt{item, raw} })
}

// listItems returns the decoded items of a list.
func listItems[T, R any](ctx context.Context, s *Server, l listing, wrap func(*T, json.RawMessage) R) ([]R, error) {
	var all []R
	err := s.read(ctx, l.method, func(ctx context.Context, sess *session, _ *operation) error {
		if !sess.publishes(l.kind) {
			return nil
		}
		items, err := sess.list(ctx, l)
		if err != nil {
			return err
		}
		all = make([]R, 0, len(items))
		var left leftOut
		for i, raw := range items {
			item := new(T)
			if json.Unmarshal(raw, item) != nil {
				left.add(i, "it does not have the shape of one")
				continue
			}
			all = append(all, wrap(item, raw))
		}
		left.warn(s.log, l)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// publishes reports whether the server says that it has things of a kind.
func (s *session) publishes(kind Kind) bool {
	switch kind {
	case KindTools:
		return s.capabilities.Tools != nil
	case KindResources:
		return s.capabilities.Resources != nil
	case KindPrompts:
		return s.capabilities.Prompts != nil
	}
	return false
}

// needs fails unless the server says that it has things of a kind.
func (s *session) needs(kind Kind) error {
	if !s.publishes(kind) {
		return &notSupportedError{"the server has no " + string(kind), s.revision}
	}
	return nil
}

// ReadResult is what a resource holds.
type ReadResult struct {
	*mcp.ReadResourceResult
	// Raw is the whole result as the server sent it.
	Raw json.RawMessage
}

const opRead = "resources/read"

// ReadResource reads a resource. It may be one that the server called fresh.
// Questions of the server go to [Handlers.Input].
func (s *Server) ReadResource(ctx context.Context, uri string) (*ReadResult, error) {
	raw, since := s.lists.getResource(uri)
	if raw == nil {
		err := s.read(ctx, opRead, func(ctx context.Context, sess *session, op *operation) error {
			if err := sess.needs(KindResources); err != nil {
				return err
			}
			received := time.Now()
			rounds := 0
			var err error
			raw, err = sess.rounds(ctx, op, opRead, uri, func(ctx context.Context, answers inputAnswers) (json.RawMessage, error) {
				rounds++
				return sess.exchange(ctx, wire.Request{Method: opRead, Name: uri}, requestMeta{}, uri, func(p *params) {
					p.set("uri", uri)
					answers.add(p)
				})
			})
			if err != nil || !sess.modern() || rounds > 1 {
				return err
			}
			parts := members(raw, "ttlMs", "cacheScope")
			if ttl := timeToLive(parts[0]); ttl > 0 && (text(parts[1]) == "public" || !s.perCall()) {
				s.lists.putResource(uri, raw, received.Add(ttl), since)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	result := new(mcp.ReadResourceResult)
	parts := members(raw, "contents", "_meta")
	if parts[0] == nil || json.Unmarshal(parts[0], &result.Contents) != nil || parts[1] != nil && json.Unmarshal(parts[1], &result.Meta) != nil {
		return nil, s.failure(ctx, opRead, protocolErrorf("the result does not have the shape of a resource"), nil)
	}
	return &ReadResult{result, raw}, nil
}

// PromptResult is a prompt with its arguments filled in.
type PromptResult struct {
	*mcp.GetPromptResult
	// Raw is the whole result as the server sent it.
	Raw json.RawMessage
}

const opPrompt = "prompts/get"

// GetPrompt asks for the messages of a prompt. Questions of the server go to
// [Handlers.Input].
func (s *Server) GetPrompt(ctx context.Context, name string, arguments map[string]string) (*PromptResult, error) {
	var raw json.RawMessage
	err := s.read(ctx, opPrompt, func(ctx context.Context, sess *session, op *operation) error {
		if err := sess.needs(KindPrompts); err != nil {
			return err
		}
		var err error
		raw, err = sess.rounds(ctx, op, opPrompt, name, func(ctx context.Context, answers inputAnswers) (json.RawMessage, error) {
			return sess.exchange(ctx, wire.Request{Method: opPrompt, Name: name}, requestMeta{}, name, func(p *params) {
				p.set("name", name)
				if len(arguments) > 0 {
					p.set("arguments", arguments)
				}
				answers.add(p)
			})
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	result, err := decodePrompt(raw)
	if err != nil {
		return nil, s.failure(ctx, opPrompt, err, nil)
	}
	return &PromptResult{result, raw}, nil
}

// decodePrompt reads a result of prompts/get. Content that is not understood
// is kept.
func decodePrompt(raw json.RawMessage) (*mcp.GetPromptResult, error) {
	var wired struct {
		Meta        mcp.Meta `json:"_meta"`
		Description string   `json:"description"`
		Messages    []struct {
			Role    mcp.Role        `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(raw, &wired) != nil {
		return nil, protocolErrorf("the result does not have the shape of a prompt")
	}
	result := &mcp.GetPromptResult{Meta: wired.Meta, Description: wired.Description}
	for _, m := range wired.Messages {
		list, err := content.Decode(append(append([]byte("["), m.Content...), ']'))
		if err != nil || len(list) != 1 {
			return nil, protocolErrorf("the result has a message without content")
		}
		result.Messages = append(result.Messages, &mcp.PromptMessage{Role: m.Role, Content: list[0]})
	}
	return result, nil
}

// Completion says what is to be completed (specification, completion).
type Completion struct {
	// Prompt is the name of a prompt, or Template the URI template of
	// resources; one of them.
	Prompt, Template string
	// Argument is the name of the argument or variable, Value what there is of
	// it.
	Argument, Value string
	// Arguments are others that have been decided.
	Arguments map[string]string
}

// Completions are the values that a server suggests.
type Completions struct {
	// Values are at most 100, best first.
	Values []string
	// Total is how many there are, zero where the server does not say. More
	// says that there are more than Values.
	Total int
	More  bool
}

// Complete asks for suggestions.
func (s *Server) Complete(ctx context.Context, c Completion) (*Completions, error) {
	const op = "completion/complete"
	var result *Completions
	err := s.read(ctx, op, func(ctx context.Context, sess *session, _ *operation) error {
		if sess.capabilities.Completions == nil {
			return &notSupportedError{"the server completes nothing", sess.revision}
		}
		raw, err := sess.exchange(ctx, wire.Request{Method: op}, requestMeta{}, c.Prompt+c.Template, func(p *params) {
			if c.Prompt != "" {
				p.set("ref", map[string]string{"type": "ref/prompt", "name": c.Prompt})
			} else {
				p.set("ref", map[string]string{"type": "ref/resource", "uri": c.Template})
			}
			p.set("argument", map[string]string{"name": c.Argument, "value": c.Value})
			if len(c.Arguments) > 0 {
				p.set("context", map[string]any{"arguments": c.Arguments})
			}
		})
		if err != nil {
			return err
		}
		var wired struct {
			Completion struct {
				Values  []string `json:"values"`
				Total   int      `json:"total"`
				HasMore bool     `json:"hasMore"`
			} `json:"completion"`
		}
		if json.Unmarshal(raw, &wired) != nil {
			return protocolErrorf("the result does not have the shape of a completion")
		}
		result = &Completions{wired.Completion.Values, wired.Completion.Total, wired.Completion.HasMore}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}
