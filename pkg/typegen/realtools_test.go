// This file compares generated types of ten real tools with hand-written ones.

package typegen_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/mcpctl/mcpctl/pkg/typegen/rt"
	"github.com/mcpctl/mcpctl/pkg/typegen/testdata/realtools/explicit"
	"github.com/mcpctl/mcpctl/pkg/typegen/testdata/realtools/hand"
	"github.com/mcpctl/mcpctl/pkg/typegen/testdata/realtools/keep"
)

var targets = map[string]map[string]func() any{
	"hand": {
		"add-tasks":                  func() any { return new(hand.AddTasksInput) },
		"atlas-list-clusters":        func() any { return new(hand.AtlasListClustersOutput) },
		"create-feature-flag":        func() any { return new(hand.CreateFeatureFlagInput) },
		"create_or_update_file":      func() any { return new(hand.CreateOrUpdateFileInput) },
		"find-projects":              func() any { return new(hand.FindProjectsOutput) },
		"keyvault_secret_get":        func() any { return new(hand.KeyvaultSecretGetInput) },
		"list_issues":                func() any { return new(hand.ListIssuesInput) },
		"tavily_crawl":               func() any { return new(hand.TavilyCrawlInput) },
		"update_subscription":        func() any { return new(hand.UpdateSubscriptionInput) },
		"zephyr_get_test_case_links": func() any { return new(hand.ZephyrGetTestCaseLinksOutput) },
	},
	"explicit": {
		"add-tasks":                  func() any { return new(explicit.AddTasksInput) },
		"atlas-list-clusters":        func() any { return new(explicit.AtlasListClustersOutput) },
		"create-feature-flag":        func() any { return new(explicit.CreateFeatureFlagInput) },
		"create_or_update_file":      func() any { return new(explicit.CreateOrUpdateFileInput) },
		"find-projects":              func() any { return new(explicit.FindProjectsOutput) },
		"keyvault_secret_get":        func() any { return new(explicit.KeyvaultSecretGetInput) },
		"list_issues":                func() any { return new(explicit.ListIssuesInput) },
		"tavily_crawl":               func() any { return new(explicit.TavilyCrawlInput) },
		"update_subscription":        func() any { return new(explicit.UpdateSubscriptionInput) },
		"zephyr_get_test_case_links": func() any { return new(explicit.ZephyrGetTestCaseLinksOutput) },
	},
	"keep": {
		"add-tasks":                  func() any { return new(keep.AddTasksInput) },
		"atlas-list-clusters":        func() any { return new(keep.AtlasListClustersOutput) },
		"create-feature-flag":        func() any { return new(keep.CreateFeatureFlagInput) },
		"create_or_update_file":      func() any { return new(keep.CreateOrUpdateFileInput) },
		"find-projects":              func() any { return new(keep.FindProjectsOutput) },
		"keyvault_secret_get":        func() any { return new(keep.KeyvaultSecretGetInput) },
		"list_issues":                func() any { return new(keep.ListIssuesInput) },
		"tavily_crawl":               func() any { return new(keep.TavilyCrawlInput) },
		"update_subscription":        func() any { return new(keep.UpdateSubscriptionInput) },
		"zephyr_get_test_case_links": func() any { return new(keep.ZephyrGetTestCaseLinksOutput) },
	},
}

func values(t testing.TB) map[string]json.RawMessage {
	t.Helper()
	b, err := os.ReadFile("../../testdata/typegen/real/values.json")
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRoundTrip holds that the values come back whole from each set of types,
// so that the benchmark compares like with like.
func TestRealRoundTrip(t *testing.T) {
	for set, types := range targets {
		for tool, data := range values(t) {
			v := types[tool]()
			if err := json.Unmarshal(data, v); err != nil {
				t.Errorf("%s %s: %v", set, tool, err)
				continue
			}
			out, err := json.Marshal(v)
			if err != nil {
				t.Errorf("%s %s: %v", set, tool, err)
				continue
			}
			var a, b any
			if json.Unmarshal(data, &a) != nil || json.Unmarshal(out, &b) != nil {
				t.Fatal("not JSON")
			}
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			if string(x) != string(y) {
				t.Errorf("%s %s:\nhave %s\nwant %s", set, tool, y, x)
			}
		}
	}
}

// BenchmarkRealRoundTrip decodes and encodes all ten through encoding/json, which
// is what most programs do, and through package rt, which the bindings use.
func BenchmarkRealRoundTrip(b *testing.B) {
	for _, set := range []string{"hand", "explicit", "keep"} {
		b.Run(set, func(b *testing.B) { run(b, set, json.Unmarshal, json.Marshal) })
	}
	for _, set := range []string{"explicit", "keep"} {
		b.Run("rt/"+set, func(b *testing.B) { run(b, set, rt.Unmarshal, rt.Marshal) })
	}
}

func BenchmarkRealDecode(b *testing.B) {
	none := func(any) ([]byte, error) { return nil, nil }
	for _, set := range []string{"hand", "explicit", "keep"} {
		b.Run(set, func(b *testing.B) { run(b, set, json.Unmarshal, none) })
	}
}

func run(b *testing.B, set string, decode func([]byte, any) error, encode func(any) ([]byte, error)) {
	data := values(b)
	tools := slices.Sorted(maps.Keys(data))
	b.ReportAllocs()
	for b.Loop() {
		for _, tool := range tools {
			v := targets[set][tool]()
			if err := decode(data[tool], v); err != nil {
				b.Fatal(err)
			}
			if _, err := encode(v); err != nil {
				b.Fatal(err)
			}
		}
	}
}
