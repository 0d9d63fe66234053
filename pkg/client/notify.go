package client

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"

	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
)

// Kind is a kind of thing that servers list.
type Kind string

// The kinds whose lists can change.
const (
	KindTools     Kind = "tools"
	KindResources Kind = "resources" // and resource templates
	KindPrompts   Kind = "prompts"
)

// maxMail bounds how many notifications wait for a handler, maxMailBytes their
// size, and maxURI the size of a URI among them; all but the first are in
// bytes.
const (
	maxMail      = 1000
	maxMailBytes = 16 << 20
	maxURI       = 8 << 10
)

// queue is what waits for a handler. Of more than it may hold the oldest is
// dropped.
type queue[F any] struct {
	letters []letter[F]
	size    int
	dropped int
}

type letter[F any] struct {
	deliver F
	size    int
}

// add adds a letter that keeps so many bytes alive.
func (q *queue[F]) add(deliver F, size int) {
	q.letters = append(q.letters, letter[F]{deliver, size})
	q.size += size
	old := 0
	for len(q.letters)-old > maxMail || q.size > maxMailBytes && len(q.letters)-old > 1 {
		q.size -= q.letters[old].size
		old++
	}
	q.letters = slices.Delete(q.letters, 0, old)
	q.dropped += old
}

// mailbox calls the handlers of a server one after the other, apart from the
// goroutine that reads, which a slow handler must not hold up. What waits is
// bounded. Changes of a list and updates of a resource are kept as facts and
// not as messages, so that none of these is lost.
type mailbox struct {
	server *Server
	life   context.Context
	kill   context.CancelFunc

	mu      sync.Mutex
	mail    queue[func(context.Context)]
	changed []Kind
	updated []string // URIs
	running bool
	closed  bool
	idle    chan struct{} // closed when the runner ends; nil without one
}

func (m *mailbox) init(s *Server) {
	m.server = s
	m.life, m.kill = context.WithCancel(context.Background())
}

// post adds a message that keeps so many bytes alive.
func (m *mailbox) post(size int, f func(context.Context)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mail.add(f, size)
	m.run()
}

// postChanged says that a list has changed.
func (m *mailbox) postChanged(kind Kind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.changed, kind) {
		m.changed = append(m.changed, kind)
		m.run()
	}
}

// postUpdated says that a resource was updated. There is always room for one
// that was subscribed to.
func (m *mailbox) postUpdated(uri string) {
	asked := m.server.subs.wants(uri)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case slices.Contains(m.updated, uri):
	case !asked && (len(m.updated) >= maxMail || len(uri) > maxURI):
		m.mail.dropped++
	default:
		m.updated = append(m.updated, uri)
		m.run()
	}
}

// wants reports whether a resource was subscribed to.
func (m *subscriptions) wants(uri string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wanted.uris[uri] > 0
}

// run starts a goroutine for what waits, unless there is one. The lock is held.
func (m *mailbox) run() {
	if m.running || m.closed {
		return
	}
	m.running = true
	m.idle = make(chan struct{})
	go m.deliver(m.idle)
}

func (m *mailbox) deliver(idle chan struct{}) {
	defer close(idle)
	for {
		m.mu.Lock()
		mail, changed, updated := m.mail, m.changed, m.updated
		m.mail, m.changed, m.updated = queue[func(context.Context)]{}, nil, nil
		if m.closed || len(mail.letters)+len(changed)+len(updated) == 0 {
			m.running = false
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		if mail.dropped > 0 {
			m.server.log.Warn("the server sends more than its handlers take; the oldest messages were dropped", "count", mail.dropped)
		}
		for _, kind := range changed {
			m.server.subs.tellChanged(kind)
		}
		for _, uri := range updated {
			m.server.subs.tellUpdated(uri)
		}
		for _, l := range mail.letters {
			if m.life.Err() != nil {
				break
			}
			l.deliver(m.life)
		}
	}
}

// close ends delivery and waits for the handler that runs, or for the end of
// ctx: a handler that closes its own client would wait for itself.
func (m *mailbox) close(ctx context.Context) {
	m.mu.Lock()
	m.closed = true
	idle := m.idle
	m.mu.Unlock()
	m.kill()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// inbound takes the progress and the logs of one call, and hands them to the
// call's own handlers in order.
type inbound struct {
	onProgress func(Progress)
	onLog      func(LogMessage)
	forward    func(method string, params json.RawMessage) // instead of both
	ask        asker                                       // of a request that is forwarded
	token      string                                      // JSON text

	mu    sync.Mutex
	wake  sync.Cond
	mail  queue[func()]
	ended bool
	done  chan struct{}
}

func newInbound(onProgress func(Progress), onLog func(LogMessage), token string) *inbound {
	in := &inbound{onProgress: onProgress, onLog: onLog, token: token, done: make(chan struct{})}
	in.wake.L = &in.mu
	go in.deliver()
	return in
}

// post adds a message that keeps so many bytes alive.
func (in *inbound) post(size int, f func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return
	}
	in.mail.add(f, size)
	in.wake.Signal()
}

func (in *inbound) deliver() {
	defer close(in.done)
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		for len(in.mail.letters) == 0 && !in.ended {
			in.wake.Wait()
		}
		if len(in.mail.letters) == 0 {
			return
		}
		mail := in.mail
		in.mail = queue[func()]{dropped: mail.dropped}
		in.mu.Unlock()
		for _, l := range mail.letters {
			l.deliver()
		}
		in.mu.Lock()
	}
}

// finish takes nothing more and waits until what has come was handed over.
func (in *inbound) finish(log *slog.Logger) {
	in.mu.Lock()
	in.ended = true
	in.wake.Signal()
	in.mu.Unlock()
	<-in.done
	if dropped := in.mail.dropped; dropped > 0 {
		log.Warn("a call's handlers took longer than its messages came; the oldest were dropped", "count", dropped)
	}
}

// watch has in get what the server says about a request.
func (s *session) watch(request int64, in *inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = make(map[int64]*inbound)
	}
	s.calls[request] = in
}

// unwatch ends that, once everything was handed over.
func (s *session) unwatch(request int64, in *inbound) {
	s.mu.Lock()
	delete(s.calls, request)
	s.mu.Unlock()
	in.finish(s.server.log)
}

// notified takes a notification of the server. It does not block.
func (s *session) notified(n wire.Notification) {
	srv := s.server
	switch n.Method {
	case "notifications/progress":
		s.progressed(n)
	case "notifications/message":
		s.logged(n)
	case "notifications/tools/list_changed":
		srv.listChanged(KindTools)
	case "notifications/resources/list_changed":
		srv.listChanged(KindResources)
	case "notifications/prompts/list_changed":
		srv.listChanged(KindPrompts)
	case "notifications/resources/updated":
		if uri := text(member(n.Params, "uri")); uri != "" {
			srv.lists.forgetResource(uri)
			if srv.subs.current(s, n) {
				srv.mailbox.postUpdated(uri)
			}
		}
	case "notifications/subscriptions/acknowledged", "notifications/cancelled":
		srv.subs.notified(s, n)
	default:
		srv.log.Debug("notification is not known", "method", wire.OneLine(n.Method, maxDetail))
	}
}

func (s *Server) listChanged(kind Kind) {
	s.lists.forget(kind)
	s.mailbox.postChanged(kind)
}

func (s *session) progressed(n wire.Notification) {
	parts := members(n.Params, "progressToken", "progress", "total", "message")
	p := Progress{Server: s.server.Name(), Message: text(parts[3])}
	if parts[0] == nil || json.Unmarshal(parts[1], &p.Progress) != nil {
		return
	}
	if parts[2] != nil && json.Unmarshal(parts[2], &p.Total) != nil {
		p.Total = 0
	}
	if parts[0][0] == '"' {
		p.Token = text(parts[0])
	} else {
		p.Token = json.Number(parts[0])
	}
	s.mu.Lock()
	var in *inbound
	for _, call := range s.calls {
		if (call.onProgress != nil || call.forward != nil) && call.token == string(parts[0]) {
			in = call
		}
	}
	s.mu.Unlock()
	switch {
	case in == nil:
	case in.forward != nil:
		in.post(len(n.Params), func() { in.forward(n.Method, n.Params) })
		return
	default:
		in.post(len(n.Params), func() { in.onProgress(p) })
		return
	}
	if f := s.server.handlers.Progress; f != nil {
		s.server.mailbox.post(len(n.Params), func(ctx context.Context) { f(ctx, p) })
	}
}

func (s *session) logged(n wire.Notification) {
	if !s.modern() && s.server.logLevel() == "" {
		return // servers of older revisions log unasked
	}
	parts := members(n.Params, "level", "logger", "data")
	m := LogMessage{Server: s.server.Name(), Level: text(parts[0]), Logger: text(parts[1]), Data: parts[2]}
	if !knownLevel(m.Level) {
		m.Level = "info"
	}
	s.mu.Lock()
	for id, in := range s.calls {
		// On a shared channel nothing says which call it is about. Calls of
		// our own may all know; what is forwarded may be for somebody else.
		switch {
		case n.Request != 0 && n.Request != id:
		case in.forward != nil && n.Request == 0 && !s.alone(id):
		case in.forward != nil:
			in.post(len(n.Params), func() { in.forward(n.Method, n.Params) })
		case in.onLog != nil:
			in.post(len(n.Params), func() { in.onLog(m) })
		}
	}
	s.mu.Unlock()
	srv := s.server
	srv.log.Log(context.Background(), slogLevel(m.Level), ServerLog, "severity", m.Level,
		"logger", wire.OneLine(m.Logger, maxDetail), "data", wire.OneLine(srv.secrets.String(string(m.Data)), maxLogged))
	if f := srv.handlers.Log; f != nil {
		srv.mailbox.post(len(n.Params), func(ctx context.Context) { f(ctx, m) })
	}
}

// ServerLog is the message of the records in which [Options.Logger] is told what
// a server logs. Their attributes are server, severity, logger and data, which
// is JSON, or the beginning of it.
const ServerLog = "server log"

// maxLogged bounds, in bytes, how much of a server's message goes into a log.
const maxLogged = 2 << 10

// logLevels are the levels of RFC 5424, section 6.2.1, and how slog has them.
var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "notice": slog.LevelInfo + 2, "warning": slog.LevelWarn,
	"error": slog.LevelError, "critical": slog.LevelError + 2, "alert": slog.LevelError + 4, "emergency": slog.LevelError + 6,
}

func slogLevel(level string) slog.Level { return logLevels[level] }

func knownLevel(level string) bool {
	_, ok := logLevels[level]
	return ok
}

// logOff asks a server for no logs.
const logOff = "off"

func validLogLevel(level string) bool { return level == "" || level == logOff || knownLevel(level) }

// logLevel returns the level to ask for, empty for none.
func (s *Server) logLevel() string {
	switch s.spec.LogLevel {
	case "":
		return "info"
	case logOff:
		return ""
	}
	return s.spec.LogLevel
}
