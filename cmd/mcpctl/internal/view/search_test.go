package view

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpctl/mcpctl/pkg/catalog"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestFind(t *testing.T) {
	tool := func(name, title, description, input string) catalog.Tool {
		return catalog.Tool{Name: name, Title: title, Description: description, InputSchema: json.RawMessage(input)}
	}
	offers := []Offer{
		{
			ServerResult: client.ServerResult{Name: "git", Server: catalog.Server{Tools: []catalog.Tool{
				tool("issues_read", "Read", "Reads things.", `{}`),
				tool("getIssue", "", "Reads one.", `{}`),
				tool("close", "Close an Issue", "", `{}`),
				tool("comment", "", "Writes below an issue.", `{}`),
				tool("label", "", "Marks it.", `{"properties":{"issueNumber":{"type":"integer"}}}`),
				tool("broken issue", "", "", `{}`),
				tool("other", "", "", `{"description":"issue"}`),
			}}},
			Prompts: []client.Prompt{{Prompt: &mcp.Prompt{Name: "triage", Arguments: []*mcp.PromptArgument{{Name: "issue"}}}}},
		},
		{
			ServerResult: client.ServerResult{Name: "files", Server: catalog.Server{Tools: []catalog.Tool{tool("issue", "", "", `{}`)}}},
			Resources:    []client.Resource{{Resource: &mcp.Resource{Name: "r", URI: "issue://1"}}},
			Templates:    []client.ResourceTemplate{{ResourceTemplate: &mcp.ResourceTemplate{Name: "t", URITemplate: "x://{id}", Description: "An issue."}}},
		},
	}
	offers[0].Server.Tools[5].Problem = "x-mcp-header"
	tests := []struct{ words, want []string }{
		{[]string{"Issue"}, []string{"issue", "getIssue", "issues_read", "r", "close", "t", "comment", "label", "triage"}},
		{[]string{"issue", "READ"}, []string{"issues_read", "getIssue"}},
		{[]string{"below an"}, []string{"comment"}},
		{[]string{"nothing"}, nil},
	}
	for _, tt := range tests {
		words := slices.Clone(tt.words)
		var got []string
		for _, m := range Unicode.Find(offers, words) {
			got = append(got, m.Name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.words, diff)
		}
		if diff := cmp.Diff(tt.words, words); diff != "" {
			t.Errorf("the words were changed: %s", diff)
		}
	}
}
