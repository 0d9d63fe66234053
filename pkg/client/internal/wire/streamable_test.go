package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/internal/mcptest"
	"github.com/mcpctl/mcpctl/internal/netpolicy"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestStreamableHeaders(t *testing.T) {
	type seen struct {
		Method, Body string
		Header       map[string]string
	}
	names := []string{
		"Accept", "Content-Type", "Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Mcp-Param-X", "Last-Event-Id",
	}
	const both = "application/json, text/event-stream"
	tests := []struct {
		name     string
		revision string // agreed on after the first request
		first    Request
		want     []seen
	}{
		{
			"legacy", testLegacy,
			Request{ID: 1, Method: "initialize", Params: json.RawMessage(`{"a":1}`)},
			[]seen{
				{"POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"a":1}}`, map[string]string{
					"Accept": both, "Content-Type": "application/json",
				}},
				{"POST", `{"jsonrpc":"2.0","method":"notifications/x"}`, map[string]string{
					"Accept": both, "Content-Type": "application/json", "Mcp-Protocol-Version": testLegacy, "Mcp-Session-Id": "S!~",
				}},
				{"POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}`, map[string]string{
					"Accept": both, "Content-Type": "application/json", "Mcp-Protocol-Version": testLegacy, "Mcp-Session-Id": "S!~",
				}},
				{"POST", `{"jsonrpc":"2.0","id":3,"method":"initialize"}`, map[string]string{
					"Accept": both, "Content-Type": "application/json", "Mcp-Protocol-Version": testLegacy,
				}},
				{"DELETE", ``, map[string]string{"Mcp-Protocol-Version": testLegacy, "Mcp-Session-Id": "S!~"}},
			},
		},
		{
			"legacy with a revision", testLegacy,
			Request{ID: 1, Method: "initialize", Revision: "2025-06-18"},
			[]seen{
				{"POST", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, map[string]string{
					"Accept": both, "Content-Type": "application/json", "Mcp-Protocol-Version": "2025-06-18",
				}},
			},
		},
		{
			"modern", testModern,
			Request{ID: 1, Method: "server/discover", Revision: testModern},
			[]seen{
				{"POST", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, map[string]string{
					"Accept": both, "Content-Type": "application/json", "Mcp-Protocol-Version": testModern, "Mcp-Method": "server/discover",
				}},
				{"POST", `{"jsonrpc":"2.0","method":"notifications/x"}`, map[string]string{
					"Accept": both, "Content-Type": "application/json", "Mcp-Protocol-Version": testModern, "Mcp-Method": "notifications/x",
				}},
				{"POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}`, map[string]string{
					"Accept": both, "Content-Type": "application/json", "Mcp-Protocol-Version": testModern,
					"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?w6Q=?=", "Mcp-Param-X": "y",
				}},
				{"POST", `{"jsonrpc":"2.0","id":3,"method":"initialize"}`, map[string]string{
					"Accept": both, "Content-Type": "application/json", "Mcp-Protocol-Version": testModern, "Mcp-Method": "initialize",
				}},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var all []seen
			cfg := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				one := seen{r.Method, string(body), make(map[string]string)}
				for _, name := range names {
					if value := r.Header.Get(name); value != "" {
						one.Header[name] = value
					}
				}
				all = append(all, one)
				var m received
				if json.Unmarshal(body, &m); m.ID == nil {
					w.WriteHeader(http.StatusAccepted)
					return
				}
				w.Header().Set("Mcp-Session-Id", "S!~")
				sendJSON(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			}))
			conn := DialHTTP(cfg)
			defer conn.Close(t.Context())
			call := func(req Request) {
				t.Helper()
				if raw, err := conn.Call(t.Context(), req); err != nil || string(raw) != "{}" {
					t.Errorf("result %s, error %v", raw, err)
				}
			}
			call(test.first)
			conn.SetRevision(test.revision)
			if err := conn.Notify(t.Context(), "notifications/x", nil); err != nil {
				t.Error(err)
			}
			call(Request{
				ID: 2, Method: "tools/call", Params: json.RawMessage(`{}`), Name: "ä", Revision: "1999-01-01",
				Header: http.Header{"Mcp-Param-X": {"y"}, "Accept": {"none"}},
			})
			call(Request{ID: 3, Method: "initialize"})
			conn.Close(t.Context())
			if diff := cmp.Diff(test.want, all[:min(len(test.want), len(all))]); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if test.revision == testModern && len(all) != len(test.want) {
				t.Errorf("%d requests, want %d", len(all), len(test.want))
			}
		})
	}
}

func TestEncodeHeader(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"us-west1":             "us-west1",
		"a b\tc ~!":            "a b\tc ~!",
		"Hello, 世界":            "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":             "=?base64?IHBhZGRlZCA=?=",
		"\t":                   "=?base64?CQ==?=",
		"line1\nline2":         "=?base64?bGluZTEKbGluZTI=?=",
		"\x7f":                 "=?base64?fw==?=",
		"\xff":                 "=?base64?/w==?=",
		"=?base64?literal?=":   "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64?literal":     "=?base64?literal",
		"=?BASE64?literal?=":   "=?BASE64?literal?=",
		"file:///a/config.txt": "file:///a/config.txt",
	} {
		if got := EncodeHeader(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// A request can be sent again by the transport, and says how long it is.
func TestStreamableRequestBody(t *testing.T) {
	cfg := testConfig(t, "http://test.invalid/", tripper(func(r *http.Request) (*http.Response, error) {
		first, _ := io.ReadAll(r.Body)
		again, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		second, _ := io.ReadAll(again)
		if r.ContentLength != int64(len(first)) || !bytes.Equal(first, second) || len(first) == 0 {
			t.Errorf("length %d, body %q, then %q", r.ContentLength, first, second)
		}
		return &http.Response{StatusCode: 202, Request: r}, nil // and no body
	}))
	if err := dialTest(t, cfg, testModern).Notify(t.Context(), "x", nil); err != nil {
		t.Error(err)
	}
}

func TestStreamableResponses(t *testing.T) {
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	const (
		jsonType = "application/json"
		ok       = `{"jsonrpc":"2.0","id":7,"result":{"big":9007199254740993, "f":1.0}}`
		okResult = `{"big":9007199254740993, "f":1.0}`
		events   = "text/event-stream"
	)
	status := func(code int) string { return fmt.Sprintf("HTTP %d", code) }
	tests := []struct {
		name, media string
		code        int
		body        string
		want, err   string
	}{
		{"json", jsonType, 200, ok, okResult, ""},
		{"json with parameters", "Application/JSON; charset=utf-8", 200, " \n" + ok + "\n", okResult, ""},
		{"201", jsonType, 201, ok, okResult, ""},
		{"202 with a body", jsonType, 202, ok, okResult, ""},
		{"order of members", jsonType, 200, `{"result":[] ,"id": 7,"jsonrpc":"2.0"}`, "[]", ""},
		{"null", jsonType, 200, `{"jsonrpc":"2.0","id":7,"result":null}`, "null", ""},
		{"no error", jsonType, 200, `{"jsonrpc":"2.0","id":7,"result":1,"error":null}`, "1", ""},
		{"error", jsonType, 200, `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}`, "", "no"},
		{"error and result", jsonType, 200, `{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":-1,"message":"no"}}`, "", "no"},
		{"error without an id", jsonType, 200, `{"jsonrpc":"2.0","error":{"code":-1,"message":"no"}}`, "", "no"},
		{"error with null as id", jsonType, 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}`, "", "no"},
		{"error of another", jsonType, 200, `{"jsonrpc":"2.0","id":8,"error":{"code":-1,"message":"no"}}`, "", "HTTP 200: " + ErrNoResponse.Error()},
		{"wrong id", jsonType, 200, `{"jsonrpc":"2.0","id":8,"result":{}}`, "", "HTTP 200: " + ErrNoResponse.Error()},
		{"id of another type", jsonType, 200, `{"jsonrpc":"2.0","id":"7","result":{}}`, "", "HTTP 200: " + ErrNoResponse.Error()},
		{"result without an id", jsonType, 200, `{"jsonrpc":"2.0","result":{}}`, "", "HTTP 200: no valid answer"},
		{
			"batch", jsonType, 200,
			`[{"jsonrpc":"2.0","id":8,"result":{}},{"jsonrpc":"2.0","method":"n"},` + ok + `,{"jsonrpc":"2.0","id":7,"result":2}]`, okResult, "",
		},
		{"empty", jsonType, 200, "", "", "HTTP 200: " + ErrNoResponse.Error()},
		{"empty batch", jsonType, 200, "[]", "", "HTTP 200: no valid answer"},
		{"not JSON", jsonType, 200, "rubbish", "", "HTTP 200: no valid answer"},
		{"other JSON", jsonType, 200, `{"ok":true}`, "", "HTTP 200: no valid answer"},
		{"cut off", jsonType, 200, ok[:len(ok)-1], "", "HTTP 200: no valid answer"},
		{"too deep", jsonType, 200, `{"jsonrpc":"2.0","id":7,"result":` + deep + `}`, "", "HTTP 200: " + errUndecodable.Reason},
		{"other version", jsonType, 200, `{"jsonrpc":"1.0","id":7,"result":{}}`, "", "HTTP 200: " + errUndecodable.Reason},
		{"method that is none", jsonType, 200, `{"jsonrpc":"2.0","id":7,"method":3}`, "", "HTTP 200: " + errUndecodable.Reason},
		{"error that is none", jsonType, 200, `{"jsonrpc":"2.0","id":7,"error":"no"}`, "", "HTTP 200: " + errUndecodable.Reason},
		{"neither result nor error", jsonType, 200, `{"jsonrpc":"2.0","id":7}`, "", "HTTP 200: " + errUndecodable.Reason},
		{"202", "", 202, "", "", "HTTP 202: " + ErrNoResponse.Error()},
		{"204", "", 204, "", "", "HTTP 204: " + ErrNoResponse.Error()},
		{"HTML", "text/html; charset=utf-8", 200, "<html>", "", "HTTP 200: no valid answer"},
		{"type that is none", "json", 200, ok, "", "HTTP 200: no valid answer"},
		{"type that is rubbish", "/;;", 200, ok, "", "HTTP 200: no valid answer"},
		{"at the limit", jsonType, 200, pad(ok, testLimit), okResult, ""},
		{"over the limit", jsonType, 200, pad(ok, testLimit+1), "", "HTTP 200: the response is larger than 1048576 bytes"},

		{"stream", events, 200, "data: " + ok + "\n\n", okResult, ""},
		{"stream with everything", events, 200, "\xef\xbb\xbf: hi\r\rid: 1\rdata\r\rretry: 5\revent: message\rdata:" + ok + "\r\r", okResult, ""},
		{"stream over lines", events, 200, "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\ndata: \"result\":1}\n\n", "1", ""},
		{"stream cut off", events, 200, "data: " + ok, okResult, ""},
		{"stream with a batch", events, 200, "data: [" + ok + "]\n\n", okResult, ""},
		{"stream with other events", events, 200, "event: ping\ndata: {\"jsonrpc\":\"1.0\",\"id\":7}\n\ndata: hello\n\ndata: " + ok + "\n\n", okResult, ""},
		{"stream with others' ids", events, 200, answer(8) + answer(1) + "data: " + ok + "\n\n", okResult, ""},
		{"stream with two responses", events, 200, answer(7) + "data: " + ok + "\n\n", `{"n":7}`, ""},
		{"stream with an error", events, 200, `data: {"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}` + "\n\n", "", "no"},
		{"stream with an error without an id", events, 200, `data: {"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}` + "\n\n", "", "no"},
		{"stream with rubbish meant as a message", events, 200, `data: {"jsonrpc":"1.0","id":8,"result":{}}` + "\n\ndata: " + ok + "\n\n", "", "HTTP 200: " + errUndecodable.Reason},
		{"stream without a response", events, 200, note(1), "", ErrNoResponse.Error()},
		{"empty stream", events, 200, "", "", ErrNoResponse.Error()},
		{"stream over the limit", events, 200, "data: " + pad(ok, testLimit) + "\n\n", "", "HTTP 200: an event of the stream is larger than 1048576 bytes"},

		{"400", "text/plain", 400, "the words of the server", "", status(400)},
		{"500", "", 500, "", "", status(500)},
		{"304", "", 304, "", "", status(304)},
		{"400 with an error", jsonType, 400, `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}`, "", "HTTP 400: no"},
		{"400 with an error without an id", jsonType, 400, `{"jsonrpc":"2.0","error":{"code":-1,"message":"no"}}`, "", "HTTP 400: no"},
		{"400 with an error of anybody", "text/plain", 400, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-1,"message":"no"}}`, "", "HTTP 400: no"},
		{"400 with another error", jsonType, 400, `{"error":"invalid_token"}`, "", status(400)},
		{"400 with an error that is none", jsonType, 400, `{"jsonrpc":"2.0","id":7,"error":"no"}`, "", status(400)},
		{"400 with a result", jsonType, 400, ok, "", status(400)},
		{"404 with an error", jsonType, 404, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`, "", "HTTP 404: no"},
		{"400 with a large body", jsonType, 400, pad(`{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}`, maxErrorBody+1), "", status(400)},
	}
	for _, test := range tests {
		for _, revision := range []string{testLegacy, testModern} {
			t.Run(test.name+" "+revision, func(t *testing.T) {
				cfg := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if w.Header()["Content-Type"] = nil; test.media != "" {
						w.Header().Set("Content-Type", test.media)
					}
					w.WriteHeader(test.code)
					if test.code != 204 && test.code != 304 {
						_, _ = io.WriteString(w, test.body)
					}
				}))
				raw, err := dialTest(t, cfg, revision).Call(t.Context(), Request{ID: 7, Method: "m"})
				text := ""
				if err != nil {
					text = err.Error()
				}
				if string(raw) != test.want || text != test.err {
					t.Errorf("result %.100s, error %q; want %s, %q", raw, text, test.want, test.err)
				}
				failed, isHTTP := errors.AsType[*HTTPError](err)
				if isHTTP != strings.HasPrefix(test.err, "HTTP ") || isHTTP && failed.Status != test.code {
					t.Errorf("error is %#v", err)
				}
				if strings.HasSuffix(test.err, "no") {
					if rpc, ok := errors.AsType[*jsonrpc.Error](err); !ok || rpc.Code >= 0 {
						t.Errorf("error is %#v", err)
					}
				}
				_, broke := errors.AsType[*TransportError](err)
				if broke != (err == nil || !isHTTP && errors.Is(err, ErrNoResponse)) && err != nil {
					t.Errorf("error is %#v", err)
				}
			})
		}
	}
}

// pad makes a text longer without changing what it says.
func pad(s string, size int) string { return strings.Repeat(" ", size-len(s)) + s }

func TestStreamableErrors(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		header http.Header
		want   HTTPError
		about  time.Duration // how exact RetryAfter is
	}{
		{http.Header{}, HTTPError{Status: 401}, 0},
		{
			http.Header{"Www-Authenticate": {`Bearer a="b"`, `Basic`}, "Content-Type": {"text/html; charset=x"}},
			HTTPError{Status: 401, Media: "text/html", Challenges: []string{`Bearer a="b"`, `Basic`}},
			0,
		},
		{http.Header{"Retry-After": {"7"}}, HTTPError{Status: 401, RetryAfter: 7 * time.Second}, 0},
		{http.Header{"Retry-After": {"0"}}, HTTPError{Status: 401}, 0},
		{http.Header{"Retry-After": {"-7"}}, HTTPError{Status: 401}, 0},
		{http.Header{"Retry-After": {"1.5"}}, HTTPError{Status: 401}, 0},
		{http.Header{"Retry-After": {"soon"}}, HTTPError{Status: 401}, 0},
		{http.Header{"Retry-After": {"3601"}}, HTTPError{Status: 401, RetryAfter: time.Hour}, 0},
		{http.Header{"Retry-After": {"18446744073709551615"}}, HTTPError{Status: 401, RetryAfter: time.Hour}, 0},
		{http.Header{"Retry-After": {now.Add(time.Minute).UTC().Format(http.TimeFormat)}}, HTTPError{Status: 401, RetryAfter: time.Minute}, 20 * time.Second},
		{http.Header{"Retry-After": {now.Add(-time.Minute).UTC().Format(http.TimeFormat)}}, HTTPError{Status: 401}, 0},
		{http.Header{"Retry-After": {now.AddDate(1, 0, 0).UTC().Format(http.TimeFormat)}}, HTTPError{Status: 401, RetryAfter: time.Hour}, 0},
	} {
		cfg := testConfig(t, "http://test.invalid/", tripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 401, Header: test.header, Body: http.NoBody, Request: r}, nil
		}))
		_, err := dialTest(t, cfg, testModern).Call(t.Context(), Request{ID: 1, Method: "m"})
		got, ok := errors.AsType[*HTTPError](err)
		if !ok {
			t.Errorf("%v: error is %v", test.header, err)
			continue
		}
		if d := got.RetryAfter - test.want.RetryAfter; d.Abs() <= test.about {
			got.RetryAfter = test.want.RetryAfter
		}
		if diff := cmp.Diff(test.want, *got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.header, diff)
		}
	}
}

// What kept a request from being sent can be found in the error.
func TestStreamableTransportErrors(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	cfg := testConfig(t, "http://"+closed.Addr().String(), new(http.Transport))
	_, err = dialTest(t, cfg, testModern).Call(t.Context(), Request{ID: 1, Method: "m"})
	if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Errorf("error is %#v", err)
	}
	if _, ok := errors.AsType[*TransportError](err); !ok {
		t.Errorf("error is %#v", err)
	}

	cfg.Transport = &netpolicy.Transport{Base: http.DefaultTransport, Hosts: netpolicy.Hosts{}}
	_, err = dialTest(t, cfg, testModern).Call(t.Context(), Request{ID: 1, Method: "m"})
	if _, ok := errors.AsType[*netpolicy.BlockedHostError](err); !ok {
		t.Errorf("error is %#v", err)
	}

	cfg = serveHTTP(t, http.RedirectHandler("ftp://x/", http.StatusTemporaryRedirect))
	if err := dialTest(t, cfg, testModern).Notify(t.Context(), "m", nil); !errors.Is(err, netpolicy.ErrRedirect) {
		t.Errorf("error is %#v", err)
	}

	cfg = serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sendJSON(w, `{"jsonrpc":`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	_, err = dialTest(t, cfg, testModern).Call(t.Context(), Request{ID: 1, Method: "m"})
	if broke, ok := errors.AsType[*TransportError](err); !ok || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error is %#v, %v", err, broke)
	}
}

// What comes with a response is handed on, with the request that it is about.
func TestStreamableNotifications(t *testing.T) {
	for name, send := range map[string]func(http.ResponseWriter){
		"json": func(w http.ResponseWriter) {
			sendJSON(w, `[{"jsonrpc":"2.0","method":"a","params":{"x":1}},{"jsonrpc":"2.0","id":7,"result":{}},{"jsonrpc":"2.0","method":"b"}]`)
		},
		"stream": func(w http.ResponseWriter) {
			sendEvents(w, `data: {"jsonrpc":"2.0","method":"a","params":{"x":1}}`+"\n\n", `data: {"jsonrpc":"2.0","method":"b"}`+"\n\n", answer(7))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got notes
			cfg := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { send(w) }))
			cfg.Handler.Notification = got.take
			if _, err := dialTest(t, cfg, testModern).Call(t.Context(), Request{ID: 7, Method: "m"}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{`7 a {"x":1}`, "7 b "}, got.all()); diff != "" {
				t.Errorf("notifications (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStreamableNotify(t *testing.T) {
	for _, test := range []struct {
		send http.HandlerFunc
		err  string
	}{
		{func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(202) }, ""},
		{func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }, ""},
		{func(w http.ResponseWriter, r *http.Request) { sendJSON(w, "null") }, ""},
		{func(w http.ResponseWriter, r *http.Request) { sendEvents(w, ":\n\n"); <-r.Context().Done() }, ""},
		{func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) }, "HTTP 403"},
		{func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-1,"message":"no"}}`)
		}, "HTTP 400: no"},
	} {
		cfg := serveHTTP(t, test.send)
		conn := DialHTTP(cfg)
		err := conn.Notify(t.Context(), "m", json.RawMessage(`{}`))
		if text := fmt.Sprint(err); text != test.err && (err != nil || test.err != "") {
			t.Errorf("error is %v, want %q", err, test.err)
		}
		conn.Close(t.Context())
	}
}

// A session is the server's to name and to end.
func TestStreamableSession(t *testing.T) {
	for id, kept := range map[string]bool{
		"1868a90c-!~": true, "": false, "a b": false, "ä": false, "a\tb": false,
	} {
		var log record
		cfg := testConfig(t, "http://test.invalid/", tripper(func(r *http.Request) (*http.Response, error) {
			log.add("%s %q", r.Method, r.Header["Mcp-Session-Id"])
			resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
			resp.Body = io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":{}}`))
			resp.Header.Set("Mcp-Session-Id", id)
			return resp, nil
		}))
		conn := DialHTTP(cfg)
		if _, err := conn.Call(t.Context(), Request{ID: 1, Method: "initialize"}); err != nil {
			t.Fatal(err)
		}
		conn.SetRevision(testLegacy)
		_ = conn.Notify(t.Context(), "n", nil)
		conn.Close(t.Context())
		want := []string{"POST []", "POST []"}
		if kept {
			want = []string{"POST []", fmt.Sprintf("POST [%q]", id), fmt.Sprintf("DELETE [%q]", id)}
		}
		if diff := cmp.Diff(want, log.all()); diff != "" {
			t.Errorf("session %q (-want +got):\n%s", id, diff)
		}
	}
}

// session answers initialize with a session, and everything else as next does.
func session(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
			w.Header().Set("Mcp-Session-Id", "S")
			sendJSON(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, receive(r).ID)
			return
		}
		next(w, r)
	}
}

// initialize makes the handshake.
func initialize(t testing.TB, cfg HTTPConfig) Conn {
	t.Helper()
	conn := dialTest(t, cfg, "")
	if _, err := conn.Call(t.Context(), Request{ID: 1000, Method: "initialize"}); err != nil {
		t.Fatal(err)
	}
	conn.SetRevision(testLegacy)
	return conn
}

func TestStreamableSessionExpires(t *testing.T) {
	type step func(conn Conn) error
	call := func(conn Conn) error {
		_, err := conn.Call(context.Background(), Request{ID: 2, Method: "m"})
		return err
	}
	for name, ask := range map[string]step{
		"call":         call,
		"notification": func(conn Conn) error { return conn.Notify(context.Background(), "n", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var log record
			cfg := serveHTTP(t, session(func(w http.ResponseWriter, r *http.Request) {
				log.add("%s", r.Method)
				w.WriteHeader(404)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
			}))
			conn := initialize(t, cfg)
			if conn.Err() != nil {
				t.Errorf("error is %v", conn.Err())
			}
			err := ask(conn)
			failed, ok := errors.AsType[*HTTPError](err)
			if !ok || failed.Status != 404 || !errors.Is(err, ErrSessionExpired) {
				t.Errorf("error is %#v", err)
			}
			<-conn.Done()
			if conn.Err() != ErrSessionExpired {
				t.Errorf("error is %v", conn.Err())
			}
			if err := call(conn); err != ErrSessionExpired {
				t.Errorf("error of the next is %v", err)
			}
			conn.Close(t.Context())
			// Nothing more is sent: there is no session to end.
			if diff := cmp.Diff([]string{"POST"}, log.all()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("without a session", func(t *testing.T) {
		cfg := serveHTTP(t, http.NotFoundHandler())
		conn := dialTest(t, cfg, testLegacy)
		if err := call(conn); errors.Is(err, ErrSessionExpired) || conn.Err() != nil {
			t.Errorf("error is %v, of the connection %v", err, conn.Err())
		}
	})
}

// Requests of a server are answered where the revision has them.
func TestStreamableServerRequests(t *testing.T) {
	for _, revision := range []string{testLegacy, testModern} {
		t.Run(revision, func(t *testing.T) {
			answers := make(chan string, 10)
			cfg := serveHTTP(t, session(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodDelete {
					return
				}
				m := receive(r)
				if m.Method == "" {
					answers <- fmt.Sprintf("%s %s %s %s", m.ID, m.Result, m.Error, r.Header.Get("Mcp-Session-Id"))
					w.WriteHeader(http.StatusAccepted)
					return
				}
				sendEvents(w, `data: {"jsonrpc":"2.0","id":"q","method":"ask","params":{"x":1}}`+"\n\n")
				if revision == testLegacy {
					// The answer comes while the request is under way.
					a := <-answers
					answers <- a
				}
				sendEvents(w, answer(2))
			}))
			asked := 0
			cfg.Handler.Request = func(_ context.Context, method string, params json.RawMessage) (any, error) {
				asked++
				return map[string]string{method: string(params)}, nil
			}
			conn := initialize(t, cfg)
			conn.SetRevision(revision)
			if _, err := conn.Call(t.Context(), Request{ID: 2, Method: "m"}); err != nil {
				t.Fatal(err)
			}
			conn.Close(t.Context())
			close(answers)
			var got []string
			for a := range answers {
				got = append(got, a)
			}
			var want []string
			if revision == testLegacy {
				want = []string{`"q" {"ask":"{\"x\":1}"}  S`}
			}
			if diff := cmp.Diff(want, got); diff != "" || asked != len(want) {
				t.Errorf("asked %d times, answers (-want +got):\n%s", asked, diff)
			}
		})
	}
}

// A server cannot make the client answer more than a number of requests at a
// time.
func TestStreamableServerRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var results, errs int
		var mu sync.Mutex
		cfg := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
			m := receive(r)
			switch {
			case m.Method != "":
				for i := range 1000 {
					sendEvents(w, fmt.Sprintf(`data: {"jsonrpc":"2.0","id":%d,"method":"ask"}`+"\n\n", i))
					synctest.Wait()
				}
				sendEvents(w, answer(1))
			case m.Result != nil:
				mu.Lock()
				defer mu.Unlock()
				results++
			default:
				mu.Lock()
				defer mu.Unlock()
				errs++
			}
		})
		now, most := 0, 0
		cfg.Handler.Request = func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Minute)
			mu.Lock()
			now--
			mu.Unlock()
			return struct{}{}, nil
		}
		conn := dialTest(t, cfg, testLegacy)
		if _, err := conn.Call(t.Context(), Request{ID: 1, Method: "m"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if most != maxServerRequests || results != maxServerRequests || errs != 1000-maxServerRequests {
			t.Errorf("%d at a time, %d results, %d errors", most, results, errs)
		}
	})
}

// A context ends a call wherever it is, and the server learns of it.
func TestStreamableCancel(t *testing.T) {
	type server struct {
		name string
		hang http.HandlerFunc
	}
	servers := []server{
		{"before the response", func(w http.ResponseWriter, r *http.Request) {}},
		{"in the body", func(w http.ResponseWriter, r *http.Request) { sendJSON(w, "{") }},
		{"in the stream", func(w http.ResponseWriter, r *http.Request) { sendEvents(w, note(1)) }},
		{"in an event", func(w http.ResponseWriter, r *http.Request) { sendEvents(w, "data: {") }},
	}
	for _, server := range servers {
		for _, test := range []struct {
			name, method, revision string
			timeout                bool
			told                   []string
		}{
			{"modern", "m", testModern, false, nil},
			{"legacy", "m", testLegacy, false, []string{`{"requestId":5,"reason":"cancelled"}`}},
			{"legacy, deadline", "m", testLegacy, true, []string{`{"requestId":5,"reason":"timed out"}`}},
			{"initialize", "initialize", "", false, nil},
		} {
			t.Run(server.name+", "+test.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var told record
					gone := make(chan struct{})
					cfg := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
						if m := receive(r); m.Method != test.method {
							told.add("%s", m.Params)
							w.WriteHeader(http.StatusAccepted)
							return
						}
						server.hang(w, r)
						<-r.Context().Done()
						close(gone)
					})
					conn := dialTest(t, cfg, test.revision)
					ctx, cancel := context.WithCancel(t.Context())
					want := context.Canceled
					if test.timeout {
						ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
						want = context.DeadlineExceeded
					}
					defer cancel()
					result := make(chan error)
					go func() {
						_, err := conn.Call(ctx, Request{ID: 5, Method: test.method})
						result <- err
					}()
					synctest.Wait()
					if !test.timeout {
						cancel()
					}
					if err := <-result; err != want {
						t.Errorf("error is %v", err)
					}
					<-gone
					synctest.Wait()
					if diff := cmp.Diff(test.told, told.all()); diff != "" {
						t.Errorf("told (-want +got):\n%s", diff)
					}
					if conn.Err() != nil {
						t.Errorf("the connection ended: %v", conn.Err())
					}
				})
			})
		}
	}
}

// Nothing is sent for somebody who does not wait any longer.
func TestStreamableCancelledBefore(t *testing.T) {
	cfg := testConfig(t, "http://test.invalid/", tripper(func(r *http.Request) (*http.Response, error) {
		t.Errorf("sent %s", receive(r).Method)
		return nil, io.EOF
	}))
	conn := dialTest(t, cfg, testLegacy)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := conn.Call(ctx, Request{ID: 1, Method: "m"}); err != context.Canceled {
		t.Errorf("error is %v", err)
	}
	if err := conn.Notify(ctx, "n", nil); err != context.Canceled {
		t.Errorf("error is %v", err)
	}
}

// A server that does not take a cancellation is not waited for, and the
// connection waits for nothing when it is closed.
func TestStreamableCancellationIsBounded(t *testing.T) {
	for _, closeAfter := range []time.Duration{time.Hour, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var ended time.Duration
			cfg := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
				m := receive(r)
				<-r.Context().Done()
				if m.Method == "notifications/cancelled" {
					ended = time.Since(start)
				}
			})
			conn := dialTest(t, cfg, testLegacy)
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			if _, err := conn.Call(ctx, Request{ID: 1, Method: "m"}); err != context.Canceled {
				t.Errorf("error is %v", err)
			}
			time.Sleep(closeAfter)
			conn.Close(t.Context())
			synctest.Wait()
			if want := min(closeAfter, cancelGrace); ended != want {
				t.Errorf("took %v, want %v", ended, want)
			}
		})
	}
}

// A server learns what is cancelled before the connection ends.
func TestStreamableCancelAndClose(t *testing.T) {
	for range 50 {
		var told record
		ctx, cancel := context.WithCancel(t.Context())
		cfg := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
			if m := receive(r); m.Method == "notifications/cancelled" {
				told.add("%s", m.Params)
				w.WriteHeader(http.StatusAccepted)
				return
			}
			cancel()
			<-r.Context().Done()
		})
		conn := dialTest(t, cfg, testLegacy)
		_, err := conn.Call(ctx, Request{ID: 5, Method: "m"})
		conn.Close(t.Context())
		if got := told.all(); err != context.Canceled || len(got) != 1 {
			t.Fatalf("told %q, error %v", got, err)
		}
	}
}

// A request has the values of the context of the call.
func TestStreamableContextValues(t *testing.T) {
	type key struct{}
	got := make(chan any, 10)
	cfg := testConfig(t, "http://test.invalid/", tripper(func(r *http.Request) (*http.Response, error) {
		got <- r.Context().Value(key{})
		return &http.Response{StatusCode: 202, Body: http.NoBody, Request: r}, nil
	}))
	conn := dialTest(t, cfg, testModern)
	ctx := context.WithValue(t.Context(), key{}, 1)
	_, _ = conn.Call(ctx, Request{ID: 1, Method: "m"})
	_ = conn.Notify(ctx, "m", nil)
	if a, b := <-got, <-got; a != 1 || b != 1 {
		t.Errorf("values are %v, %v", a, b)
	}
}

// Close ends what is under way, is polite for as long as it may, and waits
// until nothing is left; the bubble sees to the last.
func TestStreamableClose(t *testing.T) {
	for _, test := range []struct {
		name    string
		patient time.Duration
		delete  func(http.ResponseWriter, *http.Request)
		took    time.Duration
	}{
		{"no answer", time.Hour, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, cancelGrace},
		{"no answer and no patience", time.Second, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, time.Second},
		{"405", time.Hour, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(405) }, 0},
		{"200", time.Hour, func(w http.ResponseWriter, r *http.Request) {}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				deleted := 0
				cfg := inMemory(t, session(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodDelete {
						deleted++
						test.delete(w, r)
						return
					}
					if r.Method == http.MethodGet {
						sendEvents(w, `data: {"jsonrpc":"2.0","id":1,"method":"ask"}`+"\n\n")
					}
					<-r.Context().Done()
				}))
				cfg.Handler.Request = func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				conn := initialize(t, cfg)
				conn.Listen()
				results := make(chan error, 2)
				go func() {
					_, err := conn.Call(t.Context(), Request{ID: 1, Method: "m"})
					results <- err
				}()
				go func() { results <- conn.Notify(t.Context(), "n", nil) }()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), test.patient)
				defer cancel()
				start := time.Now()
				var both sync.WaitGroup
				for range 2 {
					both.Go(func() {
						conn.Close(ctx)
						if took := time.Since(start); took != test.took {
							t.Errorf("took %v, want %v", took, test.took)
						}
					})
				}
				both.Wait()
				synctest.Wait()
				for range 2 {
					if err := <-results; err != ErrClosed {
						t.Errorf("error is %v", err)
					}
				}
				if <-conn.Done(); conn.Err() != ErrClosed || deleted != 1 {
					t.Errorf("error is %v, deleted %d times", conn.Err(), deleted)
				}
				if _, err := conn.Call(t.Context(), Request{ID: 2, Method: "m"}); err != ErrClosed {
					t.Errorf("error of a call is %v", err)
				}
				if err := conn.Notify(t.Context(), "n", nil); err != ErrClosed {
					t.Errorf("error of a notification is %v", err)
				}
				if _, err := conn.(*streamable).inbox.enter(t.Context()); err != ErrClosed {
					t.Errorf("error of what comes late is %v", err)
				}
			})
		})
	}
}

// The connection of a stream is used again after the response, also if the
// caller's context ends at once. A stream that the server leaves open is not
// waited for.
func TestStreamableReusesConnections(t *testing.T) {
	connections := 0
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := receive(r)
		id, _ := strconv.Atoi(string(m.ID))
		if m.Method == "json" {
			sendJSON(w, `{"jsonrpc":"2.0","id":%d,"result":{}}`, id)
			return
		}
		sendEvents(w, note(1))
		sendEvents(w, answer(id))
	}))
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections++
		}
	}
	srv.Start()
	defer srv.Close()
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	c := DialHTTP(testConfig(t, srv.URL, transport)).(*streamable)
	defer c.Close(t.Context())
	c.SetRevision(testModern)
	for i := range 50 {
		for _, method := range []string{"json", "stream"} {
			ctx, cancel := context.WithCancel(t.Context())
			if _, err := c.Call(ctx, Request{ID: int64(i + 1), Method: method}); err != nil {
				t.Fatal(err)
			}
			cancel()
			c.inbox.tasks.Wait()
		}
	}
	if connections != 1 {
		t.Errorf("%d connections", connections)
	}
}

func TestStreamableStreamLeftOpen(t *testing.T) {
	for _, test := range []struct {
		name string
		rest func(http.ResponseWriter)
		took time.Duration
	}{
		{"silent", func(http.ResponseWriter) {}, restGrace},
		{"chatty", func(w http.ResponseWriter) { sendEvents(w, strings.Repeat(note(1), 10_000)) }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				gone := make(chan time.Duration, 1)
				cfg := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
					sendEvents(w, answer(1))
					test.rest(w)
					<-r.Context().Done()
					gone <- time.Since(start)
				})
				var got notes
				cfg.Handler.Notification = got.take
				ctx, cancel := context.WithCancel(t.Context())
				if _, err := dialTest(t, cfg, testModern).Call(ctx, Request{ID: 1, Method: "m"}); err != nil {
					t.Fatal(err)
				}
				cancel() // which is no reason to tear the connection down
				if took := time.Since(start); took != 0 {
					t.Errorf("the call took %v", took)
				}
				if took := <-gone; took != test.took || len(got.all()) != 0 {
					t.Errorf("the stream was left after %v, with notifications %v", took, got.all())
				}
			})
		})
	}
}

// streamServer serves one stream of a legacy session over several connections:
// connections[0] answers the POST, the others the GETs. It writes down when
// they come and from where they go on.
type streamServer struct {
	connections []http.HandlerFunc
	log         record
	start       time.Time
	n           int
}

func (s *streamServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m := receive(r); r.Method == http.MethodPost && m.Method != "m" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.log.add("%s %v %s", r.Method, time.Since(s.start).Round(time.Millisecond), r.Header.Get("Last-Event-ID"))
	n := s.n
	s.n++
	if n >= len(s.connections) {
		<-r.Context().Done()
		return
	}
	s.connections[n](w, r)
}

// brings serves a stream with these events, which then ends.
func brings(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { sendEvents(w, events...) }
}

// breaks is brings with a connection that breaks.
func breaks(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sendEvents(w, events...)
		panic(http.ErrAbortHandler)
	}
}

func failing(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func TestStreamableResumes(t *testing.T) {
	const ok = `{"n":1}`
	tests := []struct {
		name        string
		connections []http.HandlerFunc
		revision    string
		want        string
		err         string
		log         []string
		notes       []string
	}{
		{
			name: "after the default time", connections: []http.HandlerFunc{brings("id: a\ndata\n\n"), brings(answer(1))},
			want: ok, log: []string{"POST 0s ", "GET 1s a"},
		},
		{
			name: "after a break", connections: []http.HandlerFunc{breaks("id: a\n\n"), brings(answer(1))},
			want: ok, log: []string{"POST 0s ", "GET 1s a"},
		},
		{
			name: "when the server says", connections: []http.HandlerFunc{
				brings("retry: 12345\nid: a\n\n"), brings("id: b\n\n"), brings("id: c\nretry: 0\n\n"), brings(answer(1)),
			},
			want: ok, log: []string{"POST 0s ", "GET 12.345s a", "GET 24.69s b", "GET 24.69s c"},
		},
		{
			name: "of an id in an event that was cut off", connections: []http.HandlerFunc{
				breaks("id: a\n\n", "id: b\ndata: {\"jsonrpc\""), breaks(strings.TrimSuffix(note(1, "id: c"), "\n\n")), brings(answer(1)),
			},
			want: ok, log: []string{"POST 0s ", "GET 1s a", "GET 2s c"}, notes: []string{`1 n {"n":1}`},
		},
		{
			name: "polling", connections: []http.HandlerFunc{
				brings("retry: 3000\nid: a\n\n"), brings(), brings(), brings(), brings(), brings(answer(1)),
			},
			want: ok, log: []string{"POST 0s ", "GET 3s a", "GET 6s a", "GET 9s a", "GET 12s a", "GET 15s a"},
		},
		{
			name: "without repeating what had come", connections: []http.HandlerFunc{
				brings(note(1, "id: a"), note(2, "id: b"), note(3)),
				brings(note(1, "id: a"), note(2, "id: b"), note(4, "id: c"), note(4, "id: c")),
				brings(note(1, "id: a"), note(4, "id: c"), note(5, "id: d"), answer(1, "id: e")),
			},
			want: ok, log: []string{"POST 0s ", "GET 1s b", "GET 2s c"},
			notes: []string{`1 n {"n":1}`, `1 n {"n":2}`, `1 n {"n":3}`, `1 n {"n":4}`, `1 n {"n":4}`, `1 n {"n":5}`},
		},
		{
			name: "not without an id", connections: []http.HandlerFunc{brings("retry: 1\n\n", note(1))},
			err: ErrNoResponse.Error(), log: []string{"POST 0s "}, notes: []string{`1 n {"n":1}`},
		},
		{
			name: "not when the id is taken back", connections: []http.HandlerFunc{brings("id: a\n\nid\n\n")},
			err: ErrNoResponse.Error(), log: []string{"POST 0s "},
		},
		{
			name: "not in this era", revision: testModern, connections: []http.HandlerFunc{brings("id: a\n\n")},
			err: ErrNoResponse.Error(), log: []string{"POST 0s "},
		},
		{
			name: "not what is too large", connections: []http.HandlerFunc{brings("id: a\n\ndata: " + strings.Repeat("x", testLimit) + "\n\n")},
			err: "HTTP 200: an event of the stream is larger than 1048576 bytes", log: []string{"POST 0s "},
		},
		{
			name: "not what cannot be decoded", connections: []http.HandlerFunc{brings("id: a\ndata: {\"jsonrpc\":\"1.0\",\"id\":1}\n\n")},
			err: "HTTP 200: " + errUndecodable.Reason, log: []string{"POST 0s "},
		},
		{
			name: "405", connections: []http.HandlerFunc{brings("id: a\n\n"), failing(405)},
			err: "HTTP 405", log: []string{"POST 0s ", "GET 1s a"},
		},
		{
			name: "404", connections: []http.HandlerFunc{brings("id: a\n\n"), failing(404)},
			err: "HTTP 404", log: []string{"POST 0s ", "GET 1s a"},
		},
		{
			name: "401", connections: []http.HandlerFunc{brings("id: a\n\n"), failing(401)},
			err: "HTTP 401", log: []string{"POST 0s ", "GET 1s a"},
		},
		{
			name: "no stream", connections: []http.HandlerFunc{brings("id: a\n\n"), failing(200, "Content-Type", "text/html")},
			err: "HTTP 200: " + ErrNoStream.Error(), log: []string{"POST 0s ", "GET 1s a"},
		},
		{
			name: "a server that is busy", connections: []http.HandlerFunc{
				brings("id: a\nretry: 1000\n\n"), failing(429, "Retry-After", "100"), failing(503, "Retry-After", "50"), brings(answer(1)),
			},
			want: ok, log: []string{"POST 0s ", "GET 1s a", "GET 1m41s a", "GET 2m31s a"},
		},
		{
			name: "a server that cannot", connections: []http.HandlerFunc{brings("id: a\n\n"), failing(501)},
			err: "HTTP 501", log: []string{"POST 0s ", "GET 1s a"},
		},
		{
			name: "until the call ends", connections: []http.HandlerFunc{brings("id: a\nretry: 18446744073709551615\n\n")},
			err: context.DeadlineExceeded.Error(), log: []string{"POST 0s "},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := &streamServer{connections: test.connections, start: time.Now()}
				cfg := inMemory(t, srv.ServeHTTP)
				var got notes
				cfg.Handler.Notification = got.take
				revision := test.revision
				if revision == "" {
					revision = testLegacy
				}
				conn := dialTest(t, cfg, revision)
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				raw, err := conn.Call(ctx, Request{ID: 1, Method: "m"})
				text := ""
				if err != nil {
					text = err.Error()
				}
				if string(raw) != test.want || text != test.err {
					t.Errorf("result %s, error %v; want %s, %s", raw, err, test.want, test.err)
				}
				if diff := cmp.Diff(test.log, srv.log.all()); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.notes, got.all()); diff != "" {
					t.Errorf("notifications (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A server may close the stream every second for as long as it likes.
func TestStreamableResumesOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const times = 500
		srv := &streamServer{start: time.Now()}
		for i := range times {
			srv.connections = append(srv.connections, func(w http.ResponseWriter, r *http.Request) {
				sendEvents(w, fmt.Sprintf("id: %d\ndata\n\n", i))
				time.Sleep(time.Second)
			})
		}
		srv.connections = append(srv.connections, brings(answer(1)))
		conn := dialTest(t, inMemory(t, srv.ServeHTTP), testLegacy)
		if _, err := conn.Call(t.Context(), Request{ID: 1, Method: "m"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(srv.start); took != 2*times*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// Attempts that fail, and connections that bring nothing, come in growing
// intervals.
func TestStreamableBacksOff(t *testing.T) {
	for name, attempt := range map[string]http.HandlerFunc{
		"empty streams": brings(),
		"failures":      failing(503),
		"broken":        breaks(),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := "id: a\n\n"
				if name == "failures" {
					first = "retry: 10\n" + first
				}
				srv := &streamServer{start: time.Now(), connections: []http.HandlerFunc{brings(first)}}
				var last time.Time
				var pauses []time.Duration
				const attempts = 12
				for range attempts {
					srv.connections = append(srv.connections, func(w http.ResponseWriter, r *http.Request) {
						if !last.IsZero() {
							pauses = append(pauses, time.Since(last))
						}
						last = time.Now()
						attempt(w, r)
					})
				}
				another := func(w http.ResponseWriter, r *http.Request) {
					last = time.Now()
					attempt(w, r)
				}
				srv.connections = append(srv.connections, brings("id: b\n\n"), another, func(w http.ResponseWriter, r *http.Request) {
					// Something had come, so the intervals begin anew.
					if pause := time.Since(last); pause > 3*time.Second/2 {
						t.Errorf("pause is %v", pause)
					}
					sendEvents(w, answer(1))
				})
				conn := dialTest(t, inMemory(t, srv.ServeHTTP), testLegacy)
				if _, err := conn.Call(t.Context(), Request{ID: 1, Method: "m"}); err != nil {
					t.Fatal(err)
				}
				for i, pause := range pauses {
					middle := min(time.Second<<min(i, 10), maxPause)
					if pause < middle/2 || pause > min(middle*3/2, maxPause) {
						t.Errorf("pause %d is %v", i, pause)
					}
				}
				if len(pauses) != attempts-1 || pauses[len(pauses)-1] < maxPause/2 {
					t.Errorf("pauses are %v", pauses)
				}
			})
		})
	}
}

// What is remembered of events is bounded.
func TestStreamRemembersLittle(t *testing.T) {
	s := newStream(1, false)
	for range 10 {
		s.connected()
		for i := range 10_000 {
			s.repeated(strconv.Itoa(i))
		}
		if len(s.fresh) > maxSeen || len(s.seen) > maxSeen {
			t.Fatalf("%d and %d events", len(s.fresh), len(s.seen))
		}
	}
	if s.connected(); !s.repeated("9999") || !s.repeated("9500") || s.repeated("1") {
		t.Error("the last events are not remembered")
	}
}

// Even an impatient server is not asked without end.
func TestStreamableDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &streamServer{start: time.Now(), connections: []http.HandlerFunc{brings("id: a\nretry: 0\n\n")}}
		for range 10_000 {
			srv.connections = append(srv.connections, brings())
		}
		conn := dialTest(t, inMemory(t, srv.ServeHTTP), testLegacy)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := conn.Call(ctx, Request{ID: 1, Method: "m"}); err != context.DeadlineExceeded {
			t.Errorf("error is %v", err)
		}
		if n := len(srv.log.all()); n > 100 {
			t.Errorf("%d requests in a minute", n)
		}
	})
}

// What keeps a request from being made at all will not change.
func TestStreamableResumesOverNetworkErrors(t *testing.T) {
	for _, test := range []struct {
		err   error
		again bool
	}{
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, true},
		{io.ErrUnexpectedEOF, true},
		{&netpolicy.BlockedHostError{Host: "x"}, false},
		{netpolicy.ErrRedirect, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			srv := &streamServer{start: time.Now(), connections: []http.HandlerFunc{brings("id: a\n\n"), brings(answer(1))}}
			gets := 0
			cfg := testConfig(t, "http://test.invalid/", tripper(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodGet {
					if gets++; gets < 3 {
						return nil, test.err
					}
				}
				return memory{srv}.RoundTrip(r)
			}))
			_, err := dialTest(t, cfg, testLegacy).Call(t.Context(), Request{ID: 1, Method: "m"})
			if (err == nil) != test.again || err != nil && !errors.Is(err, test.err) {
				t.Errorf("%v: error is %v", test.err, err)
			}
		})
	}
}

// The end of a session is found out while a stream is resumed, too, and a call
// that waits to resume is cancelled like any other.
func TestStreamableResumingEnds(t *testing.T) {
	t.Run("session", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			cfg := inMemory(t, session(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					sendEvents(w, "id: a\n\n")
					return
				}
				if r.Header.Get("Mcp-Session-Id") != "S" || r.Header.Get("Mcp-Protocol-Version") != testLegacy {
					t.Errorf("headers are %v", r.Header)
				}
				w.WriteHeader(404)
			}))
			conn := initialize(t, cfg)
			_, err := conn.Call(t.Context(), Request{ID: 1, Method: "m"})
			if _, ok := errors.AsType[*HTTPError](err); !ok || !errors.Is(err, ErrSessionExpired) || conn.Err() != ErrSessionExpired {
				t.Errorf("error is %v, of the connection %v", err, conn.Err())
			}
		})
	})
	t.Run("context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var told record
			cfg := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
				if m := receive(r); m.Method != "m" {
					told.add("%s %s", m.Method, m.Params)
					return
				}
				sendEvents(w, "retry: 100000\nid: a\n\n")
			})
			conn := dialTest(t, cfg, testLegacy)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := conn.Call(ctx, Request{ID: 1, Method: "m"}); err != context.DeadlineExceeded {
				t.Errorf("error is %v", err)
			}
			synctest.Wait()
			if diff := cmp.Diff([]string{`notifications/cancelled {"requestId":1,"reason":"timed out"}`}, told.all()); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("close", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			conn := dialTest(t, inMemory(t, brings("retry: 100000\nid: a\n\n")), testLegacy)
			go func() {
				time.Sleep(time.Second)
				conn.Close(context.Background())
			}()
			if _, err := conn.Call(t.Context(), Request{ID: 1, Method: "m"}); err != ErrClosed {
				t.Errorf("error is %v", err)
			}
		})
	})
}

func TestStreamableListens(t *testing.T) {
	forever := func(w http.ResponseWriter, r *http.Request) { sendEvents(w, ":\n\n"); <-r.Context().Done() }
	tests := []struct {
		name        string
		connections []http.HandlerFunc
		log         []string
		notes       []string
		loud        bool
	}{
		{
			name: "on one connection", connections: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
				sendEvents(w, note(1, "id: a"), `data: {"jsonrpc":"2.0","id":1,"result":{}}`+"\n\n",
					`data: [{"jsonrpc":"2.0","id":"x","result":{}},{"jsonrpc":"2.0","error":{"code":1}}]`+"\n\n", "data: hello\n\n", `data: {"jsonrpc":"1.0","id":1}`+"\n\n", note(2))
				<-r.Context().Done()
			}},
			log: []string{"GET 0s "}, notes: []string{`0 n {"n":1}`, `0 n {"n":2}`},
		},
		{
			name: "on several", connections: []http.HandlerFunc{
				brings(note(1)), brings(note(2, "id: a")), brings(note(2, "id: a"), note(3, "id: b"), "retry: 5000\n\n"), forever,
			},
			log: []string{"GET 0s ", "GET 1s ", "GET 2s a", "GET 7s b"}, notes: []string{`0 n {"n":1}`, `0 n {"n":2}`, `0 n {"n":3}`},
		},
		{
			name: "after a long time in silence", connections: []http.HandlerFunc{
				func(w http.ResponseWriter, r *http.Request) { sendEvents(w); time.Sleep(time.Minute) },
				func(w http.ResponseWriter, r *http.Request) { sendEvents(w); time.Sleep(time.Minute) },
				forever,
			},
			log: []string{"GET 0s ", "GET 1m1s ", "GET 2m2s "},
		},
		{
			name: "not to what is too large again", connections: []http.HandlerFunc{
				brings("id: a\n\ndata: " + strings.Repeat("x", testLimit) + "\n\n"),
				func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Last-Event-ID") == "" {
						sendEvents(w, note(1))
					}
					<-r.Context().Done()
				},
			},
			notes: []string{`0 n {"n":1}`},
		},
		{name: "405", connections: []http.HandlerFunc{failing(405)}, log: []string{"GET 0s "}},
		{name: "404", connections: []http.HandlerFunc{failing(404)}, log: []string{"GET 0s "}},
		{name: "400", connections: []http.HandlerFunc{failing(400)}, log: []string{"GET 0s "}},
		{name: "501", connections: []http.HandlerFunc{failing(501)}, log: []string{"GET 0s "}},
		{name: "no stream", connections: []http.HandlerFunc{failing(200, "Content-Type", "application/json")}, log: []string{"GET 0s "}},
		{name: "401", connections: []http.HandlerFunc{failing(401)}, log: []string{"GET 0s "}, loud: true},
		{name: "403", connections: []http.HandlerFunc{failing(403)}, log: []string{"GET 0s "}, loud: true},
		{name: "401 later", connections: []http.HandlerFunc{brings(note(1)), failing(401)}, log: []string{"GET 0s ", "GET 1s "}, notes: []string{`0 n {"n":1}`}, loud: true},
		{name: "busy at first", connections: []http.HandlerFunc{failing(503, "Retry-After", "9"), brings(note(1)), forever}, log: []string{"GET 0s ", "GET 9s ", "GET 10s "}, notes: []string{`0 n {"n":1}`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := &streamServer{connections: test.connections, start: time.Now()}
				cfg := inMemory(t, session(srv.ServeHTTP))
				var got notes
				cfg.Handler.Notification = got.take
				var warnings record
				cfg.Log = slog.New(slog.NewTextHandler(&warnings, &slog.HandlerOptions{Level: slog.LevelInfo}))
				conn := initialize(t, cfg)
				conn.Listen()
				conn.Listen()
				time.Sleep(time.Hour)
				if diff := cmp.Diff(test.log, srv.log.all()); diff != "" && test.log != nil {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.notes, got.all()); diff != "" {
					t.Errorf("notifications (-want +got):\n%s", diff)
				}
				if (len(warnings.all()) > 0) != test.loud {
					t.Errorf("log is %q", warnings.all())
				}
				if conn.Err() != nil {
					t.Errorf("the connection ended: %v", conn.Err())
				}
				conn.Close(t.Context())
			})
		})
	}
}

// When the stream begins: once it is known that the revision has it.
func TestStreamableListenWaits(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(Conn)
		want int
	}{
		{"early", func(c Conn) { c.Listen() }, 0},
		{"legacy", func(c Conn) { c.SetRevision(testLegacy); c.Listen() }, 1},
		{"legacy later", func(c Conn) { c.Listen(); synctest.Wait(); c.SetRevision(testLegacy) }, 1},
		{"legacy twice", func(c Conn) { c.Listen(); c.SetRevision(testLegacy); c.Listen() }, 1},
		{"modern", func(c Conn) { c.SetRevision(testModern); c.Listen() }, 0},
		{"modern later", func(c Conn) { c.Listen(); c.SetRevision(testModern) }, 0},
		{"not asked", func(c Conn) { c.SetRevision(testLegacy) }, 0},
		{"closed", func(c Conn) { c.SetRevision(testLegacy); c.Close(context.Background()); c.Listen() }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gets := 0
				conn := dialTest(t, inMemory(t, func(w http.ResponseWriter, r *http.Request) {
					gets++
					if r.Method != http.MethodGet || r.Header.Get("Accept") != "text/event-stream" {
						t.Errorf("%s with %v", r.Method, r.Header)
					}
					w.WriteHeader(405)
				}), "")
				test.do(conn)
				synctest.Wait()
				if gets != test.want {
					t.Errorf("%d requests, want %d", gets, test.want)
				}
			})
		})
	}
}

// Where there had been a stream, 404 means that the session is over.
func TestStreamableListenFindsExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &streamServer{connections: []http.HandlerFunc{brings(note(1)), failing(404)}, start: time.Now()}
		conn := initialize(t, inMemory(t, session(srv.ServeHTTP)))
		conn.Listen()
		<-conn.Done()
		if conn.Err() != ErrSessionExpired || time.Since(srv.start) != time.Second {
			t.Errorf("error is %v after %v", conn.Err(), time.Since(srv.start))
		}
	})
}

// The requests of a server come on the stream that belongs to no request, too.
func TestStreamableListenAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan string, 1)
		cfg := inMemory(t, session(func(w http.ResponseWriter, r *http.Request) {
			switch r.Method {
			case http.MethodGet:
				sendEvents(w, `data: {"jsonrpc":"2.0","id":7,"method":"ping"}`+"\n\n")
				<-r.Context().Done()
			case http.MethodPost:
				m := receive(r)
				answers <- fmt.Sprintf("%s %s", m.ID, m.Result)
			}
		}))
		initialize(t, cfg).Listen()
		if got := <-answers; got != "7 {}" {
			t.Errorf("answer is %s", got)
		}
	})
}

// Many calls at a time do not meet each other's responses.
func TestStreamableConcurrent(t *testing.T) {
	cfg := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.Atoi(string(receive(r).ID))
		if id%2 == 0 {
			sendJSON(w, `{"jsonrpc":"2.0","id":%d,"result":{"n":%d}}`, id, id)
			return
		}
		sendEvents(w, note(id), answer(id-1), answer(id))
	}))
	var got notes
	cfg.Handler.Notification = got.take
	conn := dialTest(t, cfg, testLegacy)
	var calls sync.WaitGroup
	for i := range 50 {
		calls.Go(func() {
			raw, err := conn.Call(t.Context(), Request{ID: int64(i + 1), Method: "m"})
			if want := fmt.Sprintf(`{"n":%d}`, i+1); string(raw) != want || err != nil {
				t.Errorf("result %s, error %v; want %s", raw, err, want)
			}
		})
	}
	calls.Wait()
	if n := len(got.all()); n != 25 {
		t.Errorf("%d notifications", n)
	}
}

// BenchmarkCall compares calls over an open connection with those of the bare
// SDK, which decodes the results as well.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{100, 100_000} {
		for _, stream := range []bool{false, true} {
			for _, legacy := range []bool{false, true} {
				text := strings.Repeat("x", size)
				result := `{"resultType":"complete","content":[{"type":"text","text":"` + text + `"}]}`
				script := mcptest.Modern()
				revision := testModern
				if legacy {
					script, revision = mcptest.Legacy(), testLegacy
				}
				script.Stream = stream
				script.Call = func(json.RawMessage) string { return result }
				srv := httptest.NewServer(script)
				defer srv.Close()
				transport := new(http.Transport)
				defer transport.CloseIdleConnections()
				name := fmt.Sprintf("%d/stream=%v/%s", size, stream, revision)
				b.Run(name+"/bare", func(b *testing.B) {
					client := mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil)
					session, err := client.Connect(b.Context(), &mcp.StreamableClientTransport{
						Endpoint: srv.URL, HTTPClient: &http.Client{Transport: transport}, DisableStandaloneSSE: true,
					}, nil)
					if err != nil {
						b.Fatal(err)
					}
					defer session.Close()
					b.ReportAllocs()
					for b.Loop() {
						if _, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "t", Arguments: map[string]any{"a": 1}}); err != nil {
							b.Fatal(err)
						}
					}
				})
				b.Run(name+"/ours", func(b *testing.B) {
					conn := dialTest(b, testConfig(b, srv.URL, transport), revision)
					params := json.RawMessage(`{"name":"t","arguments":{"a":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`)
					id := int64(0)
					b.ReportAllocs()
					for b.Loop() {
						id++
						if _, err := conn.Call(b.Context(), Request{ID: id, Method: "tools/call", Name: "t", Params: params}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
