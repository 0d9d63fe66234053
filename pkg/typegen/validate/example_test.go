package validate_test

import (
	"fmt"

	"github.com/mcpctl/mcpctl/pkg/typegen/validate"
)

func Example() {
	schema := &validate.Schema{JSON: `{
		"type": "object",
		"properties": {"days": {"type": "integer", "maximum": 14}},
		"required": ["city"]
	}`}
	fmt.Println(schema.ValidateJSON([]byte(`{"city": "Berlin", "days": 3}`)))
	fmt.Println(schema.ValidateJSON([]byte(`{"days": 30}`)))
	// Output:
	// <nil>
	// missing "city"; /days: more than 14
}
