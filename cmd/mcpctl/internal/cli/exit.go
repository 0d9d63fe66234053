package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/mcpctl/mcpctl/pkg/typegen"
)

// The exit codes; docs/exit-codes.md explains them.
const (
	exitOK       = 0
	exitNegative = 1
	exitUsage    = 2
	exitConfig   = 3
	exitAuth     = 4
	exitServer   = 5
	exitSchema   = 6
	exitLocal    = 7
	exitTimeout  = 124
	exitPipe     = 141 // 128 and the number of SIGPIPE
)

// negativeError says that the command worked and the answer is no.
type negativeError struct{ message string }

func (e negativeError) Error() string { return e.message }

// usageError is a mistake on the command line.
type usageError struct {
	err  error
	hint string
}

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{err: fmt.Errorf(format, args...)} }

// signalError is the cause of a context that a signal ended.
type signalError struct{ signal syscall.Signal }

func (e signalError) Error() string {
	switch e.signal {
	case syscall.SIGINT:
		return "interrupted"
	case syscall.SIGTERM:
		return "terminated"
	case syscall.SIGHUP:
		return "hung up"
	}
	return "stopped by signal " + e.signal.String()
}

// goneError says that nobody reads standard output any more.
type goneError struct{ error }

func (e goneError) Unwrap() error { return e.error }

// pipe is standard output. When its reader is gone the program ends in order,
// as after any failure, but quietly.
type pipe struct{ io.Writer }

func (p pipe) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	switch {
	case err == nil:
		return n, nil
	case slices.ContainsFunc(brokenPipe, func(e error) bool { return errors.Is(err, e) }):
		return n, goneError{err}
	}
	return n, fileError("standard output", err)
}

// printedError decides the exit code and was shown already.
type printedError struct{ error }

func (e printedError) Unwrap() error { return e.error }

// hinted gives an error a hint.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

// exampled gives an error a command line that would have worked.
type exampled struct {
	error
	example string
}

func (e exampled) Unwrap() error { return e.error }

// schemaError is a failure of generation that is not typegen's own, such as
// warnings under --strict.
type schemaError struct{ message string }

func (e schemaError) Error() string { return e.message }

// kind is the kind of a failure and its exit code. It is the one place where
// errors become numbers.
func kind(err error) (name string, code int) {
	switch {
	case err == nil:
		return "", exitOK
	case is[signalError](err):
		s, _ := errors.AsType[signalError](err)
		return "signal", 128 + int(s.signal)
	case is[goneError](err):
		return "closed", exitPipe
	case errors.Is(err, client.ErrAuthRequired):
		return "auth", exitAuth
	case is[usageError](err): // also of an answer, inside a server's failure
		return "usage", exitUsage
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout", exitTimeout
	case errors.Is(err, client.ErrInputRequired), errors.Is(err, client.ErrUnknownTool):
		return "usage", exitUsage
	case errors.Is(err, client.ErrNotApproved):
		return "negative", exitNegative
	case errors.Is(err, client.ErrSchemaBudget):
		return "schema", exitSchema
	case is[*client.ServerError](err):
		return "server", exitServer
	case is[*typegen.Error](err), is[schemaError](err):
		return "schema", exitSchema
	case is[*config.Error](err), is[*config.TrustError](err):
		return "config", exitConfig
	case is[usageError](err):
		return "usage", exitUsage
	case is[negativeError](err):
		return "negative", exitNegative
	}
	return "local", exitLocal
}

func exitCode(err error) int {
	_, code := kind(err)
	return code
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// precedence orders exit codes: with several failures the first one here wins.
var precedence = []int{129, 130, 143, exitPipe, exitTimeout, exitAuth, exitServer, exitSchema, exitConfig, exitUsage, exitLocal, exitNegative, exitOK}

func precedes(a, b int) bool { return slices.Index(precedence, a) < slices.Index(precedence, b) }

// describe words an error for a person and for a program.
func describe(err error) *view.Error {
	name, code := kind(err)
	e := &view.Error{Kind: name, Code: code, Message: err.Error()}
	if u, ok := errors.AsType[usageError](err); ok {
		e.Hint = u.hint
	}
	if x, ok := errors.AsType[exampled](err); ok {
		e.Example = x.example
	}
	if c, ok := errors.AsType[*config.Error](err); ok {
		e.Hint, e.Server = c.Hint, c.Server
	}
	if h, ok := errors.AsType[hinted](err); ok {
		e.Hint = h.hint
	}
	if s, ok := errors.AsType[*client.ServerError](err); ok {
		e.Server, e.HTTPStatus = s.Server, s.HTTPStatus
		e.Kind = string(s.Class)
		if e.Hint == "" {
			e.Hint = serverHint(s)
		}
	}
	e.Questions = describeQuestions(questions(err))
	return e
}

// serverHint says what to do about a failed server.
func serverHint(e *client.ServerError) string {
	switch e.Class {
	case client.ClassNotFound:
		return "is it installed, and in the PATH that the server gets?"
	case client.ClassRefused:
		return "is the server running, and is the port right?"
	case client.ClassTLS:
		return "SSL_CERT_FILE names further certificate authorities"
	case client.ClassTimeout:
		return "--timeout, or timeout in the configuration, allows more time"
	case client.ClassAuth:
		return "send a token with a header: -H 'Authorization: Bearer …', or headers in the configuration"
	case client.ClassRevision:
		return "protocolVersion in the configuration, or --protocol-version, insists on a revision; without it mcpctl takes what the server offers"
	case client.ClassInput:
		return answerHint(questions(e)...)
	case client.ClassBlocked:
		return "allowedHosts in the configuration, or --allow-host, names the hosts that may be reached"
	}
	if e.HTTPStatus == 404 {
		return "is the path of the URL right? Many servers have their endpoint at /mcp"
	}
	return ""
}

// fileError shortens an error of the file system to what a person needs.
func fileError(what string, err error) error {
	var reason error = err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		reason = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		reason = e.Err
	}
	return fmt.Errorf("%s: %w", what, reason)
}
