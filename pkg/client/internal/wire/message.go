package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/mcpctl/mcpctl/internal/schemadoc"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// message is one JSON-RPC message as it came. Its parts alias the text.
type message struct {
	id     json.RawMessage // nil or null: none
	method string
	params json.RawMessage
	result json.RawMessage
	err    json.RawMessage
}

// parseMessage reads one message. A text that is not meant as one is no error
// and gives nothing; one that is, and cannot be read, is errUndecodable.
func parseMessage(text []byte) (*message, error) {
	members, err := schemadoc.Split(text)
	if err != nil {
		// Nothing reads what is nested too deeply, and somebody may wait for
		// it.
		if _, depth := schemadoc.Count(text); depth > schemadoc.MaxDepth && bytes.Contains(text, []byte(`"jsonrpc"`)) {
			return nil, errUndecodable
		}
		return nil, nil
	}
	m := new(message)
	var version, method json.RawMessage
	for _, member := range members {
		raw := json.RawMessage(member.Raw)
		if string(raw) == "null" && member.Name != "result" {
			continue
		}
		switch member.Name {
		case "jsonrpc":
			version = raw
		case "id":
			m.id = raw
		case "method":
			method = raw
		case "params":
			m.params = raw
		case "result":
			m.result = raw
		case "error":
			m.err = raw
		}
	}
	switch {
	case version == nil, method == nil && m.id == nil && m.err == nil:
		return nil, nil
	case string(version) != `"2.0"`:
		return nil, errUndecodable
	case method != nil && (json.Unmarshal(method, &m.method) != nil || m.method == ""):
		return nil, errUndecodable
	}
	if m.isResponse() {
		m.params = nil
	} else {
		m.result, m.err = nil, nil
	}
	if kept := len(m.id) + len(m.params) + len(m.result) + len(m.err); len(text) > maxIdle && kept < len(text)/2 {
		// What is kept must not keep a large text alive that nobody counts.
		m.id, m.params, m.result, m.err = bytes.Clone(m.id), bytes.Clone(m.params), bytes.Clone(m.result), bytes.Clone(m.err)
	}
	return m, nil
}

// maxIdle is how much of a text, in bytes, may stay in memory for nothing.
const maxIdle = 4 << 10

// parseMessages reads one message, or several in a batch, which servers of
// revision 2025-03-26 may send. Those before one that cannot be decoded are
// returned beside the error.
func parseMessages(text []byte) ([]*message, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil, nil
	}
	texts := [][]byte{text}
	if text[0] == '[' {
		if !json.Valid(text) {
			return nil, nil
		}
		// Each is kept as long as its own reader likes.
		if texts, _ = schemadoc.ItemsValid(text); len(text) > maxIdle {
			for i := range texts {
				texts[i] = bytes.Clone(texts[i])
			}
		}
	}
	var found []*message
	var broken error
	for _, text := range texts {
		m, err := parseMessage(text)
		if err != nil {
			broken = err
		} else if m != nil {
			found = append(found, m)
		}
	}
	return found, broken
}

// isResponse reports whether m answers something.
func (m *message) isResponse() bool { return m.method == "" }

// number returns the id as the number that ours are; zero if it is none.
func (m *message) number() int64 {
	n, err := strconv.ParseInt(string(m.id), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// outcome returns what a response says. One with an error has failed, whatever
// else is in it.
func (m *message) outcome() (json.RawMessage, error) {
	switch {
	case m.err != nil:
		return nil, callError(m.err)
	case m.result == nil:
		return nil, errUndecodable
	}
	return m.result, nil
}

func appendRequest(b []byte, id int64, method string, params json.RawMessage) []byte {
	b = append(b, `{"jsonrpc":"2.0",`...)
	if id != 0 {
		b = append(b, `"id":`...)
		b = strconv.AppendInt(b, id, 10)
		b = append(b, ',')
	}
	b = append(b, `"method":`...)
	b = appendString(b, method)
	if len(params) > 0 {
		b = append(b, `,"params":`...)
		b = append(b, params...)
	}
	return append(b, '}')
}

func appendString(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // a string always encodes
	return append(b, quoted...)
}

// encodeResponse encodes the answer to a request of the server.
func encodeResponse(id json.RawMessage, result any, err error) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	var encoded []byte
	if err == nil {
		encoded, err = json.Marshal(result)
	}
	if err == nil {
		b = append(append(b, `,"result":`...), encoded...)
		return append(b, '}')
	}
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		rpc = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
	}
	encoded, err = json.Marshal(rpc)
	if err != nil {
		encoded = []byte(`{"code":-32603,"message":"internal error"}`)
	}
	b = append(append(b, `,"error":`...), encoded...)
	return append(b, '}')
}

// cancelledParams are the parameters of notifications/cancelled.
func cancelledParams(ctx context.Context, id int64) json.RawMessage {
	reason := "cancelled"
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		reason = "timed out"
	}
	b := append([]byte(`{"requestId":`), strconv.FormatInt(id, 10)...)
	b = appendString(append(b, `,"reason":`...), reason)
	return append(b, '}')
}
