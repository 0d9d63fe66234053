package schema

import (
	"encoding/json"
	"os"
	"testing"
)

// toolSchemas are the input schemas of a real server.
func toolSchemas(b *testing.B) [][]byte {
	b.Helper()
	raw, err := os.ReadFile("../../testdata/catalogues/github-go.json")
	if err != nil {
		b.Fatal(err)
	}
	var catalogue struct {
		Tools []struct{ InputSchema json.RawMessage }
	}
	if err := json.Unmarshal(raw, &catalogue); err != nil || len(catalogue.Tools) == 0 {
		b.Fatal("no tools: ", err)
	}
	var schemas [][]byte
	for _, t := range catalogue.Tools {
		schemas = append(schemas, t.InputSchema)
	}
	return schemas
}

func BenchmarkCompile(b *testing.B) {
	schemas := toolSchemas(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := Compile(schemas[i%len(schemas)], Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	var schemas []*Schema
	for _, raw := range toolSchemas(b) {
		schemas = append(schemas, mustCompile(b, string(raw), Options{}))
	}
	value := []byte(`{"owner":"a","repo":"b","title":"c","body":"d","perPage":10}`)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_ = schemas[i%len(schemas)].Validate(value)
	}
}
