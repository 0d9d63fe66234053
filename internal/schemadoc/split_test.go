package schemadoc

import (
	"encoding/json"
	"testing"
)

func FuzzSplitValid(f *testing.F) {
	for _, seed := range []string{`{"a":1, "b" : [1,2] }`, ` [ {"x":"]"} , "\"," , -1.5e3,null ] `, `[]`, `{}`, `""`, `[[],[[]]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		var wantItems []json.RawMessage
		isArray := json.Unmarshal(raw, &wantItems) == nil && wantItems != nil
		items, ok := ItemsValid(raw)
		if ok != isArray || len(items) != len(wantItems) {
			t.Fatalf("%q: %d items, %v; want %d, %v", raw, len(items), ok, len(wantItems), isArray)
		}
		for i, item := range items {
			if string(item) != string(wantItems[i]) {
				t.Errorf("%q: item %d is %q, want %q", raw, i, item, wantItems[i])
			}
		}
		want, err := Split(raw)
		got := SplitValid(raw)
		if (err != nil && len(got) > 0) || len(got) != len(want) {
			t.Fatalf("%q: members %q, want %q, %v", raw, got, want, err)
		}
		for i, m := range got {
			if m.Name != want[i].Name || string(m.Raw) != string(want[i].Raw) {
				t.Errorf("%q: member %d is %q, want %q", raw, i, m, want[i])
			}
		}
	})
}
