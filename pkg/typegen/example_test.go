package typegen_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/typegen"
)

func ExampleGenerate() {
	// A tools/list result, as any server answers.
	list := `{"tools": [{"name": "get_forecast", "inputSchema": {
		"type": "object",
		"properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
		"required": ["city"]}}]}`
	c, err := catalog.Read(strings.NewReader(list), "weather")
	if err != nil {
		log.Fatal(err)
	}
	res, err := typegen.Generate(c, typegen.Options{Package: "weather", NoValidate: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range res.Diagnostics {
		fmt.Println(d)
	}
	_, types, _ := strings.Cut(string(res.Files[0].Content), "// GetForecastInput ")
	types, _, _ = strings.Cut(types, "\nvar ")
	fmt.Print("// GetForecastInput ", types)
	// Output:
	// // GetForecastInput holds the arguments of the tool "get_forecast".
	// type GetForecastInput struct {
	// 	City string `json:"city"`
	// 	Days *int64 `json:"days,omitzero"`
	// }
}
