package redact

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
)

func TestString(t *testing.T) {
	const secret = `p@ss/wörd "1"`
	r := New(secret, "short", "p@ss/wörd \"1\" and more")
	for _, form := range []string{
		secret,
		url.QueryEscape(secret),
		url.PathEscape(secret),
		`p@ss/wörd \"1\"`,
		base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte(secret)),
	} {
		if got := r.String("a " + form + " b"); got != "a "+Mark+" b" {
			t.Errorf("String(%q) = %q", form, got)
		}
	}
	if got := r.String("short"); got != "short" {
		t.Errorf("a secret below the minimum length was replaced: %q", got)
	}
	if got := r.String(secret + " and more"); got != Mark {
		t.Errorf("the longer of two secrets must win: %q", got)
	}
	var none *Redactor
	if got := none.String(secret); got != secret {
		t.Errorf("nil redactor changed %q", got)
	}
}

func TestWriterFindsSecretsWrittenInPieces(t *testing.T) {
	var out strings.Builder
	w := New("0123456789").Writer(&out)
	for _, piece := range []string{"a 0123", "456789 b\nc 01234", "56789"} {
		if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if got, want := out.String(), "a [redacted] b\n"; got != want {
		t.Errorf("before Flush: %q, want %q", got, want)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "a [redacted] b\nc [redacted]"; got != want {
		t.Errorf("after Flush: %q, want %q", got, want)
	}
}
