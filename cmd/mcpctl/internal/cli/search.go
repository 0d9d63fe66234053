package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/spf13/cobra"
)

type searchOptions struct {
	target
	outputFlags
	words []string
}

const searchLong = `Searches the names, titles and descriptions of all that servers offer, and the
names of arguments. All words must be found, in any place; case does not count.
What is found in names comes first.

The exit code is 1 if nothing is found.`

const searchExample = `  # Which tool knows the weather?
  mcpctl search weather forecast

  # Words that stand together, on one server
  mcpctl search "pull request" -s github

  # The tools that were found, for a script
  mcpctl search issue --jq '.matches[] | select(.kind == "tool") | "\(.server).\(.name)"'`

func newSearchCmd(app *App) *cobra.Command {
	var o searchOptions
	cmd := &cobra.Command{
		Use:        "search word... [flags] [-- command args...]",
		Short:      "Search what servers offer",
		SuggestFor: []string{"find", "grep"},
		Long:       searchLong,
		Example:    searchExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.words = o.split(cmd, args)
			if len(o.words) == 0 || slices.Contains(o.words, "") {
				return usagef("there is no word to search for")
			}
			return runSearch(cmd.Context(), app, o)
		},
	}
	o.target.addFlags(cmd)
	o.outputFlags.addFlags(cmd, "text", "json")
	return cmd
}

func runSearch(ctx context.Context, app *App, o searchOptions) error {
	if err := o.outputFlags.check(); err != nil {
		return err
	}
	specs, err := o.specs(ctx, app)
	if err != nil {
		return err
	}
	offers, err := app.offers(ctx, specs, view.Kinds...)
	if err != nil {
		return err
	}
	n := view.Unicode
	if o.text() {
		n = notation(app.Out)
	}
	found := view.Search{Matches: n.Find(offers, o.words)}
	if found.Matches == nil {
		found.Matches = []view.Match{}
	}
	for _, offer := range offers {
		if offer.Err != nil {
			found.Failed = append(found.Failed, *describe(offer.Err))
		}
	}
	err = printed(ctx, func() error {
		if !o.text() {
			return o.write(ctx, app, found)
		}
		var b strings.Builder
		for _, m := range found.Matches {
			b.WriteString(matchLine(app.Out, m) + "\n")
		}
		_, err := fmt.Fprint(app.Out, b.String())
		return err
	})
	if err != nil {
		return err
	}
	if err := app.report(serverResults(offers), o.output == "json"); err != nil || len(found.Matches) > 0 {
		return err
	}
	return negativeError{"nothing matches " + clip(strings.Join(o.words, " "))}
}

// matchLine names a match as other commands take it, and says what it is.
func matchLine(out *ui.Stream, m view.Match) string {
	ref := m.Server + "." + m.Name
	if uri := m.URI + m.URITemplate; uri != "" {
		ref = m.Server + " " + uri
	}
	text := cmp.Or(firstSentence(out, m.Description), m.Title, strings.TrimPrefix(m.Signature, m.Name), m.Name)
	text = out.Faint(ui.Clean(text))
	if m.Kind != "tool" {
		text = out.Yellow("["+m.Kind+"]") + " " + text
	}
	return out.Fit(out.Bold(ui.Clean(ref))+"  "+text, 0)
}
