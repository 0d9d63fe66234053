package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/mcpctl/mcpctl/internal/redact"
	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
)

// Server is a handle on one server of a [Client]. The server is connected to
// when that is first needed, and again when the connection has broken; a call
// that was under way when it broke fails and is not repeated, unless its
// caller allowed that. A Server is safe for concurrent use.
type Server struct {
	client   *Client
	spec     Spec
	opts     *Options
	handlers Handlers
	secrets  *redact.Redactor
	log      *slog.Logger
	unknown  bool

	lock chan struct{} // guards connecting, within the patience of a context

	mu      sync.Mutex
	sess    *session              // nil while not connected
	retired map[*session]struct{} // expired, with requests under way
	peer    Peer
	ops     map[*operation]struct{} // under way

	mailbox mailbox
	lists   listCache
	subs    subscriptions
	schemas schemaCache
}

func newServer(c *Client, spec Spec) *Server {
	s := &Server{
		client: c, spec: spec, opts: &c.opts, secrets: spec.redactor(),
		handlers: spec.Handlers.or(c.opts.Handlers),
		lock:     make(chan struct{}, 1), ops: make(map[*operation]struct{}),
	}
	s.log = slog.New(redactHandler{next: c.opts.Logger.Handler(), secrets: s.secrets}).With("server", spec.Name)
	s.mailbox.init(s)
	s.subs.init(s)
	return s
}

// Name returns the name of the server.
func (s *Server) Name() string { return s.spec.Name }

// Peer is what is known of a server from its last connection.
type Peer struct {
	// Revision is the negotiated revision of the protocol, empty before the
	// first connection.
	Revision string
	// Transport is [TransportStdio], [TransportHTTP] or [TransportSSE].
	Transport string
	// Info is the server's own Implementation object, as sent: name, version,
	// and perhaps title, description, website and icons. Servers may leave it
	// out, and nobody checks it: its URLs are not to be trusted.
	Info json.RawMessage
	// Capabilities is the server's ServerCapabilities object, as sent.
	Capabilities json.RawMessage
	// Instructions are the server's own text for a model. It is not to be
	// trusted.
	Instructions string
}

// Peer returns what is known of the server, without asking it. It is empty
// before the first connection and says nothing about whether there is one now.
func (s *Server) Peer() Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peer
}

// timeout bounds an operation.
func (s *Server) timeout() time.Duration {
	if s.spec.Timeout > 0 {
		return s.spec.Timeout
	}
	return s.opts.Timeout
}

// operation is something that a caller waits for. Its time can be stopped
// while a person is asked.
type operation struct {
	server  *Server
	timeout time.Duration
	until   time.Time // when the caller gives up; zero: never
	cancel  context.CancelCauseFunc
	end     func()

	mu      sync.Mutex
	timer   *time.Timer
	due     time.Time
	left    time.Duration
	stopped int
}

// begin starts an operation, which ends with the client at the latest. Zero is
// the server's timeout. Its end must be called.
func (s *Server) begin(ctx context.Context, op string, timeout time.Duration) (context.Context, *operation, error) {
	if s.unknown {
		return ctx, nil, s.failure(ctx, op, ErrUnknownServer, nil)
	}
	if timeout <= 0 {
		timeout = s.timeout()
	}
	opCtx, cancel, done, err := s.client.begin(ctx)
	if err != nil {
		return ctx, nil, s.failure(ctx, op, err, nil)
	}
	o := &operation{server: s, timeout: timeout, cancel: cancel}
	o.until, _ = ctx.Deadline()
	o.due = time.Now().Add(timeout)
	o.timer = time.AfterFunc(timeout, func() { cancel(timeoutError{timeout}) })
	s.mu.Lock()
	s.ops[o] = struct{}{}
	s.mu.Unlock()
	o.end = func() {
		s.mu.Lock()
		delete(s.ops, o)
		s.mu.Unlock()
		o.mu.Lock()
		o.stopped++
		o.timer.Stop()
		o.mu.Unlock()
		done()
	}
	return wire.WithPatience(opCtx, o), o, nil
}

// Left implements [wire.Patience].
func (o *operation) Left() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := o.left
	if o.stopped == 0 {
		left = time.Until(o.due)
	}
	if !o.until.IsZero() {
		left = min(left, time.Until(o.until))
	}
	return left
}

// pause stops the clock until the returned function is called.
func (o *operation) pause() (resume func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped++
	if o.stopped == 1 {
		o.timer.Stop()
		o.left = time.Until(o.due)
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.stopped--
		if o.stopped == 0 {
			o.due = time.Now().Add(o.left)
			o.timer.Reset(o.left)
		}
	}
}

// pause stops the clock of everything under way: a server of an older revision
// asks without saying for which request.
func (s *Server) pause() (resume func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []func()
	for o := range s.ops {
		all = append(all, o.pause())
	}
	return func() {
		for _, resume := range all {
			resume()
		}
	}
}

// session returns the open session, connecting if there is none.
func (s *Server) session(ctx context.Context) (*session, error) {
	s.mu.Lock()
	sess := s.sess
	s.mu.Unlock()
	if sess != nil && !sess.over() {
		return sess, nil
	}
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, s.failure(ctx, opConnect, ctx.Err(), nil)
	}
	defer func() { <-s.lock }()
	s.mu.Lock()
	sess = s.sess
	s.mu.Unlock()
	if sess != nil {
		if !sess.over() {
			return sess, nil
		}
		s.log.Debug("the connection had ended", "err", sess.conn.Err())
		s.setSession(nil)
		if errors.Is(sess.conn.Err(), wire.ErrSessionExpired) {
			s.retire(sess)
		} else {
			sess.close(ctx)
		}
	}
	start := time.Now()
	sess, err := s.connect(ctx)
	if err != nil {
		s.log.Debug("connecting failed", "duration", time.Since(start), "err", err)
		return nil, err
	}
	s.log.Debug("connected", "transport", sess.transport, "revision", sess.revision, "duration", time.Since(start))
	s.setSession(sess)
	if !sess.modern() && s.wantsPushes() {
		sess.listen(ctx)
	}
	if s.handlers.Log != nil || s.spec.LogLevel != "" {
		sess.setLogLevel(ctx)
	}
	return sess, nil
}

// retire closes an expired session when nothing is under way on it any longer:
// each request has an answer of its own, if only that it was not carried out.
func (s *Server) retire(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired == nil {
		s.retired = make(map[*session]struct{})
	}
	s.retired[sess] = struct{}{}
	go func() {
		sess.drain()
		sess.close(context.Background())
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.retired, sess)
	}()
}

func (s *Server) setSession(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sess = sess
	if sess != nil {
		s.peer = Peer{sess.revision, sess.transport, sess.info, sess.rawCaps, sess.instructions}
	}
	s.lists.clear()
}

// wantsPushes reports whether somebody waits for messages that belong to no
// request.
func (s *Server) wantsPushes() bool {
	return s.handlers.Input != nil || s.handlers.Log != nil || s.subs.any()
}

// tellError tells about a failure that no call returns.
func (s *Server) tellError(err error) {
	level := slog.LevelWarn
	if f := s.handlers.Error; f != nil {
		level = slog.LevelInfo // somebody warns already
		s.mailbox.post(0, func(ctx context.Context) { f(ctx, err) })
	}
	s.log.Log(s.subs.life, level, "a subscription ended", "err", err)
}

// Connect connects to the server, unless there is a connection. Other methods
// do so by themselves.
func (s *Server) Connect(ctx context.Context) error {
	ctx, op, err := s.begin(ctx, opConnect, 0)
	if err != nil {
		return err
	}
	defer op.end()
	_, err = s.session(ctx)
	return err
}

// Reconnect ends the connection, if there is one, and makes another. What was
// under way on it fails; subscriptions are restored.
func (s *Server) Reconnect(ctx context.Context) error {
	ctx, op, err := s.begin(ctx, opConnect, 0)
	if err != nil {
		return err
	}
	defer op.end()
	s.disconnect(ctx)
	_, err = s.session(ctx)
	return err
}

// disconnect closes the session, and those before it that are left.
func (s *Server) disconnect(ctx context.Context) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.mu.Lock()
	sess := s.sess
	s.sess = nil
	retired := slices.Collect(maps.Keys(s.retired))
	s.mu.Unlock()
	for _, old := range retired {
		old.close(ctx)
	}
	if sess != nil {
		sess.close(ctx)
		s.log.Debug("disconnected")
	}
}

// maxAttempts bounds how often a request that may be repeated is sent.
const maxAttempts = 3

// attempts calls f with the open session, and again, with growing pauses, while
// it fails in a way that another connection may mend. Once is enough unless
// the caller allows repetition.
func (s *Server) attempts(ctx context.Context, op string, repeatable bool, f func(*session) error) error {
	pauses := backoff.NewExponentialBackOff()
	for n := 1; ; n++ {
		sess, err := s.session(ctx)
		fresh := err != nil
		var proc *wire.Stdio
		if err == nil {
			proc = sess.stdio
			if err = f(sess); err == nil {
				return nil
			}
		}
		failed := s.failure(ctx, op, err, proc)
		// A server that cannot be reached to begin with is given no time to
		// appear, but one that was there may be on its way back.
		passing := failed.passing() && !fresh || n > 1 && (failed.passing() || failed.Class == ClassRefused)
		if !repeatable || n == maxAttempts || !passing || ctx.Err() != nil {
			return failed
		}
		if failed.RetryAfter > wire.Left(ctx) {
			return failed // it would be too late
		}
		pause := max(pauses.NextBackOff(), failed.RetryAfter)
		s.log.Debug("trying again", "op", op, "pause", pause, "err", failed)
		if !sleep(ctx, pause) {
			return failed
		}
	}
}

// sleep waits, and reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// passing reports whether the failure may be gone on another attempt.
func (e *ServerError) passing() bool {
	switch e.Class {
	case ClassExited, ClassNetwork, ClassExpired:
		return true
	case ClassHTTP:
		switch e.HTTPStatus {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
	case ClassProtocol:
		return errors.Is(e.Err, wire.ErrNoResponse) || errors.Is(e.Err, wire.ErrClosed) || errors.Is(e.Err, io.EOF)
	}
	return false
}

// read is how requests that change nothing are made: they may be repeated.
func (s *Server) read(ctx context.Context, method string, f func(context.Context, *session, *operation) error) error {
	ctx, op, err := s.begin(ctx, method, 0)
	if err != nil {
		return err
	}
	defer op.end()
	return s.attempts(ctx, method, true, func(sess *session) error { return f(ctx, sess, op) })
}
