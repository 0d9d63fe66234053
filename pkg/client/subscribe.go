package client

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/mcpctl/mcpctl/pkg/client/internal/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	opListen      = "subscriptions/listen"
	opSubscribe   = "resources/subscribe"
	opUnsubscribe = "resources/unsubscribe"
)

// Subscribe asks the server to say when a resource changes, see
// [Server.OnUpdated], and returns when it has agreed. Asking twice for one
// resource does nothing. The subscription is restored when the connection has
// to be made anew, until [Server.Unsubscribe].
//
// Servers of revision 2026-07-28 get one subscriptions/listen stream for
// everything that the client subscribes to; older ones resources/subscribe.
// A server that does not agree makes it fail with [ErrNotSupported].
func (s *Server) Subscribe(ctx context.Context, uri string) error {
	ctx, op, err := s.begin(ctx, opSubscribe, 0)
	if err != nil {
		return err
	}
	defer op.end()
	gen := s.subs.want(func(f *filter) { f.uris[uri] = 1 })
	honoured, err := s.subs.wait(ctx, gen)
	if honoured.uris[uri] > 0 {
		return nil
	}
	s.subs.want(func(f *filter) { delete(f.uris, uri) })
	if err == nil {
		err = &notSupportedError{"the server does not agree to tell about " + uri, s.Peer().Revision}
	}
	return s.failure(ctx, opSubscribe, err, nil)
}

// Unsubscribe takes [Server.Subscribe] back. When nothing is left to listen
// for, the stream is closed.
func (s *Server) Unsubscribe(ctx context.Context, uri string) error {
	ctx, op, err := s.begin(ctx, opUnsubscribe, 0)
	if err != nil {
		return err
	}
	defer op.end()
	gen := s.subs.want(func(f *filter) { delete(f.uris, uri) })
	if honoured, err := s.subs.wait(ctx, gen); err != nil && honoured.uris[uri] > 0 {
		return s.failure(ctx, opUnsubscribe, err, nil)
	}
	return nil
}

// OnUpdated has f called with the URI of each resource that has changed, as
// the server says, until stop is called. What changes several times while f is
// busy may be told once.
func (s *Server) OnUpdated(f func(ctx context.Context, uri string)) (stop func()) {
	return s.subs.handle(func(m *subscriptions) { m.onUpdated[m.next] = f }, func(m *subscriptions, id int) { delete(m.onUpdated, id) })
}

// OnListChanged has f called when a list of the server has changed, until stop
// is called, and returns when the server has agreed to tell; it connects if
// need be. Resources include their templates. A server that does not tell
// makes it fail with [ErrNotSupported].
func (s *Server) OnListChanged(ctx context.Context, kind Kind, f func(context.Context)) (stop func(), err error) {
	ctx, op, err := s.begin(ctx, opListen, 0)
	if err != nil {
		return nil, err
	}
	defer op.end()
	remove := s.subs.handle(
		func(m *subscriptions) { m.onChanged[m.next] = changeHandler{kind, f} },
		func(m *subscriptions, id int) { delete(m.onChanged, id) },
	)
	stop = sync.OnceFunc(func() {
		remove()
		s.subs.want(func(fl *filter) {
			if fl.kinds[kind]--; fl.kinds[kind] <= 0 {
				delete(fl.kinds, kind)
			}
		})
	})
	gen := s.subs.want(func(fl *filter) { fl.kinds[kind]++ })
	honoured, err := s.subs.wait(ctx, gen)
	if honoured.kinds[kind] > 0 {
		return stop, nil
	}
	stop()
	if err == nil {
		err = &notSupportedError{"the server does not tell about changes of its " + string(kind), s.Peer().Revision}
	}
	return nil, s.failure(ctx, opListen, err, nil)
}

// filter is what is listened for, and how often it is wanted.
type filter struct {
	uris  map[string]int
	kinds map[Kind]int
}

func newFilter() filter { return filter{make(map[string]int), make(map[Kind]int)} }

func (f filter) clone() filter { return filter{maps.Clone(f.uris), maps.Clone(f.kinds)} }

func (f filter) empty() bool { return len(f.uris)+len(f.kinds) == 0 }

// same reports whether two filters say the same to a server.
func (f filter) same(g filter) bool {
	eq := func(int, int) bool { return true }
	return maps.EqualFunc(f.uris, g.uris, eq) && maps.EqualFunc(f.kinds, g.kinds, eq)
}

type changeHandler struct {
	kind Kind
	f    func(context.Context)
}

// subscriptions keeps a server telling what is wanted. One goroutine opens the
// stream, watches it, and opens it anew when it breaks or when something else
// is wanted; it ends when nothing is.
type subscriptions struct {
	server *Server
	life   context.Context
	kill   context.CancelFunc
	tasks  sync.WaitGroup

	mu        sync.Mutex
	next      int
	onUpdated map[int]func(context.Context, string)
	onChanged map[int]changeHandler

	wanted   filter
	gen      uint64        // of wanted
	changed  chan struct{} // closed when wanted changes
	running  bool
	closed   bool
	done     uint64 // the last gen that was dealt with
	honoured filter // what the server agreed to for it
	err      error  // or why it could not be asked
	settled  chan struct{}
	streams  map[int64]*stream
}

func (m *subscriptions) init(s *Server) {
	m.server = s
	m.life, m.kill = context.WithCancel(context.Background())
	m.onUpdated = make(map[int]func(context.Context, string))
	m.onChanged = make(map[int]changeHandler)
	m.wanted, m.honoured = newFilter(), newFilter()
	m.changed, m.settled = make(chan struct{}), make(chan struct{})
	m.streams = make(map[int64]*stream)
}

func (m *subscriptions) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.kill()
	m.tasks.Wait()
}

// any reports whether anything is wanted.
func (m *subscriptions) any() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.wanted.empty()
}

func (m *subscriptions) handle(add func(*subscriptions), remove func(*subscriptions, int)) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	id := m.next
	add(m)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		remove(m, id)
	}
}

func (m *subscriptions) tellUpdated(uri string) {
	m.mu.Lock()
	handlers := ordered(m.onUpdated)
	m.mu.Unlock()
	for _, f := range handlers {
		f(m.life, uri)
	}
}

func (m *subscriptions) tellChanged(kind Kind) {
	m.mu.Lock()
	handlers := ordered(m.onChanged)
	m.mu.Unlock()
	for _, h := range handlers {
		if h.kind == kind {
			h.f(m.life)
		}
	}
}

// ordered returns handlers in the order in which they were added.
func ordered[H any](handlers map[int]H) []H {
	var all []H
	for _, id := range slices.Sorted(maps.Keys(handlers)) {
		all = append(all, handlers[id])
	}
	return all
}

// want changes what is listened for and returns what to wait for.
func (m *subscriptions) want(change func(*filter)) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.wanted.clone()
	change(&m.wanted)
	if m.running && m.wanted.same(before) || !m.running && m.wanted.empty() {
		return m.gen // dealt with, or about to be
	}
	m.gen++
	close(m.changed)
	m.changed = make(chan struct{})
	if !m.running && !m.closed {
		m.running = true
		m.tasks.Go(m.run)
	}
	return m.gen
}

// wait waits until the server has been asked for what was wanted at gen.
func (m *subscriptions) wait(ctx context.Context, gen uint64) (filter, error) {
	for {
		m.mu.Lock()
		done, honoured, err, settled := m.done, m.honoured, m.err, m.settled
		m.mu.Unlock()
		if done >= gen {
			return honoured, err
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return filter{}, ctx.Err()
		}
	}
}

// settle says how asking for gen went.
func (m *subscriptions) settle(gen uint64, honoured filter, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done, m.honoured, m.err = gen, honoured, err
	close(m.settled)
	m.settled = make(chan struct{})
}

// run is the goroutine.
func (m *subscriptions) run() {
	open := idle()
	defer func() { open.stop() }()
	pauses := backoff.NewExponentialBackOff()
	pauses.MaxInterval = 30 * time.Second
	told := true // whether the trouble was told; at first to whoever subscribes
	for {
		m.mu.Lock()
		wanted, gen, changed := m.wanted.clone(), m.gen, m.changed
		m.mu.Unlock()
		err := error(nil)
		if open.over() || !wanted.same(open.asked) {
			var next *stream
			if next, err = m.open(wanted, open); err == nil {
				open.stop()
				open = next
			}
		}
		m.settle(gen, open.agreed(), err)
		if err == nil {
			pauses.Reset()
			told = wanted.empty()
			if m.finish(gen) {
				return
			}
		}
		if err == nil || !open.over() {
			// What was there before goes on if the server refuses more.
			select {
			case <-changed:
				continue
			case <-open.ended:
				err = open.err
			case <-m.life.Done():
				err = m.life.Err()
			}
			if err == nil {
				err = wire.ErrNoResponse // it said goodbye
			}
		} else if !told {
			told = true
			m.server.tellError(m.server.failure(m.life, opListen, err, nil))
		}
		failed := m.server.failure(m.life, opListen, err, nil)
		if m.life.Err() != nil || failed.Class == ClassClosed {
			m.stopped(err)
			return
		}
		if !failed.passing() && failed.Class != ClassRefused && failed.Class != ClassTimeout {
			// Another attempt would end the same: a login, for instance.
			if !told {
				m.server.tellError(failed)
			}
			m.stopped(failed)
			return
		}
		m.server.log.Debug("the subscription broke; trying again", "err", failed)
		timer := time.NewTimer(max(pauses.NextBackOff(), failed.RetryAfter))
		select {
		case <-timer.C:
		case <-changed:
		case <-m.life.Done():
		}
		timer.Stop()
	}
}

// finish ends the goroutine if nothing is wanted.
func (m *subscriptions) finish(gen uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gen != gen || !m.wanted.empty() {
		return false
	}
	m.running = false
	return true
}

// stopped ends the goroutine for a reason.
func (m *subscriptions) stopped(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = false
	m.done, m.honoured, m.err = m.gen, newFilter(), err
	close(m.settled)
	m.settled = make(chan struct{})
}

// stream is a server that tells.
type stream struct {
	session  *session
	asked    filter
	honoured filter
	acked    chan struct{}
	cancel   context.CancelFunc
	ended    chan struct{}
	err      error // of ended
}

// idle is a stream of a server that tells nothing.
func idle() *stream {
	return &stream{asked: newFilter(), honoured: newFilter(), cancel: func() {}, ended: make(chan struct{})}
}

// stop ends the stream. It is not called on what has already been stopped.
func (s *stream) stop() {
	s.cancel()
	if s.session != nil {
		<-s.ended
	}
}

func (s *stream) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// agreed returns what the server tells now.
func (s *stream) agreed() filter {
	if s.over() {
		return newFilter()
	}
	return s.honoured
}

// open has the server tell what is wanted.
func (m *subscriptions) open(wanted filter, before *stream) (*stream, error) {
	if wanted.empty() && (before.session == nil || before.session.modern()) {
		return idle(), nil
	}
	ctx, op, err := m.server.begin(m.life, opListen, 0)
	if err != nil {
		return nil, err
	}
	defer op.end()
	sess, err := m.server.session(ctx)
	switch {
	case err != nil:
		return nil, err
	case sess.modern():
		return m.listen(ctx, sess, wanted)
	}
	return m.subscribe(ctx, sess, wanted, before)
}

// listen opens a subscriptions/listen stream and waits until it is
// acknowledged (specification 2026-07-28, subscriptions).
func (m *subscriptions) listen(ctx context.Context, sess *session, wanted filter) (*stream, error) {
	notifications := make(map[string]any)
	for kind := range wanted.kinds {
		notifications[string(kind)+"ListChanged"] = true
	}
	if len(wanted.uris) > 0 {
		notifications["resourceSubscriptions"] = slices.Sorted(maps.Keys(wanted.uris))
	}
	p, err := sess.params(requestMeta{}).set("notifications", notifications).done()
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(m.life)
	st := &stream{session: sess, asked: wanted, acked: make(chan struct{}), cancel: cancel, ended: make(chan struct{})}
	id := sess.nextID()
	m.mu.Lock()
	m.streams[id] = st
	m.mu.Unlock()
	go func() {
		_, err := sess.conn.Call(life, wire.Request{ID: id, Method: opListen, Params: p})
		m.mu.Lock()
		delete(m.streams, id)
		m.mu.Unlock()
		st.err = err
		close(st.ended)
	}()
	select {
	case <-st.acked:
		return st, nil
	case <-st.ended:
		cancel()
		if st.err == nil {
			return nil, protocolErrorf("the server ended the subscription before it agreed to it")
		}
		if rpc, ok := errors.AsType[*jsonrpc.Error](st.err); ok && rpc.Code == jsonrpc.CodeMethodNotFound {
			return nil, &notSupportedError{"the server tells about no changes", sess.revision}
		}
		return nil, st.err
	case <-ctx.Done():
		st.stop()
		return nil, context.Cause(ctx)
	}
}

// notified takes what a server says about a stream.
func (m *subscriptions) notified(sess *session, n wire.Notification) {
	id := n.Request
	parts := members(n.Params, "_meta", "notifications", "requestId")
	raw := parts[2]
	if parts[0] != nil && raw == nil {
		raw = member(parts[0], metaSubscriptionID)
	}
	if number, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		id = number
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	st := m.streams[id]
	if st == nil || st.session != sess {
		return
	}
	if n.Method == "notifications/cancelled" {
		st.cancel()
		return
	}
	select {
	case <-st.acked:
		return
	default:
	}
	var agreed struct {
		Tools     bool     `json:"toolsListChanged"`
		Prompts   bool     `json:"promptsListChanged"`
		Resources bool     `json:"resourcesListChanged"`
		URIs      []string `json:"resourceSubscriptions"`
	}
	if json.Unmarshal(parts[1], &agreed) != nil {
		m.server.log.Debug("an acknowledgement does not have the shape of one")
	}
	st.honoured = newFilter()
	for kind, ok := range map[Kind]bool{KindTools: agreed.Tools, KindPrompts: agreed.Prompts, KindResources: agreed.Resources} {
		if ok {
			st.honoured.kinds[kind] = 1
		}
	}
	for _, uri := range agreed.URIs {
		st.honoured.uris[uri] = 1
	}
	close(st.acked)
}

// metaSubscriptionID correlates notifications with their stream.
const metaSubscriptionID = "io.modelcontextprotocol/subscriptionId"

// subscribe makes the requests of older revisions (specification 2025-11-25,
// resources, subscriptions). Changes of lists come without being asked for.
func (m *subscriptions) subscribe(ctx context.Context, sess *session, wanted filter, before *stream) (*stream, error) {
	sess.listen(ctx)
	had := newFilter()
	if before.session == sess {
		had = before.honoured
	}
	caps := sess.capabilities
	life, cancel := context.WithCancel(m.life)
	st := &stream{session: sess, asked: wanted, honoured: newFilter(), cancel: cancel, ended: make(chan struct{})}
	for kind, tells := range map[Kind]bool{
		KindTools:     caps.Tools != nil && caps.Tools.ListChanged,
		KindPrompts:   caps.Prompts != nil && caps.Prompts.ListChanged,
		KindResources: caps.Resources != nil && caps.Resources.ListChanged,
	} {
		if tells {
			st.honoured.kinds[kind] = 1
		}
	}
	request := func(method, uri string) error {
		_, err := sess.exchange(ctx, wire.Request{Method: method}, requestMeta{}, uri, func(p *params) { p.set("uri", uri) })
		return err
	}
	for _, uri := range slices.Sorted(maps.Keys(wanted.uris)) {
		if had.uris[uri] == 0 {
			if caps.Resources == nil || !caps.Resources.Subscribe {
				continue
			}
			if err := request(opSubscribe, uri); err != nil {
				if !isAnswer(err) {
					cancel()
					return nil, err
				}
				// A resource that it refuses is no reason to lose others.
				m.server.log.Debug("the server refuses a subscription", "err", m.server.failure(ctx, opSubscribe, err, nil))
				continue
			}
		}
		st.honoured.uris[uri] = 1
	}
	for uri := range had.uris {
		if wanted.uris[uri] == 0 {
			if err := request(opUnsubscribe, uri); err != nil && !isAnswer(err) {
				cancel()
				return nil, err
			}
		}
	}
	m.tasks.Go(func() {
		defer close(st.ended)
		select {
		case <-sess.conn.Done():
			st.err = sess.conn.Err()
			if errors.Is(st.err, wire.ErrClosed) {
				st.err = wire.ErrNoResponse // by us, to make another
			}
		case <-life.Done():
		}
	})
	return st, nil
}
