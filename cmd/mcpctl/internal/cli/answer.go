package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/form"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/pkg/browser"
	"github.com/spf13/cobra"
)

// answering is what a server gets when it asks in the middle of a request.
type answering struct {
	base  string
	words []string
}

func (a *answering) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&a.words, "answer", nil, "`name=value` for a question that the server asks in the middle, typed by its form (repeatable)")
	f.StringVar(&a.base, "answers", "", "answers to begin with: a JSON `object`, @FILE, or - for stdin; decline or cancel turns down what is asked")
}

// during has a client of a server for as long as f uses it, and answers what
// the server asks.
func (a *answering) during(ctx context.Context, app *App, spec client.Spec, f func(*client.Client) error) error {
	answers, err := a.answerer(app)
	if err != nil {
		return err
	}
	c, err := app.open(ctx, []client.Spec{spec}, client.Options{Handlers: client.Handlers{Input: answers.answer}})
	if err != nil {
		return err
	}
	return errors.Join(answers.err(f(c)), c.Close(context.WithoutCancel(ctx)))
}

// answerer returns what answers the questions of servers.
func (a *answering) answerer(app *App) (*answerer, error) {
	answers := &answerer{app: app, base: a.base, words: slices.Clone(a.words), seen: make(map[string]bool), used: make(map[string]bool)}
	if action := client.Action(a.base); action == client.Decline || action == client.Cancel {
		if len(a.words) > 0 {
			return nil, usagef("--answers %s turns down what is asked, so that --answer has no question", action)
		}
		answers.refusal = action
	}
	return answers, nil
}

// answerer answers with what the command line has, and asks a person for the
// rest.
type answerer struct {
	app *App

	refusal client.Action // of every question; empty without

	mu     sync.Mutex // one question at a time
	base   string
	words  []string
	loaded bool            // what the words refer to is in them
	used   map[string]bool // words that answered something
	seen   map[string]bool // questions that were answered
	failed error
}

// unanswered is the [client.InputHandler] of commands that answer nothing.
func unanswered(context.Context, *client.InputRequest) (*client.InputAnswer, error) {
	return &client.InputAnswer{Action: client.Cancel}, nil
}

func (a *answerer) flags() bool { return a.base != "" || len(a.words) > 0 }

// err returns how a request ended: err, or a question that was not answered,
// for servers that went on without. It warns of answers to no question.
func (a *answerer) err(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil || is[quietError](err) {
		if a.failed != nil {
			return a.failed
		}
		for _, word := range a.words {
			if !a.used[word] {
				name, _, _ := strings.Cut(word, "=")
				a.app.warn(fmt.Sprintf("--answer %s answered nothing", clip(name)), "")
			}
		}
	}
	return err
}

// questionError is a question that the command line does not answer.
type questionError struct {
	request *client.InputRequest
	err     error
}

func (e *questionError) Error() string {
	return fmt.Sprintf("%q: %v", e.request.Message, e.err)
}
func (e *questionError) Unwrap() error { return e.err }

// answer is the [client.InputHandler].
func (a *answerer) answer(ctx context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var answer *client.InputAnswer
	var err error
	switch {
	case a.refusal != "":
		return &client.InputAnswer{Action: a.refusal}, nil
	case r.URL != "" && a.app.Interactive:
		answer, err = a.visit(ctx, r)
	case r.URL == "" && (a.app.Interactive || a.flags()):
		answer, err = a.fill(ctx, r)
	default:
		err = &client.InputRequiredError{Server: r.Server, Method: r.Method, Target: r.Target, Requests: []*client.InputRequest{r}}
	}
	switch {
	case is[*client.InputRequiredError](err):
		a.failed = hinted{fmt.Errorf("%s: %w: %w", r.Server, client.ErrInputRequired, err), answerHint(r)}
	case is[signalError](err):
		return &client.InputAnswer{Action: client.Cancel}, nil // the call ends by its context
	case err != nil && ctx.Err() == nil:
		err = usageError{&questionError{r, err}, answerHint(r)}
		if a.failed == nil {
			a.failed = hinted{fmt.Errorf("%s: %w: %w", r.Server, client.ErrInputRequired, err), answerHint(r)}
		}
	}
	if a.failed != nil && r.Key == "" {
		// What older servers get anyway; that it failed is told at the end.
		return &client.InputAnswer{Action: client.Cancel}, nil
	}
	if is[*client.InputRequiredError](err) {
		return nil, client.ErrInputRequired // with what else is asked
	}
	return answer, err
}

// fill answers a form.
func (a *answerer) fill(ctx context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
	given, skipped, err := a.given(ctx, r)
	if err != nil {
		return nil, err
	}
	key := r.Message + "\x00" + string(r.Schema)
	if a.flags() && (!a.app.Interactive || !a.seen[key]) {
		_, err := r.Complete(given)
		if err == nil {
			a.seen[key] = true
			return &client.InputAnswer{Action: client.Accept, Content: given}, nil
		}
		if !a.app.Interactive {
			if invalid, ok := errors.AsType[*client.InputAnswerError](err); ok {
				err = invalid.Err
			}
			if skipped != nil {
				err = skipped // a misspelt name, most likely
			}
			return nil, err
		}
	}
	a.seen[key] = true
	return ask(a.app, func(t form.Terminal) (*client.InputAnswer, error) {
		above := a.introduce(r)
		content, action, err := t.Ask(ctx, form.Question{Schema: r.Schema, Given: given, Refusable: true, Above: above})
		if err != nil {
			return nil, err
		}
		return &client.InputAnswer{Action: client.Action(action), Content: content, AsIs: true}, nil
	})
}

// given returns what the command line answers to a question. A word that the
// question has no place for may be for another one.
func (a *answerer) given(ctx context.Context, r *client.InputRequest) (given json.RawMessage, skipped, err error) {
	if !a.loaded {
		if err := a.load(ctx); err != nil {
			return nil, nil, err
		}
		a.loaded = true
	}
	var words []string
	for _, word := range a.words {
		_, err := readArguments(ctx, a.app, r.Schema, "", []string{word})
		if is[unknownArgument](err) {
			if !a.used[word] {
				skipped = err
			}
			continue
		}
		a.used[word] = true
		words = append(words, word)
	}
	given, err = readArguments(ctx, a.app, r.Schema, a.base, words)
	return given, skipped, err
}

// load puts files and standard input into the words, as there can be several
// questions and standard input is read once.
func (a *answerer) load(ctx context.Context) error {
	r := &argumentReader{app: a.app}
	escape := func(text string) string {
		if strings.HasPrefix(text, "@") {
			return "@" + text
		}
		return text
	}
	if a.base != "" {
		text, err := r.value(ctx, a.base, true)
		if err != nil {
			return usagef("--answers: %w", err)
		}
		a.base = escape(text)
	}
	for i, word := range a.words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			continue
		}
		text, err := r.value(ctx, value, strings.HasSuffix(name, ":"))
		if err != nil {
			return usagef("--answer %s: %w", clip(name), err)
		}
		a.words[i] = name + "=" + escape(text)
	}
	return nil
}

// introduce says who asks, and what. It returns how many lines that takes.
func (a *answerer) introduce(r *client.InputRequest) (rows int) {
	asker := a.app.Err.Bold(ui.Clean(r.Server))
	if r.Target != "" {
		fmt.Fprintf(a.app.Err, "%s asks, because of %s:\n", asker, ui.Clean(clip(r.Target)))
	} else {
		fmt.Fprintf(a.app.Err, "%s asks:\n", asker)
	}
	rows = 1 + a.app.show(r.Message)
	a.app.Err.Flush()
	return rows
}

// visit asks whether a page is to be visited, and opens it (specification,
// elicitation, URL mode). Nothing is ever fetched here.
func (a *answerer) visit(ctx context.Context, r *client.InputRequest) (*client.InputAnswer, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		a.app.warn(fmt.Sprintf("%s wants a page to be visited whose address is no http or https URL: declined", r.Server), "")
		return &client.InputAnswer{Action: client.Decline}, nil
	}
	return ask(a.app, func(t form.Terminal) (*client.InputAnswer, error) {
		a.introduce(r)
		fmt.Fprintf(a.app.Err, "It wants you to visit a page of %s:\n  %s\n", a.app.Err.Bold(ui.Clean(u.Hostname())), ui.Clean(r.URL))
		if strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r >= 0x80 }) {
			a.app.warn("the name of the host has letters that can look like others", "")
		}
		a.app.Err.Flush()
		first := "I have opened it myself"
		if a.seen[r.URL] {
			first = "I have finished there: go on"
		}
		at, err := t.Choose(ctx, "Visit it?", "Open it in the browser", first, "Decline: tell the server no", "Cancel: give no answer")
		switch {
		case err != nil:
			return nil, err
		case at == 2:
			return &client.InputAnswer{Action: client.Decline}, nil
		case at != 0 && at != 1:
			return &client.InputAnswer{Action: client.Cancel}, nil
		}
		again := a.seen[r.URL]
		a.seen[r.URL] = true
		if at == 0 {
			a.open(ctx, u)
		}
		// Servers of revision 2025-11-25 refuse a request until the page was
		// visited; there is no use in sending it before.
		if r.Method != "" && r.Key == "" && (at == 0 || !again) {
			at, err := t.Choose(ctx, "Finished there?", "Go on", "Cancel")
			if err != nil {
				return nil, err
			}
			if at != 0 {
				return &client.InputAnswer{Action: client.Cancel}, nil
			}
		}
		return &client.InputAnswer{Action: client.Accept}, nil
	})
}

// patience is how long a browser may take to fail.
const patience = 2 * time.Second

// open opens a page in the browser, which may stay in the foreground for as
// long as it is used.
func (a *answerer) open(ctx context.Context, u *url.URL) {
	browser.Stdout, browser.Stderr = a.app.Err, a.app.Err
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := await(ctx, func() (struct{}, error) { return struct{}{}, browser.OpenURL(u.String()) })
	if err != nil && ctx.Err() == nil {
		a.app.warn("the browser cannot be opened: "+err.Error(), "open the address above yourself")
	}
}

// questions returns the questions that an error is about.
func questions(err error) []*client.InputRequest {
	if e, ok := errors.AsType[*client.InputRequiredError](err); ok {
		return e.Requests
	}
	if e, ok := errors.AsType[*questionError](err); ok {
		return []*client.InputRequest{e.request}
	}
	return nil
}

// answerHint says how questions are answered.
func answerHint(requests ...*client.InputRequest) string {
	var flags, optional []string
	for _, r := range requests {
		if r.URL != "" {
			return "a page is visited by a person: call it on a terminal, or say no with --answers decline"
		}
		required := missing(r.Schema, nil)
		for _, m := range schemadoc.SplitValid(rawMember(r.Schema, "properties")) {
			flag := "--answer " + m.Name + "=VALUE"
			if slices.Contains(required, m.Name) {
				flags = append(flags, flag)
			} else {
				optional = append(optional, flag)
			}
		}
	}
	if len(flags) == 0 {
		flags = optional
	}
	if len(flags) == 0 || len(flags) > 8 {
		return "--answer name=value answers what a server asks in the middle of a call"
	}
	return "answer with " + strings.Join(flags, " ")
}

func rawMember(raw json.RawMessage, name string) json.RawMessage {
	for _, m := range schemadoc.SplitValid(raw) {
		if m.Name == name {
			return m.Raw
		}
	}
	return nil
}

// describeQuestions returns what is shown of questions.
func describeQuestions(requests []*client.InputRequest) []view.Question {
	var all []view.Question
	for _, r := range requests {
		all = append(all, view.NewQuestion(r.Message, r.URL, r.Schema))
	}
	return all
}

// printQuestions shows what was asked below an error.
func (app *App) printQuestions(questions []view.Question) {
	for _, q := range questions {
		app.show(q.Message)
		if q.URL != "" {
			app.show("visit " + q.URL)
		}
		for _, f := range q.Fields {
			app.show("- " + ui.Clean(f.String()))
		}
	}
}

// printed writes to standard output. A reader that does not read must not keep
// the program from ending.
func printed(ctx context.Context, f func() error) error {
	_, err := await(ctx, func() (struct{}, error) { return struct{}{}, f() })
	return err
}
