package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/client"
)

// runStatus shows how servers are, a line each.
func runStatus(ctx context.Context, app *App, o listOptions) error {
	specs, err := o.specs(ctx, app)
	if err != nil {
		return err
	}
	offers, err := app.offers(ctx, specs, view.Kinds...)
	if err != nil {
		return err
	}
	err = printed(ctx, func() error {
		if !o.text() {
			list := view.List{Servers: []view.Server{}}
			for _, offer := range offers {
				list.Servers = append(list.Servers, view.NewStatus(offer, describe))
			}
			return o.write(ctx, app, list)
		}
		_, err := fmt.Fprint(app.Out, statusTable(app.Out, offers))
		return err
	})
	return app.reportBeside(err, serverResults(offers), o.output == "json")
}

func statusTable(out *ui.Stream, offers []view.Offer) string {
	headings := []string{"SERVER", "STATE", "REVISION", "ERA", "VIA", "TIME"}
	numeric := len(headings) - 1
	kinds := []string{"TOOLS", "RESOURCES", "TEMPLATES", "PROMPTS"} // the order of view.Kinds
	if out.Width > 0 && out.Width < 100 {
		kinds[1], kinds[2] = "RES", "TMPL"
	}
	headings = append(headings, kinds...)
	var rows []ui.Row
	for _, o := range offers {
		name := out.Bold(ui.Clean(o.Name))
		if o.Err != nil {
			rows = append(rows, ui.Row{Cells: []string{name, out.Red("failed")}, Rest: shortReason(o.Err)})
			continue
		}
		revision := o.Server.ProtocolVersion
		// Both transports over HTTP are that to a person; the era tells more.
		via := strings.TrimPrefix(o.Transport, "streamable-")
		cells := []string{name, out.Green("ok"), ui.Clean(revision), view.Era(revision), via, latency(o.Duration)}
		for _, kind := range view.Kinds {
			n, offered := o.Count(kind)
			count := out.Faint("-")
			if offered {
				count = strconv.Itoa(n)
			}
			cells = append(cells, count)
		}
		rows = append(rows, ui.Row{Cells: cells})
	}
	return out.Table(headings, numeric, rows)
}

// shortReason is the class of a failure and what it means. The rest is told on
// standard error.
func shortReason(err error) string {
	if e, ok := errors.AsType[*client.ServerError](err); ok {
		if strings.Contains(e.Summary(), string(e.Class)) {
			return e.Summary()
		}
		return fmt.Sprintf("%s: %s", e.Class, e.Summary())
	}
	return ui.Clean(err.Error())
}
