package catalog

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "rewrite golden files")

// validator is a schema as another program understands it.
func validator(t testing.TB, schema string) func(json.RawMessage) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	// Formats are annotations unless somebody asks for more; this validator
	// would check them in draft-07.
	for _, name := range []string{
		"date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "iri",
		"uri-reference", "iri-reference", "uri-template", "uuid", "json-pointer", "regex",
	} {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	if err := c.AddResource("mem:///schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///schema.json")
	if err != nil {
		return nil // not a schema: only the verdict "not decided" is for it
	}
	return func(v json.RawMessage) bool {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(v))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(value) == nil
	}
}

func (p pair) wrapped() pair {
	wrap := func(s string) string {
		return `{"type":"object","properties":{"p":` + s + `},"required":["p"]}`
	}
	p.old, p.new = wrap(p.old), wrap(p.new)
	return p
}

func allPairs() []pair {
	var all []pair
	for _, p := range valuePairs {
		all = append(all, p.wrapped())
	}
	return append(all, rootPairs...)
}

func toolOf(t testing.TB, side Side, schema string) Tool {
	t.Helper()
	raw := `{"name":"t","inputSchema":` + schema + `}`
	if side == Output {
		raw = `{"name":"t","inputSchema":{"type":"object"},"outputSchema":` + schema + `}`
	}
	tool, err := ParseTool(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// letter is the verdict of a list of changes as the table has it.
func letter(changes []Change) string {
	worst, undecided := Compatible, false
	for _, c := range changes {
		if c.Code == NotDecided {
			undecided = true
		}
		worst = max(worst, c.Severity)
	}
	switch {
	case len(changes) == 0:
		return "="
	case worst == Breaking:
		return "B"
	case undecided:
		return "U"
	case worst == Risky:
		return "R"
	}
	return "C"
}

// TestPairs holds the verdict on every pair of the table, on either side, and
// has another validator confirm it: what breaks has a witness, and what does
// not has none among many values.
func TestPairs(t *testing.T) {
	var golden strings.Builder
	verdicts := 0
	for _, p := range allPairs() {
		for _, side := range []Side{Input, Output} {
			verdicts++
			want, rule := strings.CutSuffix(map[Side]string{Input: p.input, Output: p.output}[side], "*")
			changes := DiffTool(toolOf(t, side, p.old), toolOf(t, side, p.new))
			got := letter(changes)
			if got != want {
				t.Errorf("%s, %s: %s, want %s\n%v", p.name, side, got, want, changes)
			}
			fmt.Fprintf(&golden, "%s, %s:\n", p.name, side)
			for _, c := range changes {
				fmt.Fprintf(&golden, "  %s", c)
				for _, extra := range []struct{ name, text string }{{"old", c.Old}, {"new", c.New}, {"witness", string(c.Witness)}, {"because", c.Reason}} {
					if extra.text != "" {
						fmt.Fprintf(&golden, "\n    %s %s", extra.name, extra.text)
					}
				}
				golden.WriteByte('\n')
			}
			confirm(t, p, side, got, rule, changes)
		}
	}
	if verdicts < 240 {
		t.Errorf("%d verdicts only", verdicts)
	}
	const file = "testdata/pairs.golden"
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(golden.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), golden.String()); diff != "" {
		t.Errorf("(-golden +got, go test -update rewrites it):\n%s", diff)
	}
}

// confirm has a validator look at a verdict.
func confirm(t *testing.T, p pair, side Side, verdict string, rule bool, changes []Change) {
	t.Helper()
	from, to := validator(t, p.old), validator(t, p.new)
	if side == Output {
		from, to = to, from
	}
	if from == nil || to == nil {
		if verdict != "U" && verdict != "=" && verdict != "C" {
			t.Errorf("%s, %s: verdict %s on what is no schema", p.name, side, verdict)
		}
		return
	}
	whole := 0
	for _, c := range changes {
		if c.Witness == nil || c.Partial || c.Severity == Compatible {
			continue
		}
		whole++
		if !from(c.Witness) || to(c.Witness) {
			t.Errorf("%s, %s: %s is no witness", p.name, side, c.Witness)
		}
	}
	witness := wholeWitness(t, p, side)
	switch {
	case verdict == "B" && witness == nil:
		t.Errorf("%s, %s: no witness", p.name, side)
	case verdict == "B" && (!from(witness) || to(witness)):
		t.Errorf("%s, %s: %s is no witness", p.name, side, witness)
	case (verdict == "C" || verdict == "=") && !rule:
		for _, v := range samples(t, p.old, p.new) {
			if from(v) && !to(v) {
				t.Errorf("%s, %s: %s, but %s is a witness", p.name, side, verdict, v)
				return
			}
		}
	}
}
