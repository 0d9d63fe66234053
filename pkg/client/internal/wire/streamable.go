package wire

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"hash/maphash"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/mcpctl/mcpctl/internal/netpolicy"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// HTTPConfig says how to speak with a server over HTTP.
type HTTPConfig struct {
	// Endpoint is the URL of the server, without user info.
	Endpoint *url.URL
	// Transport makes the requests. It follows redirects where they may be
	// followed and adds what every request has, as a [*netpolicy.Transport]
	// does.
	Transport http.RoundTripper
	// MaxMessageSize bounds a JSON body and an event of a stream, in bytes.
	MaxMessageSize int
	Handler        Handler
	// Log gets, at level debug, what a server does that it should not.
	Log *slog.Logger
}

const (
	// maxErrorBody bounds how much of a failed response is looked at.
	maxErrorBody = 1 << 20
	// maxRetryAfter bounds what Retry-After may say.
	maxRetryAfter = time.Hour
	// defaultRetry is how long to wait before a stream is opened again if the
	// server does not say, maxPause the longest wait between attempts.
	defaultRetry = time.Second
	maxPause     = 30 * time.Second
	// maxRest and restGrace bound what is read of a stream after the response,
	// maxResting how many streams are read so at a time.
	maxRest    = 64 << 10
	restGrace  = time.Second
	maxResting = 64
	// maxSeen bounds how many events are remembered to recognise repeated
	// ones.
	maxSeen = 1024
)

const (
	mediaJSON   = "application/json"
	mediaStream = "text/event-stream"
)

// Values of headers that do not change.
var (
	acceptAll    = []string{mediaJSON + ", " + mediaStream}
	acceptStream = []string{mediaStream}
	contentJSON  = []string{mediaJSON}
)

// errNoAnswer says that a body is nothing that the protocol knows.
var errNoAnswer = &ProtocolError{"no valid answer"}

// streamable is a connection over streamable HTTP (specifications 2025-11-25
// and 2026-07-28), on which every message is an HTTP request.
type streamable struct {
	cfg   HTTPConfig
	inbox inbox

	resting chan struct{} // slots

	mu        sync.Mutex
	revision  string // agreed on; empty before
	session   string // Mcp-Session-Id; empty without
	wanted    bool   // Listen was called
	listening bool
	heard     chan struct{} // closed when the first answer to listening is there
	closing   bool
	err       error
	done      chan struct{}
	closed    chan struct{} // when Close has ended
}

// DialHTTP returns a connection to a server over streamable HTTP. Nothing is
// sent before the first call.
func DialHTTP(cfg HTTPConfig) Conn {
	c := &streamable{cfg: cfg, resting: make(chan struct{}, maxResting), heard: make(chan struct{}), done: make(chan struct{}), closed: make(chan struct{})}
	c.inbox = newInbox(cfg.Handler, c.reply)
	return c
}

// Call implements [Conn].
func (c *streamable) Call(ctx context.Context, req Request) (json.RawMessage, error) {
	revision, session, err := c.state()
	if err != nil {
		return nil, err
	}
	if revision == "" {
		revision = req.Revision
	}
	if req.Method == "initialize" {
		session = "" // it begins one
	}
	x, err := c.inbox.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer c.inbox.leave(x)
	raw, err := c.exchange(x, req, revision, session)
	if err == nil {
		return raw, nil
	}
	err = c.inbox.blame(ctx, err)
	if err == ctx.Err() && revision < firstModern && req.Method != "initialize" {
		c.cancel(ctx, req.ID)
	}
	return nil, err
}

// exchange makes one call.
func (c *streamable) exchange(x *scope, req Request, revision, session string) (json.RawMessage, error) {
	modern := revision >= firstModern
	header := postHeader(revision, session)
	if modern {
		for name, values := range req.Header {
			if _, ours := header[name]; !ours {
				header[name] = values
			}
		}
		header["Mcp-Method"] = []string{req.Method}
		if req.Name != "" {
			header["Mcp-Name"] = []string{EncodeHeader(req.Name)}
		}
	}
	body := appendRequest(make([]byte, 0, len(req.Params)+len(req.Method)+64), req.ID, req.Method, req.Params)
	resp, err := c.post(x, header, body)
	if err != nil {
		return nil, err
	}
	if req.Method == "initialize" && !modern {
		c.begin(resp.Header.Get("Mcp-Session-Id"))
	}
	switch mediaType(resp) {
	case mediaJSON:
		defer resp.Body.Close()
		return c.readBody(resp, req.ID, modern)
	case mediaStream:
		s := newStream(req.ID, modern)
		s.scope = x
		return c.follow(x, s, resp)
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent {
		return nil, httpError(resp, ErrNoResponse)
	}
	return nil, httpError(resp, errNoAnswer)
}

// readBody reads a JSON body for the response to a request.
func (c *streamable) readBody(resp *http.Response, request int64, modern bool) (json.RawMessage, error) {
	limit := int64(c.cfg.MaxMessageSize)
	// With that much room the body is read without growing the buffer.
	size := min(max(resp.ContentLength, 0), limit) + bytes.MinRead
	text := bytes.NewBuffer(make([]byte, 0, size))
	if _, err := text.ReadFrom(netpolicy.LimitBody(resp.Body, limit, "the response")); err != nil {
		return nil, readError(resp, err)
	}
	msgs, broken := parseMessages(text.Bytes())
	answer := c.sort(msgs, request, modern, nil)
	switch {
	case answer != nil:
		return outcome(resp, answer)
	case broken != nil:
		return nil, httpError(resp, broken)
	case len(msgs) == 0 && len(bytes.TrimSpace(text.Bytes())) > 0:
		return nil, httpError(resp, errNoAnswer)
	}
	return nil, httpError(resp, ErrNoResponse)
}

// sort hands on what a server sends by itself, and returns the response to a
// request if it is there. An error without an id can be about nothing else.
func (c *streamable) sort(msgs []*message, request int64, modern bool, x *scope) (answer *message) {
	for _, m := range msgs {
		switch {
		case !m.isResponse() && m.id != nil && modern:
			// Servers do not make requests any longer, and the client must
			// not answer (specification 2026-07-28, transports, messages).
			c.cfg.Log.Debug("the server makes a request, which this revision does not have")
		case !m.isResponse():
			c.inbox.take(m, request, x)
		case answer == nil && request != 0 && (m.number() == request || m.id == nil && m.err != nil):
			answer = m
		}
	}
	return answer
}

// outcome returns what the response to a request says.
func outcome(resp *http.Response, m *message) (json.RawMessage, error) {
	raw, err := m.outcome()
	if err == errUndecodable {
		err = httpError(resp, err)
	}
	return raw, err
}

// Notify implements [Conn].
func (c *streamable) Notify(ctx context.Context, method string, params json.RawMessage) error {
	revision, session, err := c.state()
	if err != nil {
		return err
	}
	header := postHeader(revision, session)
	if revision >= firstModern {
		header["Mcp-Method"] = []string{method}
	}
	return c.submit(ctx, header, appendRequest(nil, 0, method, params))
}

// cancel tells a server of an older revision that nobody waits for a response
// any longer; for others it is enough that the stream is closed (specification
// 2026-07-28, cancellation).
func (c *streamable) cancel(ctx context.Context, request int64) {
	params := cancelledParams(ctx, request)
	c.inbox.notice(func(context.Context) {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelGrace)
		defer stop()
		if err := c.Notify(ctx, "notifications/cancelled", params); err != nil {
			c.cfg.Log.Debug("the server did not take a cancellation", "reason", brief(err))
		}
	})
}

// reply sends the answer to a request of the server.
func (c *streamable) reply(ctx context.Context, msg []byte) {
	revision, session, err := c.state()
	if err == nil {
		err = c.submit(ctx, postHeader(revision, session), msg)
	}
	if err != nil {
		c.cfg.Log.Debug("the server did not take an answer", "reason", brief(err))
	}
}

// submit sends a message that has no response.
func (c *streamable) submit(ctx context.Context, header http.Header, msg []byte) error {
	x, err := c.inbox.enter(ctx)
	if err != nil {
		return err
	}
	defer c.inbox.leave(x)
	resp, err := c.post(x, header, msg)
	if err != nil {
		return c.inbox.blame(ctx, err)
	}
	discard(resp)
	return nil
}

// post makes a POST. Only a response with a status of success is no error.
func (c *streamable) post(ctx context.Context, header http.Header, msg []byte) (*http.Response, error) {
	resp, err := c.cfg.send(ctx, http.MethodPost, c.cfg.Endpoint, header, msg)
	return resp, c.expired(err, header)
}

// expired ends the connection if err says that the session is over.
func (c *streamable) expired(err error, header http.Header) error {
	failed, ok := errors.AsType[*HTTPError](err)
	if !ok || failed.Status != http.StatusNotFound || header["Mcp-Session-Id"] == nil {
		return err
	}
	failed.Err = ErrSessionExpired
	c.end(ErrSessionExpired)
	return failed
}

// begin keeps the id of a session (specification 2025-11-25, streamable HTTP,
// session management).
func (c *streamable) begin(session string) {
	if strings.ContainsFunc(session, func(r rune) bool { return r < '!' || r > '~' }) {
		c.cfg.Log.Debug("the id of the session has characters that it must not have")
		session = ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = session
}

// SetRevision implements [Conn].
func (c *streamable) SetRevision(revision string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision = revision
	c.listenIfDue()
}

// Listen implements [Conn].
func (c *streamable) Listen() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = true
	c.listenIfDue()
	if !c.listening {
		return closedChannel
	}
	return c.heard
}

func (c *streamable) listenIfDue() {
	if c.listening || !c.wanted || c.revision == "" || c.revision >= firstModern {
		return
	}
	if c.closing {
		return
	}
	c.listening = true
	c.inbox.background(c.listen)
}

// state returns what requests need, or why there are no more.
func (c *streamable) state() (revision, session string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revision, c.session, c.err
}

func (c *streamable) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.done)
	}
}

// Done implements [Conn].
func (c *streamable) Done() <-chan struct{} { return c.done }

// Err implements [Conn].
func (c *streamable) Err() error {
	_, _, err := c.state()
	return err
}

// Close implements [Conn]. It lets go of a session.
func (c *streamable) Close(ctx context.Context) {
	c.inbox.takeLeave(ctx)
	c.mu.Lock()
	again := c.closing
	c.closing = true
	session, over := c.session, c.err
	c.mu.Unlock()
	if again {
		<-c.closed
		return
	}
	defer close(c.closed)
	c.end(ErrClosed)
	c.inbox.shut(ctx)
	if session != "" && over == nil {
		c.leaveSession(ctx, session)
	}
}

// leaveSession tells the server that a session is not needed any longer.
func (c *streamable) leaveSession(ctx context.Context, session string) {
	ctx, stop := context.WithTimeout(ctx, cancelGrace)
	defer stop()
	revision, _, _ := c.state()
	header := http.Header{"Mcp-Session-Id": {session}}
	setRevision(header, revision)
	resp, err := c.cfg.send(ctx, http.MethodDelete, c.cfg.Endpoint, header, nil)
	if err != nil {
		// Servers may keep a session for themselves.
		c.cfg.Log.Debug("the server did not end the session", "reason", brief(err))
		return
	}
	discard(resp)
}

// stream is an event stream, over as many connections as it takes.
type stream struct {
	request int64  // zero for the one that belongs to no request
	scope   *scope // of the request, or nil
	modern  bool

	lastID string
	retry  time.Duration // negative if the server does not say
	opened bool          // a connection has been made with a GET
	lively bool          // the last connection was of use

	seen  []uint64 // events of earlier connections
	fresh []uint64 // events of the last one

	pauses backoff.ExponentialBackOff
}

func newStream(request int64, modern bool) *stream {
	return &stream{
		request: request, modern: modern, retry: -1,
		pauses: backoff.ExponentialBackOff{
			InitialInterval: defaultRetry, MaxInterval: maxPause, Multiplier: 2, RandomizationFactor: 0.5,
		},
	}
}

// follow reads a stream until the response to its request.
func (c *streamable) follow(x *scope, s *stream, resp *http.Response) (json.RawMessage, error) {
	for {
		answer, err := c.read(s, resp)
		if answer != nil {
			c.release(x, resp.Body)
			return outcome(resp, answer)
		}
		resp.Body.Close()
		_, broke := errors.AsType[*TransportError](err)
		if !broke || s.modern || s.lastID == "" || x.Err() != nil {
			return nil, err
		}
		if resp, err = c.reopen(x, s, nil); err != nil {
			return nil, err
		}
	}
}

// release lets a stream end by itself for a moment, so that its connection can
// be used again. Those of servers that never end them must not pile up.
func (c *streamable) release(x *scope, body io.ReadCloser) {
	select {
	case c.resting <- struct{}{}:
	default:
		body.Close()
		return
	}
	x.released = true
	c.inbox.tasks.Go(func() {
		defer func() { <-c.resting }()
		timer := time.AfterFunc(restGrace, x.cancel)
		defer timer.Stop()
		defer x.cancel()
		_, _ = io.CopyN(io.Discard, body, maxRest)
		body.Close()
	})
}

// read reads one connection of a stream until the response to its request, or
// its end, which is a [*TransportError].
func (c *streamable) read(s *stream, resp *http.Response) (answer *message, err error) {
	start := time.Now()
	s.connected()
	events := newEventReader(resp.Body, c.cfg.MaxMessageSize)
	events.lastID, events.retry = s.lastID, s.retry
	defer func() { s.lively = s.lively || time.Since(start) >= maxPause }()
	for {
		ev, err := events.next()
		s.lastID, s.retry = events.lastID, events.retry
		if err != nil {
			return nil, readError(resp, err)
		}
		s.lively = true
		if ev.name != "" && ev.name != "message" || s.repeated(ev.id) {
			continue
		}
		msgs, broken := parseMessages(ev.data)
		if ev.cut && ev.id != "" && len(msgs) > 0 {
			events.lastID = ev.id
		}
		if answer := c.sort(msgs, s.request, s.modern, s.scope); answer != nil {
			return answer, nil
		}
		if broken != nil && s.request != 0 {
			return nil, httpError(resp, broken)
		}
		if broken != nil || len(msgs) == 0 && len(ev.data) > 0 {
			c.cfg.Log.Debug("an event is no message")
		}
	}
}

// connected begins a connection.
func (s *stream) connected() {
	s.seen = append(s.seen, s.fresh...)
	s.seen = s.seen[max(len(s.seen)-maxSeen, 0):]
	s.fresh, s.lively = nil, false
}

var idSeed = maphash.MakeSeed()

// repeated reports whether an event came on an earlier connection already.
// Servers that do not look at Last-Event-ID send everything again.
func (s *stream) repeated(id string) bool {
	if id == "" || s.modern {
		return false
	}
	hash := maphash.String(idSeed, id)
	if slices.Contains(s.seen, hash) {
		return true
	}
	if len(s.fresh) == maxSeen {
		s.fresh = append(s.fresh[:0], s.fresh[maxSeen/2:]...)
	}
	s.fresh = append(s.fresh, hash)
	return false
}

// pause returns how long to wait before the next connection. What the server
// asks for counts (specification 2025-11-25, streamable HTTP, and the HTML
// standard, section 9.2.3); attempts that fail, and connections that bring
// nothing, come in growing intervals.
func (s *stream) pause(failed bool) time.Duration {
	if !failed && s.lively {
		s.pauses.Reset()
		if s.retry >= 0 {
			return s.retry
		}
		return defaultRetry
	}
	growing := min(s.pauses.NextBackOff(), maxPause)
	if !failed && s.retry >= 0 {
		// The server lets the client poll.
		growing = min(growing, defaultRetry)
	}
	return max(growing, s.retry)
}

// reopen opens the next connection of a stream, after a pause, and after
// further ones as long as there is hope. The error is that of the attempt
// before, nil if the stream has just ended.
func (c *streamable) reopen(ctx context.Context, s *stream, err error) (*http.Response, error) {
	for {
		pause := s.pause(err != nil)
		if failed, ok := errors.AsType[*HTTPError](err); ok {
			if failed.RetryAfter > Left(ctx) {
				return nil, err
			}
			pause = max(pause, failed.RetryAfter)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, &TransportError{ctx.Err()}
		}
		var resp *http.Response
		if resp, err = c.get(ctx, s); err == nil || !temporary(err) || ctx.Err() != nil {
			return resp, err
		}
		c.cfg.Log.Debug("a stream could not be opened again", "reason", brief(err))
	}
}

// temporary reports whether a request may succeed later.
func temporary(err error) bool {
	if failed, ok := errors.AsType[*HTTPError](err); ok {
		return failed.Status == http.StatusTooManyRequests || failed.Status >= 500 && failed.Status != http.StatusNotImplemented
	}
	_, blocked := errors.AsType[*netpolicy.BlockedHostError](err)
	return !blocked && !errors.Is(err, netpolicy.ErrRedirect)
}

// get makes a GET, which opens or resumes a stream.
func (c *streamable) get(ctx context.Context, s *stream) (*http.Response, error) {
	revision, session, _ := c.state()
	header := http.Header{"Accept": acceptStream}
	setRevision(header, revision)
	if session != "" {
		header["Mcp-Session-Id"] = []string{session}
	}
	if s.lastID != "" {
		header["Last-Event-Id"] = []string{s.lastID}
	}
	resp, err := c.cfg.openStream(ctx, header)
	if err == nil {
		s.opened = true
		return resp, nil
	}
	if s.request != 0 || s.opened {
		return nil, c.expired(err, header)
	}
	// Servers without such a stream should say 405, and many say 404.
	return nil, err
}

// listen reads the stream of what belongs to no request until the connection
// ends, or for as long as the server has one.
func (c *streamable) listen(life context.Context) {
	s := newStream(0, false)
	resp, err := c.get(life, s)
	close(c.heard)
	if err != nil && temporary(err) {
		resp, err = c.reopen(life, s, err)
	}
	for err == nil {
		_, err = c.read(s, resp)
		resp.Body.Close()
		if _, ended := errors.AsType[*TransportError](err); ended {
			err = nil
		} else {
			s.lastID = "" // or what is too large would come again
		}
		resp, err = c.reopen(life, s, err)
	}
	if life.Err() != nil {
		return
	}
	level := slog.LevelDebug
	if failed, ok := errors.AsType[*HTTPError](err); ok && (failed.Status == http.StatusUnauthorized || failed.Status == http.StatusForbidden) {
		level = slog.LevelWarn
	}
	c.cfg.Log.Log(life, level, "the server does not send messages by itself", "reason", brief(err))
}

// openStream makes a GET that opens an event stream.
func (cfg *HTTPConfig) openStream(ctx context.Context, header http.Header) (*http.Response, error) {
	resp, err := cfg.send(ctx, http.MethodGet, cfg.Endpoint, header, nil)
	if err != nil {
		return nil, err
	}
	if mediaType(resp) != mediaStream {
		resp.Body.Close()
		return nil, httpError(resp, ErrNoStream)
	}
	return resp, nil
}

// send makes an HTTP request. Only a response with a status of success is no
// error. The caller closes its body.
func (cfg *HTTPConfig) send(ctx context.Context, method string, to *url.URL, header http.Header, body []byte) (*http.Response, error) {
	req := (&http.Request{
		Method: method, URL: to, Host: to.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if body != nil {
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	resp, err := cfg.Transport.RoundTrip(req)
	if err != nil {
		return nil, &TransportError{err}
	}
	if resp.Body == nil { // of a transport that the user wrote
		resp.Body = http.NoBody
	}
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	failed := httpError(resp, nil)
	if rpc := rpcErrorIn(text); rpc != nil {
		failed.Err = rpc
	}
	return nil, failed
}

// rpcErrorIn returns the JSON-RPC error that a body consists of, whatever its
// id says, or nil.
func rpcErrorIn(text []byte) *jsonrpc.Error {
	msgs, _ := parseMessages(text)
	for _, m := range msgs {
		if m.err != nil {
			rpc, _ := errors.AsType[*jsonrpc.Error](callError(m.err))
			return rpc
		}
	}
	return nil
}

// discard ends a response whose body does not matter. A short one is read, so
// that the connection can be used again.
func discard(resp *http.Response) {
	if resp.ContentLength > 0 && resp.ContentLength <= maxRest {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	resp.Body.Close()
}

// readError returns the error for a body that could not be read to its end, or
// that ended too early.
func readError(resp *http.Response, err error) error {
	if _, large := errors.AsType[*netpolicy.TooLargeError](err); large {
		return httpError(resp, err)
	}
	if err == io.EOF {
		err = ErrNoResponse
	}
	return &TransportError{err}
}

func httpError(resp *http.Response, err error) *HTTPError {
	return &HTTPError{
		Status: resp.StatusCode, Media: mediaType(resp), Err: err,
		Challenges: resp.Header.Values("WWW-Authenticate"),
		RetryAfter: retryAfter(resp.Header.Get("Retry-After")),
	}
}

// brief describes an error for the log, without words of the server.
func brief(err error) string {
	if failed, ok := errors.AsType[*HTTPError](err); ok {
		return "HTTP " + strconv.Itoa(failed.Status)
	}
	return "no response"
}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3).
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(time.Until(at), 0), maxRetryAfter)
}

// mediaType returns the media type of a body, empty if it has none.
func mediaType(resp *http.Response) string {
	value := resp.Header.Get("Content-Type")
	if value == mediaJSON || value == mediaStream {
		return value
	}
	media, _, _ := mime.ParseMediaType(value)
	return media
}

// postHeader returns the headers that every message has.
func postHeader(revision, session string) http.Header {
	header := make(http.Header, 8)
	header["Accept"], header["Content-Type"] = acceptAll, contentJSON
	setRevision(header, revision)
	if session != "" {
		header["Mcp-Session-Id"] = []string{session}
	}
	return header
}

func setRevision(header http.Header, revision string) {
	if revision != "" {
		header["Mcp-Protocol-Version"] = []string{revision}
	}
}

// EncodeHeader returns a text as the value of a header, in Base64 where it
// could not be sent as it is (specification 2026-07-28, streamable HTTP, value
// encoding).
func EncodeHeader(s string) string {
	const prefix, suffix = "=?base64?", "?="
	safe := strings.Trim(s, " \t") == s &&
		!strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && r < ' ' || r > '~' }) &&
		!(strings.HasPrefix(s, prefix) && strings.HasSuffix(s, suffix))
	if safe {
		return s
	}
	return prefix + base64.StdEncoding.EncodeToString([]byte(s)) + suffix
}

// scope is the context of a request. It ends when the context of the caller
// does, or the connection.
type scope struct {
	context.Context
	cancel context.CancelFunc
	// detach makes it forget the caller's context. It reports false if that
	// has ended.
	detach   func() bool
	released bool // whether something else cancels it

	questions context.Context // of what the server asks in the middle; nil if nothing
	unask     context.CancelFunc
}

// asking returns the context of what the server asks in the middle of the
// request. It has nothing of the request but its end: that a question belongs
// to it is what servers should do and not what they must (specification
// 2025-11-25, streamable HTTP, sending messages to the server).
func (x *scope) asking(life context.Context) context.Context {
	if x.questions == nil {
		x.questions, x.unask = context.WithCancel(life)
	}
	return x.questions
}

// enter begins a request that [inbox.shut] ends and waits for. The caller
// leaves.
func (b *inbox) enter(ctx context.Context) (*scope, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.tasks.Add(1)
	life, cancel := context.WithCancel(withValues{b.life, ctx})
	return &scope{Context: life, cancel: cancel, detach: context.AfterFunc(ctx, cancel)}, nil
}

func (b *inbox) leave(x *scope) {
	x.detach()
	if x.unask != nil {
		x.unask()
	}
	if !x.released {
		x.cancel()
	}
	b.tasks.Done()
}

// blame returns err, unless an exchange failed because somebody did not wait
// for it.
func (b *inbox) blame(ctx context.Context, err error) error {
	if _, broke := errors.AsType[*TransportError](err); broke {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if b.life.Err() != nil {
			return ErrClosed
		}
	}
	return err
}

// withValues is a context with the values of another one too.
type withValues struct {
	context.Context
	values context.Context
}

// Value implements [context.Context].
func (c withValues) Value(key any) any {
	// Its own come first: the context package finds its parents so.
	if value := c.Context.Value(key); value != nil {
		return value
	}
	return c.values.Value(key)
}
