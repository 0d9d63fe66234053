package rt_test

import (
	"encoding/json"
	"fmt"

	"github.com/mcpctl/mcpctl/pkg/typegen/rt"
)

// Point is what the generator makes of a schema that names two members, lets
// one of them be null, and allows no others.
type Point struct {
	_     rt.Closed
	Label rt.Opt[string] `json:"label,omitzero"`
	X     int64          `json:"x"`
}

func (v Point) MarshalJSON() ([]byte, error) {
	return rt.Marshal(&v)
}

func (v *Point) UnmarshalJSON(data []byte) error {
	return rt.Unmarshal(data, v)
}

func Example() {
	for _, text := range []string{`{"x":1}`, `{"x":1e3,"label":null}`, `{"x":1,"y":2}`, `{"X":1}`} {
		var p Point
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			fmt.Println(err)
			continue
		}
		out, err := json.Marshal(p)
		fmt.Println(string(out), err)
	}
	// Output:
	// {"x":1} <nil>
	// {"label":null,"x":1000} <nil>
	// /y: the member is not allowed here
	// /X: the member is not allowed here
}

func ExampleOpt() {
	var o rt.Opt[string]
	fmt.Println(o.IsZero(), o.IsNull(), o.Or("default"))
	o.SetNull()
	fmt.Println(o.IsZero(), o.IsNull(), o.Or("default"))
	o.Set("value")
	fmt.Println(o.IsZero(), o.IsNull(), o.Or("default"))
	// Output:
	// true false default
	// false true default
	// false false value
}
