package client

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
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
	had := false
	gen := s.subs.want(func(f *filter) {
		had = f.uris[uri] > 0
		f.uris[uri] = 1
	})
	honoured, err := s.subs.wait(ctx, gen)
	if honoured.uris[uri] > 0 {
		return nil
	}
	if !had { // else an earlier Subscribe still counts
		s.subs.want(func(f *filter) { delete(f.uris, uri) })
	}
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
// busy may be told once. When a subscription had broken and is restored, f is
// called too, since nobody told what happened in between.
func (s *Server) OnUpdated(f func(ctx context.Context, uri string)) (stop func()) {
	return s.subs.handle(func(m *subscriptions) { m.onUpdated[m.next] = f }, func(m *subscriptions, id int) { delete(m.onUpdated, id) })
}

// OnListChanged has f called when a list of the server has changed, until stop
// is called, and returns when the server has agreed to tell; it connects if
// need be. Where that had broken and is restored, f is called as well, as with
// [Server.OnUpdated]. Resources include their templates. A server that does not tell
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

// covers reports whether f has all that g has.
func (f filter) covers(g filter) bool { return g.without(f).empty() }

// same reports whether two filters say the same to a server.
func (f filter) same(g filter) bool { return f.covers(g) && g.covers(f) }

// without returns what g does not have.
func (f filter) without(g filter) filter {
	f = f.clone()
	maps.DeleteFunc(f.uris, func(uri string, _ int) bool { return g.uris[uri] > 0 })
	maps.DeleteFunc(f.kinds, func(kind Kind, _ int) bool { return g.kinds[kind] > 0 })
	return f
}

// and returns what both have.
func (f filter) and(g filter) filter { return f.without(f.without(g)) }

// add adds what g has.
func (f filter) add(g filter) {
	maps.Copy(f.uris, g.uris)
	maps.Copy(f.kinds, g.kinds)
}

// String names what is listened for.
func (f filter) String() string {
	var names []string
	for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
		names = append(names, "its "+string(kind))
	}
	return strings.Join(slices.AppendSeq(names, maps.Keys(f.uris)), ", ")
}

// apart returns a filter for each thing.
func (f filter) apart() []filter {
	var all []filter
	for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
		all = append(all, filter{nil, map[Kind]int{kind: 1}})
	}
	for _, uri := range slices.Sorted(maps.Keys(f.uris)) {
		all = append(all, filter{map[string]int{uri: 1}, nil})
	}
	return all
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
	known    filter // what it has ever agreed to, since it was wanted
	err      error  // or why it could not be asked
	settled  chan struct{}
	streams  map[int64]*stream
	ended    chan struct{} // says that one of the streams has
}

func (m *subscriptions) init(s *Server) {
	m.server = s
	m.life, m.kill = context.WithCancel(context.Background())
	m.onUpdated = make(map[int]func(context.Context, string))
	m.onChanged = make(map[int]changeHandler)
	m.wanted, m.honoured, m.known = newFilter(), newFilter(), newFilter()
	m.changed, m.settled = make(chan struct{}), make(chan struct{})
	m.streams = make(map[int64]*stream)
	m.ended = make(chan struct{}, 1)
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
	m.known = m.known.and(m.wanted)
	if m.running && m.wanted.same(before) && m.done == m.gen && m.err == nil && m.honoured.covers(m.wanted) || !m.running && m.wanted.empty() {
		return m.gen // dealt with
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
	open := listening{asked: newFilter()}
	defer func() { open.stop(nil) }()
	pauses := backoff.NewExponentialBackOff()
	pauses.MaxInterval = 30 * time.Second
	told := true          // whether the trouble was told; at first to whoever subscribes
	before := newFilter() // what the server agreed to when it last did
	for {
		m.mu.Lock()
		wanted, gen, changed := m.wanted.clone(), m.gen, m.changed
		m.mu.Unlock()
		err, whole := error(nil), open.agreed()
		if open.broken() != nil || !wanted.same(open.asked) || !open.agreed().covers(wanted) {
			var next listening
			if next, err = m.open(wanted, open); err == nil {
				if whole = open.agreed(); next.session != open.session {
					whole = newFilter()
				}
				open.stop(next.streams)
				open = next
			}
		}
		agreed := open.agreed()
		m.settle(gen, agreed, err)
		if err == nil {
			pauses.Reset()
			told = wanted.empty()
			if lost := before.and(wanted).without(agreed); !lost.empty() {
				m.server.tellError(m.server.failure(m.life, opListen, &notSupportedError{
					"the server no longer agrees to tell about " + lost.String(), m.server.Peer().Revision,
				}, nil))
			}
			before = agreed
			m.mu.Lock()
			missed := m.known.and(wanted).and(agreed).without(whole)
			m.known.add(agreed.and(m.wanted))
			m.mu.Unlock()
			m.server.missed(missed)
			if m.finish(gen) {
				return
			}
		}
		if err == nil || len(open.streams) > 0 && open.broken() == nil {
			// What was there before goes on if the server refuses more.
			if err = m.watch(open, changed); err == nil {
				continue
			}
		} else if !told {
			told = true
			m.server.tellError(m.server.failure(m.life, opListen, err, nil))
		}
		failed := m.server.failure(m.life, opListen, err, nil)
		if m.life.Err() != nil || failed.Class == ClassClosed {
			m.stopped(nil, err)
			return
		}
		if !failed.passing() && failed.Class != ClassRefused && failed.Class != ClassTimeout {
			// Another attempt would end the same: a login, for instance.
			if !told {
				m.server.tellError(failed)
			}
			if m.stopped(changed, failed) {
				return
			}
			continue
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

// missed tells about everything in a filter, as anything may have happened
// while nothing was listened for (specification 2026-07-28, subscriptions: the
// server keeps nothing across connections).
func (s *Server) missed(f filter) {
	for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
		s.listChanged(kind)
	}
	for _, uri := range slices.Sorted(maps.Keys(f.uris)) {
		s.lists.forgetResource(uri)
		s.mailbox.postUpdated(uri)
	}
}

// watch waits until something else is wanted, or until what is open breaks.
func (m *subscriptions) watch(open listening, changed <-chan struct{}) error {
	for {
		select {
		case <-changed:
			return nil
		case <-m.ended:
			if err := open.broken(); err != nil {
				m.mu.Lock()
				m.gen++ // who asks now waits for the next attempt
				m.mu.Unlock()
				return err
			}
		case <-m.life.Done():
			return m.life.Err()
		}
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

// stopped ends the goroutine for a reason, unless something else is wanted
// since changed was current.
func (m *subscriptions) stopped(changed <-chan struct{}, err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if changed != nil && m.changed != changed {
		return false
	}
	m.running = false
	m.done, m.honoured, m.err = m.gen, newFilter(), err
	close(m.settled)
	m.settled = make(chan struct{})
	return true
}

// listening is a server that tells. With the zero session it tells nothing.
type listening struct {
	session *session
	asked   filter
	// streams are one, or on a channel that everything shares one for each
	// thing that was asked for.
	streams []*stream
}

// stop ends the streams but for some.
func (l listening) stop(but []*stream) {
	for _, st := range l.streams {
		if !slices.Contains(but, st) {
			st.stop()
		}
	}
}

// broken says why the server tells less than it agreed to, nil if it does not.
func (l listening) broken() error {
	for _, st := range l.streams {
		if err := st.broken(); err != nil {
			return err
		}
	}
	return nil
}

// agreed returns what the server tells now.
func (l listening) agreed() filter {
	all := newFilter()
	for _, st := range l.streams {
		if st.broken() == nil {
			all.add(st.honoured)
		}
	}
	return all
}

// stream is a request subscriptions/listen, or what stands for it in older
// revisions.
type stream struct {
	session   *session
	asked     filter
	honoured  filter
	acked     chan struct{}
	cancel    context.CancelFunc
	withdrawn bool // by the server
	ended     chan struct{}
	err       error // of ended; nil if the server said goodbye
}

func (s *stream) stop() {
	s.cancel()
	<-s.ended
}

// broken says why the stream has ended too early, nil if it has not. One on
// which there is nothing to tell may end.
func (s *stream) broken() error {
	select {
	case <-s.ended:
	default:
		return nil
	}
	switch {
	case s.err == nil && s.honoured.empty():
		return nil
	case s.err == nil, s.session.over():
		return wire.ErrNoResponse // so another may do
	}
	return s.err
}

// end says that a stream has ended.
func (m *subscriptions) end(st *stream, err error) {
	st.err = err
	close(st.ended)
	select {
	case m.ended <- struct{}{}:
	default:
	}
}

// open has the server tell what is wanted. Streams of before may be among
// those that it returns.
func (m *subscriptions) open(wanted filter, before listening) (listening, error) {
	if wanted.empty() && (before.session == nil || before.session.modern() || before.session.over()) {
		return listening{asked: wanted}, nil
	}
	ctx, op, err := m.server.begin(m.life, opListen, 0)
	if err != nil {
		return listening{}, err
	}
	defer op.end()
	sess, err := m.server.session(ctx)
	switch {
	case err != nil:
		return listening{}, err
	case sess.modern():
		return m.listen(ctx, sess, wanted, before)
	}
	return m.subscribe(ctx, sess, wanted, before)
}

// listen makes subscriptions/listen requests and waits until they are
// acknowledged (specification 2026-07-28, subscriptions).
//
// Over HTTP that is one request for everything, which takes the place of the
// one before. Over stdio each thing has a request of its own: servers on go-sdk
// 1.8 forget what two requests of a session have in common when one of them
// ends.
func (m *subscriptions) listen(ctx context.Context, sess *session, wanted filter, before listening) (listening, error) {
	filters := []filter{wanted}
	if sess.stdio != nil {
		filters = wanted.apart()
	}
	next := listening{session: sess, asked: wanted}
	var started []*stream
	fail := func(err error) (listening, error) {
		listening{streams: started}.stop(nil)
		return listening{}, err
	}
	for _, f := range filters {
		i := slices.IndexFunc(before.streams, func(st *stream) bool {
			return st.session == sess && st.broken() == nil && st.asked.same(f) && st.honoured.same(f)
		})
		if i >= 0 {
			next.streams = append(next.streams, before.streams[i])
			continue
		}
		st, err := m.start(sess, f)
		if err != nil {
			return fail(err)
		}
		started = append(started, st)
	}
	for _, st := range started {
		if err := st.acknowledged(ctx); err != nil {
			return fail(err)
		}
	}
	next.streams = append(next.streams, started...)
	return next, nil
}

// start makes a request.
func (m *subscriptions) start(sess *session, wanted filter) (*stream, error) {
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
	st := &stream{session: sess, asked: wanted, honoured: newFilter(), acked: make(chan struct{}), cancel: cancel, ended: make(chan struct{})}
	id := sess.nextID()
	m.mu.Lock()
	m.streams[id] = st
	m.mu.Unlock()
	go func() {
		_, err := sess.conn.Call(life, wire.Request{ID: id, Method: opListen, Params: p})
		m.mu.Lock()
		delete(m.streams, id)
		if st.withdrawn {
			err = nil
		}
		m.mu.Unlock()
		m.end(st, err)
	}()
	return st, nil
}

// acknowledged waits until the server has agreed, to whatever it is.
func (s *stream) acknowledged(ctx context.Context) error {
	select {
	case <-s.acked:
		return nil
	case <-s.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-s.acked: // to nothing, so that was all
		return nil
	default:
	}
	if s.err == nil {
		return protocolErrorf("the server ended the subscription before it agreed to it")
	}
	if rpc, ok := errors.AsType[*jsonrpc.Error](s.err); ok && rpc.Code == jsonrpc.CodeMethodNotFound {
		return &notSupportedError{"the server tells about no changes", s.session.revision}
	}
	return s.err
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
		st.withdrawn = true
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

// current reports whether a notification belongs to a stream that has not been
// given up, as far as the server says to which it belongs. On a channel that
// everything shares it may have been sent before the server learnt of the end.
func (m *subscriptions) current(sess *session, n wire.Notification) bool {
	raw := member(member(n.Params, "_meta"), metaSubscriptionID)
	id, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || !sess.modern() {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	st := m.streams[id]
	return st != nil && st.session == sess
}

// metaSubscriptionID correlates notifications with their stream.
const metaSubscriptionID = "io.modelcontextprotocol/subscriptionId"

// subscribe makes the requests of older revisions (specification 2025-11-25,
// resources, subscriptions). Changes of lists come without being asked for.
func (m *subscriptions) subscribe(ctx context.Context, sess *session, wanted filter, before listening) (listening, error) {
	sess.listen(ctx)
	had := newFilter()
	if before.session == sess {
		had = before.agreed()
	}
	caps := sess.capabilities
	honoured := newFilter()
	for kind, tells := range map[Kind]bool{
		KindTools:     caps.Tools != nil && caps.Tools.ListChanged,
		KindPrompts:   caps.Prompts != nil && caps.Prompts.ListChanged,
		KindResources: caps.Resources != nil && caps.Resources.ListChanged,
	} {
		if tells {
			honoured.kinds[kind] = 1
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
					return listening{}, err
				}
				// A resource that it refuses is no reason to lose others.
				m.server.log.Debug("the server refuses a subscription", "err", m.server.failure(ctx, opSubscribe, err, nil))
				continue
			}
		}
		honoured.uris[uri] = 1
	}
	for uri := range had.uris {
		if wanted.uris[uri] == 0 {
			if err := request(opUnsubscribe, uri); err != nil && !isAnswer(err) {
				return listening{}, err
			}
		}
	}
	life, cancel := context.WithCancel(m.life)
	st := &stream{session: sess, asked: wanted, honoured: honoured, cancel: cancel, ended: make(chan struct{})}
	m.tasks.Go(func() {
		var err error
		select {
		case <-sess.conn.Done():
			err = sess.conn.Err()
		case <-life.Done():
			err = life.Err()
		}
		m.end(st, err)
	})
	return listening{session: sess, asked: wanted, streams: []*stream{st}}, nil
}
