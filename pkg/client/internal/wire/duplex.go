package wire

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxServerRequests bounds how many requests of a server are answered at a
// time. Further ones are refused, as many again, and then ignored.
const maxServerRequests = 64

// duplex is a connection on which all messages share one channel in each
// direction. Its owner reads and calls deliver, and writes what it is given.
type duplex struct {
	inbox
	write func(ctx context.Context, msg []byte) error

	mu      sync.Mutex
	pending map[int64]chan<- *message
	modern  bool
	err     error
	done    chan struct{}
}

func newDuplex(handler Handler, write func(ctx context.Context, msg []byte) error) *duplex {
	d := &duplex{write: write, pending: make(map[int64]chan<- *message), done: make(chan struct{})}
	d.inbox = newInbox(handler, func(ctx context.Context, msg []byte) { _ = write(ctx, msg) })
	return d
}

// Call implements [Conn].
func (d *duplex) Call(ctx context.Context, req Request) (json.RawMessage, error) {
	answer := make(chan *message, 1)
	d.mu.Lock()
	if d.err != nil {
		d.mu.Unlock()
		return nil, d.err
	}
	d.pending[req.ID] = answer
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.pending, req.ID)
		d.mu.Unlock()
	}()
	if err := d.write(ctx, appendRequest(make([]byte, 0, len(req.Params)+len(req.Method)+64), req.ID, req.Method, req.Params)); err != nil {
		if ctx.Err() != nil {
			// It may have gone out all the same.
			d.cancel(ctx, req)
		}
		return nil, err
	}
	select {
	case m := <-answer:
		return m.outcome()
	case <-d.done:
		select {
		case m := <-answer: // the last words
			return m.outcome()
		default:
		}
		return nil, d.Err()
	case <-ctx.Done():
		d.cancel(ctx, req)
		return nil, ctx.Err()
	}
}

// cancel tells the server that nobody waits any longer (specification
// 2026-07-28, cancellation). The handshake of older revisions must not be
// cancelled.
func (d *duplex) cancel(ctx context.Context, req Request) {
	if req.Method == "initialize" {
		return
	}
	params := cancelledParams(ctx, req.ID)
	d.notice(func(life context.Context) {
		life, stop := context.WithTimeout(life, cancelGrace)
		defer stop()
		_ = d.Notify(life, "notifications/cancelled", params)
	})
}

// Notify implements [Conn].
func (d *duplex) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if err := d.Err(); err != nil {
		return err
	}
	return d.write(ctx, appendRequest(nil, 0, method, params))
}

// deliver takes a message that came in. A response that nobody waits for is
// dropped: the request was cancelled, or answered before, or never made.
func (d *duplex) deliver(m *message) {
	if !m.isResponse() {
		d.mu.Lock()
		refuse := d.modern && m.id != nil
		d.mu.Unlock()
		if !refuse {
			d.take(m, 0, nil)
		}
		return
	}
	id := m.number()
	d.mu.Lock()
	answer := d.pending[id]
	delete(d.pending, id)
	d.mu.Unlock()
	if answer != nil {
		answer <- m
	}
}

// end fails what is pending, and everything from now on. The first error
// counts, but that a stream has ended says less than anything else does.
func (d *duplex) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		close(d.done)
		d.endAnswers()
	}
	if d.err == nil || d.err == errStreamEnd && err != ErrClosed {
		d.err = err
	}
}

// Done implements [Conn].
func (d *duplex) Done() <-chan struct{} { return d.done }

// Err implements [Conn].
func (d *duplex) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// SetRevision implements [Conn]. Since 2026-07-28 servers make no requests, and
// a client must not answer any (specification 2026-07-28, stdio transport).
func (d *duplex) SetRevision(revision string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.modern = revision >= firstModern
}

// Listen implements [Conn]: everything comes on the one channel.
func (d *duplex) Listen() <-chan struct{} { return closedChannel }

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// inbox takes what a server sends by itself: it hands on notifications and
// answers requests, for as long as the connection lives.
type inbox struct {
	handler Handler
	reply   func(ctx context.Context, msg []byte)

	life  context.Context
	kill  context.CancelFunc
	slots chan struct{}

	mu      sync.Mutex
	leaving bool // no further notices
	unheard bool // what is answered reaches nobody
	closed  bool
	tasks   sync.WaitGroup
	notices sync.WaitGroup                // tasks that tell of something cancelled, for a moment
	answers map[string]context.CancelFunc // requests that are being answered, by id
}

func newInbox(handler Handler, reply func(ctx context.Context, msg []byte)) inbox {
	life, kill := context.WithCancel(context.Background())
	return inbox{handler: handler, reply: reply, life: life, kill: kill, slots: make(chan struct{}, 2*maxServerRequests), answers: make(map[string]context.CancelFunc)}
}

// background runs a function until the connection is closed, at the latest.
func (b *inbox) background(f func(life context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.tasks.Go(func() { f(b.life) })
}

// notice runs in the background what tells the server that a request is
// cancelled.
func (b *inbox) notice(f func(life context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.leaving || b.closed {
		return
	}
	b.notices.Add(1)
	done := sync.OnceFunc(b.notices.Done)
	timer := time.AfterFunc(shutGrace, done)
	b.tasks.Go(func() {
		defer timer.Stop()
		defer done()
		f(b.life)
	})
}

// takeLeave waits until the server has been told what is cancelled, or has had
// a moment for it. Whoever cancels a request often closes the connection next,
// and the server should not learn of that first.
func (b *inbox) takeLeave(ctx context.Context) {
	b.mu.Lock()
	b.leaving = true
	b.mu.Unlock()
	waitFor(ctx, &b.notices)
}

// waitFor waits for a group, and reports whether it has ended before ctx.
func waitFor(ctx context.Context, group *sync.WaitGroup) bool {
	ended := make(chan struct{})
	go func() {
		group.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// shutGrace is how long what was told to end may take once nobody is patient
// any longer.
const shutGrace = 250 * time.Millisecond

// shut ends what runs in the background and waits for it, in vain for a
// handler that does not look at its context.
func (b *inbox) shut(ctx context.Context) {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.kill()
	if !waitFor(ctx, &b.tasks) {
		ctx, stop := context.WithTimeout(context.Background(), shutGrace)
		defer stop()
		waitFor(ctx, &b.tasks)
	}
}

// take takes a notification or a request. If a request comes on the stream of
// one of ours, x is the scope of that: who answers is told when it ends.
func (b *inbox) take(m *message, stream int64, x *scope) {
	if m.id == nil {
		if m.method == "notifications/cancelled" && b.withdraw(m.params) {
			return
		}
		if b.handler.Notification != nil {
			b.handler.Notification(Notification{m.method, m.params, stream})
		}
		return
	}
	select {
	case b.slots <- struct{}{}:
	default:
		return
	}
	busy := len(b.slots) > maxServerRequests
	asking := b.life
	if x != nil && m.method != "ping" {
		asking = x.asking(b.life)
	}
	ctx, cancel := context.WithCancel(asking)
	id := string(m.id)
	if !busy {
		// Here, because the next message may take it back.
		b.mu.Lock()
		if b.unheard {
			cancel()
		} else {
			b.answers[id] = cancel
		}
		b.mu.Unlock()
	}
	b.background(func(life context.Context) {
		defer func() { <-b.slots }()
		defer cancel()
		if busy {
			b.reply(life, encodeResponse(m.id, nil, errBusy))
			return
		}
		result, err := b.answer(ctx, m)
		b.mu.Lock()
		_, wanted := b.answers[id]
		delete(b.answers, id)
		b.mu.Unlock()
		if !wanted {
			return // it was taken back
		}
		b.reply(life, encodeResponse(m.id, result, err))
	})
}

// withdraw ends the answering of a request that the server takes back
// (specification 2025-11-25, cancellation). It reports false if there is none.
func (b *inbox) withdraw(params json.RawMessage) bool {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	id := string(p.RequestID)
	cancel := b.answers[id]
	if cancel == nil {
		return false
	}
	delete(b.answers, id)
	cancel()
	return true
}

// endAnswers ends the answering of requests, as nobody hears it any more.
func (b *inbox) endAnswers() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unheard = true
	for id, cancel := range b.answers {
		delete(b.answers, id)
		cancel()
	}
}

func (b *inbox) answer(ctx context.Context, m *message) (any, error) {
	if m.method == "ping" {
		return struct{}{}, nil
	}
	if b.handler.Request == nil {
		return nil, errNotSupported
	}
	return b.handler.Request(ctx, m.method, m.params)
}

var (
	errBusy         = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "too many requests at a time"}
	errNotSupported = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not supported by this client"}
)
