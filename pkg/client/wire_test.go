package client

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestRequestID(t *testing.T) {
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":8}}`: "7",
		`{"jsonrpc":"2.0","method":"id","id":12}`:                          "12",
		`{"method":"tools/call","params":{"id":8},"id":7}`:                 "",
		`{"jsonrpc":"2.0","id":null,"method":"x"}`:                         "",
		`{"jsonrpc":"2.0","method":"notifications/x"}`:                     "",
		`[{"id":1}]`: "1",
		``:           "",
		`{"id"`:      "",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := requestID(req); got != want {
			t.Errorf("%s: id is %q, want %q", body, got, want)
		}
	}
}

// A result is taken from the response to the request alone.
func TestExchangeTakesItsOwnResponse(t *testing.T) {
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"result": {"a":1} }`:              `{"a":1}`,
		`{"jsonrpc":"2.0","result":[],"id": 7}`:                    `[]`,
		`{"jsonrpc":"2.0","id":8,"result":{}}`:                     "",
		`{"jsonrpc":"2.0","id":"7","result":{}}`:                   "",
		`{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}`:     "",
		`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""}}`: "",
		`{"jsonrpc":"2.0","id":7,"Result":{}}`:                     "",
		`{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1}}`:  "",
		`{"jsonrpc":"2.0","id":7,"error":{"code":1},"result":{}}`:  "",
		`{"jsonrpc":"2.0","id":7,"result":{},"error":null}`:        "{}",
		`{"jsonrpc":"2.0","id":7,"result":{}`:                      "",
		`rubbish`:                                                  "",
	} {
		var ex exchange
		ex.setMessage([]byte(body), "7")
		if got := string(ex.raw()); got != want {
			t.Errorf("%s: result is %q, want %q", body, got, want)
		}
	}
}

// answers is a connection with one message to read.
type answers struct {
	mcp.Connection
	msg jsonrpc.Message
}

func (a answers) Read(context.Context) (jsonrpc.Message, error) { return a.msg, nil }

// A response with an error and a result has failed.
func TestRecordedTakesNoResultOfAFailure(t *testing.T) {
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"result":{}}`:                             "{}",
		`{"jsonrpc":"2.0","id":7,"result":{},"error":null}`:                "{}",
		`{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1}}`:          "",
		`{"jsonrpc":"2.0","id":7,"error":{"message":"no"},"result":[1,2]}`: "",
	} {
		msg, err := jsonrpc.DecodeMessage([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		c := recorded(answers{msg: msg})
		var ex exchange
		c.pending[msg.(*jsonrpc.Response).ID] = &ex
		if _, err := c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := string(ex.raw()); got != want {
			t.Errorf("%s: result is %q, want %q", body, got, want)
		}
	}
}
