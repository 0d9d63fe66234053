package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/mcpctl/mcpctl/internal/redact"
	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// InputHandler answers a question of a server. An error ends the request that
// the question belongs to; to turn a question down is an answer and no error.
// [ErrInputRequired] ends it with the [*InputRequiredError] that there would be
// without a handler, which has all questions that were asked together.
// Servers of older revisions do not say which request that is, and are told
// that the question was cancelled; the context then has the values of no call.
// It ends when the server takes the question back or is gone, and over
// streamable HTTP also with the request on whose stream the question came.
// The time that a handler takes does not count against timeouts.
type InputHandler func(context.Context, *InputRequest) (*InputAnswer, error)

// InputRequest is a question that a server asks in the middle of a request
// (specification 2026-07-28, multi round-trip requests and elicitation; in
// older revisions a request elicitation/create). It is the server's own words:
// show them as such, never answer with secrets, and open URLs only after
// asking.
type InputRequest struct {
	// Server is the name of the server. Method and Target are what was asked
	// of it, such as "tools/call" and the name of the tool; empty where the
	// server does not say.
	Server, Method, Target string
	// Key is the server's name for the question within its request; empty in
	// older revisions.
	Key string
	// Message is the question.
	Message string
	// Schema is the JSON Schema of the answer, an object with primitive
	// properties. Nil in URL mode.
	Schema json.RawMessage
	// URL is what a person is to visit. Empty in form mode.
	URL string
	// ElicitationID identifies a question in URL mode in revision 2025-11-25.
	ElicitationID string
	// Raw are the parameters as sent.
	Raw json.RawMessage
}

// Action is what a person did with a question.
type Action string

// The actions (specification, elicitation, response actions).
const (
	Accept  Action = "accept"  // answered, or agreed to visit the URL
	Decline Action = "decline" // turned down
	Cancel  Action = "cancel"  // dismissed
)

// InputAnswer is an answer.
type InputAnswer struct {
	Action Action
	// Content is the answer to a form: anything that encodes as a JSON object.
	// Properties that have a default in the schema, and are missing, get it.
	Content any
	// AsIs says that a person has seen the defaults, so that what is missing
	// stays missing.
	AsIs bool
}

// InputRequiredError says that a server asked and nobody answers. It is an
// [ErrInputRequired].
type InputRequiredError struct {
	Server, Method, Target string
	// Requests are the questions, in the order in which the server has them.
	Requests []*InputRequest
	// State is what has to be sent back with the answers; nil if the server
	// gave none.
	State json.RawMessage

	secrets *redact.Redactor
}

// Error returns the questions, without the secrets of the server's [Spec].
func (e *InputRequiredError) Error() string {
	var asked []string
	for _, r := range e.Requests {
		asked = append(asked, r.describe())
	}
	if len(asked) == 0 {
		return "it gave no question"
	}
	return e.secrets.String(strings.Join(asked, "; "))
}

func (e *InputRequiredError) kind() (Class, error) { return ClassInput, ErrInputRequired }

// describe says what is asked for, in words of the server.
func (r *InputRequest) describe() string {
	if r.URL != "" {
		host := "a web page"
		if u, err := url.Parse(r.URL); err == nil && u.Host != "" {
			host = "a page on " + u.Host
		}
		return fmt.Sprintf("%q (visit %s)", r.Message, host)
	}
	var names []string
	for _, m := range schemadoc.SplitValid(member(r.Schema, "properties")) {
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		return fmt.Sprintf("%q", r.Message)
	}
	return fmt.Sprintf("%q (%s)", r.Message, strings.Join(names, ", "))
}

// Bounds of a conversation.
const (
	maxRounds        = 32
	maxInputRequests = 32 // of one round
)

// inputAnswers is what a repeated request adds to its parameters.
type inputAnswers struct {
	responses json.RawMessage // nil: none
	state     json.RawMessage // nil: none
}

func (a inputAnswers) add(p *params) {
	if a.responses != nil {
		p.set("inputResponses", a.responses)
	}
	if a.state != nil {
		p.set("requestState", a.state)
	}
}

// rounds sends a request again and again as long as the server answers with
// questions (specification 2026-07-28, multi round-trip requests).
func (s *session) rounds(
	ctx context.Context, op *operation, method, target string, send func(context.Context, inputAnswers) (json.RawMessage, error),
) (json.RawMessage, error) {
	var answers inputAnswers
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 100*time.Millisecond, 5*time.Second
	for range maxRounds {
		raw, err := send(ctx, answers)
		if err != nil {
			if required := s.urlsRequired(err, method, target); required != nil {
				if err := s.server.visit(ctx, op, required); err != nil {
					return nil, err
				}
				answers = inputAnswers{}
				continue
			}
			return nil, err
		}
		if len(raw) == 0 || raw[0] != '{' {
			return nil, protocolErrorf("the result is no object")
		}
		parts := members(raw, "resultType", "inputRequests", "requestState")
		switch kind := text(parts[0]); {
		case parts[0] == nil, kind == "complete", !s.modern():
			return raw, nil
		case kind != "input_required":
			return nil, protocolErrorf("the result is of an unknown type")
		}
		required, err := s.questions(method, target, parts[1], parts[2])
		if err != nil {
			return nil, err
		}
		if len(required.Requests) == 0 {
			// The server only wants to be asked again, so there is no hurry.
			if !sleep(ctx, pauses.NextBackOff()) {
				return nil, ctx.Err()
			}
		}
		if answers, err = s.server.answerAll(ctx, op, required); err != nil {
			return nil, err
		}
	}
	return nil, protocolErrorf("the server asks for input more than %d times", maxRounds)
}

// questions reads what a server asks.
func (s *session) questions(method, target string, requests, state json.RawMessage) (*InputRequiredError, error) {
	required := s.server.required(method, target)
	if state != nil && text(state) == "" && string(state) != `""` {
		return nil, protocolErrorf("the requestState is no string")
	}
	required.State = state
	items := schemadoc.SplitValid(requests)
	switch {
	case len(items) == 0 && state == nil:
		return nil, protocolErrorf("the server asks for input and does not say what")
	case len(items) > maxInputRequests:
		return nil, protocolErrorf("the server asks for more than %d inputs at a time", maxInputRequests)
	}
	for _, item := range items {
		parts := members(item.Raw, "method", "params")
		r := s.server.inputRequest(text(parts[0]), parts[1])
		r.Method, r.Target, r.Key = method, target, item.Name
		if text(parts[0]) != "elicitation/create" {
			// Roots and sampling are never advertised.
			r.Message = "it asks for " + text(parts[0]) + ", which is not supported"
			required.Requests = []*InputRequest{r}
			return nil, required
		}
		required.Requests = append(required.Requests, r)
	}
	return required, nil
}

// required is an error that has questions about a request.
func (s *Server) required(method, target string, requests ...*InputRequest) *InputRequiredError {
	return &InputRequiredError{Server: s.Name(), Method: method, Target: target, Requests: requests, secrets: s.secrets}
}

// inputRequest reads the parameters of a question.
func (s *Server) inputRequest(method string, raw json.RawMessage) *InputRequest {
	r := &InputRequest{Server: s.Name(), Raw: raw}
	if method != "elicitation/create" {
		return r
	}
	parts := members(raw, "mode", "message", "requestedSchema", "url", "elicitationId")
	r.Message = text(parts[1])
	switch mode := text(parts[0]); {
	case mode == "url":
		r.URL, r.ElicitationID = text(parts[3]), text(parts[4])
	case mode != "form" && parts[0] != nil:
		// Nothing that can be answered.
	case parts[2] == nil:
		r.Schema = json.RawMessage(`{"type":"object"}`)
	default:
		r.Schema = parts[2]
	}
	return r
}

// answerAll asks for all answers of a round, one after the other.
func (s *Server) answerAll(ctx context.Context, op *operation, required *InputRequiredError) (inputAnswers, error) {
	answers := inputAnswers{state: required.State}
	if len(required.Requests) == 0 {
		return answers, nil
	}
	if s.handlers.Input == nil {
		return answers, required
	}
	// Nobody is asked in vain because a later question cannot be answered.
	for _, r := range required.Requests {
		if err := s.answerable(r); err != nil {
			return answers, err
		}
	}
	resume := op.pause()
	defer resume()
	responses := &params{buf: []byte{'{'}}
	for _, r := range required.Requests {
		response, err := s.answer(ctx, r)
		switch {
		case errors.Is(err, ErrInputRequired):
			return answers, required
		case err != nil:
			return answers, err
		}
		responses.set(r.Key, response)
	}
	var err error
	answers.responses, err = responses.done()
	return answers, err
}

// answerable fails if the handler cannot be asked a question.
func (s *Server) answerable(r *InputRequest) error {
	switch {
	case r.URL == "" && r.Schema == nil:
		return protocolErrorf("a question of an unknown mode, or without a URL")
	case r.URL != "" && !s.handlers.InputURL:
		return s.required(r.Method, r.Target, r)
	}
	return nil
}

// answer asks the handler and returns an ElicitResult.
func (s *Server) answer(ctx context.Context, r *InputRequest) (json.RawMessage, error) {
	answer, err := s.ask(ctx, r)
	if err != nil {
		return nil, err
	}
	if answer == nil {
		answer = &InputAnswer{Action: Cancel}
	}
	result := (&params{buf: []byte{'{'}}).set("action", answer.Action)
	switch answer.Action {
	case Decline, Cancel:
	case Accept:
		if r.URL != "" {
			break
		}
		content, err := formContent(r, answer)
		if err != nil {
			return nil, err
		}
		result.set("content", content)
	default:
		return nil, &InputAnswerError{r, fmt.Errorf("unknown action %q", answer.Action)}
	}
	return result.done()
}

// ask asks the handler.
func (s *Server) ask(ctx context.Context, r *InputRequest) (*InputAnswer, error) {
	answer, err := s.handlers.Input(ctx, r)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &inputError{err}
	}
	return answer, nil
}

// InputAnswerError says that the answer of an [InputHandler] does not fit the
// question, so that it was not sent.
type InputAnswerError struct {
	Request *InputRequest
	// Err says why, without the values.
	Err error
}

func (e *InputAnswerError) Error() string { return "the answer does not fit: " + e.Err.Error() }

// Unwrap returns Err.
func (e *InputAnswerError) Unwrap() error { return e.Err }

func (e *InputAnswerError) kind() (Class, error) { return ClassInput, ErrInvalidArguments }

// inputError is how an [InputHandler] failed. It is an [ErrInputRequired].
type inputError struct{ err error }

func (e *inputError) Error() string        { return e.err.Error() }
func (e *inputError) Unwrap() error        { return e.err }
func (e *inputError) kind() (Class, error) { return ClassInput, ErrInputRequired }

// formContent returns the answer to a form as it is sent.
func formContent(r *InputRequest, answer *InputAnswer) (json.RawMessage, error) {
	if answer.AsIs {
		raw, err := encodeArguments(answer.Content)
		if err != nil {
			return nil, &InputAnswerError{r, err}
		}
		return raw, r.check(raw)
	}
	return r.Complete(answer.Content)
}

// Complete returns the answer to a form that content is: with the defaults of
// the properties that are missing, and checked. Its error is an
// [*InputAnswerError].
func (r *InputRequest) Complete(content any) (json.RawMessage, error) {
	raw, err := encodeArguments(content)
	if err != nil {
		return nil, &InputAnswerError{r, err}
	}
	given := schemadoc.SplitValid(raw)
	var missing []schemadoc.RawMember
	for _, property := range schemadoc.SplitValid(member(r.Schema, "properties")) {
		has := slices.ContainsFunc(given, func(m schemadoc.RawMember) bool { return m.Name == property.Name })
		// Generated schemas have null where there is no default.
		if value := member(property.Raw, "default"); value != nil && string(value) != "null" && !has {
			missing = append(missing, schemadoc.RawMember{Name: property.Name, Raw: value})
		}
	}
	if len(missing) > 0 {
		full := &params{buf: []byte{'{'}}
		for _, m := range append(given, missing...) {
			full.set(m.Name, json.RawMessage(m.Raw))
		}
		if raw, err = full.done(); err != nil {
			return nil, &InputAnswerError{r, err}
		}
	}
	return raw, r.check(raw)
}

func (r *InputRequest) check(answer json.RawMessage) error {
	if err := checkForm(r.Schema, answer); err != nil {
		return &InputAnswerError{r, err}
	}
	return nil
}

// requested answers a request of a server of an older revision.
func (s *session) requested(ctx context.Context, method string, raw json.RawMessage) (any, error) {
	srv := s.server
	if method != "elicitation/create" || srv.handlers.Input == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client does not support " + method}
	}
	r := srv.inputRequest(method, raw)
	if srv.answerable(r) != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this client does not support elicitation in that mode"}
	}
	resume := srv.pause()
	defer resume()
	result, err := srv.answer(s.withAsker(ctx), r)
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() == nil:
		srv.log.Warn("a question of the server was not answered", "err", err)
	}
	return json.RawMessage(`{"action":"cancel"}`), nil
}

// codeURLRequired is URLElicitationRequiredError of revision 2025-11-25.
const codeURLRequired = -32042

// urlsRequired returns the pages that have to be visited before a request can
// succeed, as servers of revision 2025-11-25 say it; nil if the error is
// another one.
func (s *session) urlsRequired(err error, method, target string) *InputRequiredError {
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || rpc.Code != codeURLRequired || s.modern() {
		return nil
	}
	items, ok := schemadoc.ItemsValid(member(rpc.Data, "elicitations"))
	if !ok || len(items) == 0 || len(items) > maxInputRequests {
		return nil
	}
	required := s.server.required(method, target)
	for _, item := range items {
		r := s.server.inputRequest("elicitation/create", item)
		r.Method, r.Target = method, target
		if r.URL == "" {
			return nil
		}
		required.Requests = append(required.Requests, r)
	}
	return required
}

// visit has a person visit pages. All must be agreed to.
func (s *Server) visit(ctx context.Context, op *operation, required *InputRequiredError) error {
	if s.handlers.Input == nil || !s.handlers.InputURL {
		return required
	}
	resume := op.pause()
	defer resume()
	for _, r := range required.Requests {
		answer, err := s.ask(ctx, r)
		switch {
		case errors.Is(err, ErrInputRequired):
			return required
		case err != nil:
			return err
		case answer == nil || answer.Action != Accept:
			return required
		}
	}
	return nil
}
