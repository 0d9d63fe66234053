package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/config"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// summary counts the changes of a report in words.
func summary(r catalog.Report) string {
	tools := plural(r.Tools, "tool")
	if len(r.Changes) == 0 {
		if r.Tools == 0 && len(r.NotDiscovered) > 0 {
			return "nothing could be compared"
		}
		return "no changes in " + tools
	}
	var parts []string
	for _, s := range []catalog.Severity{catalog.Breaking, catalog.Risky, catalog.Compatible} {
		if n := r.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	what := "changes"
	if len(r.Changes) == 1 {
		what = "change"
	}
	return fmt.Sprintf("%s %s; %d of %s unchanged", strings.Join(parts, ", "), what, r.Unchanged, tools)
}

// place says where a change is.
func changePlace(c catalog.Change) string {
	at := c.Pointer
	if c.Side != "" {
		at = strings.TrimSpace(string(c.Side) + " " + at)
	}
	return ui.Clean(at)
}

// effect says in words what a witness shows.
func effect(c catalog.Change) string {
	if c.Witness == nil || c.Severity == catalog.Compatible {
		return ""
	}
	text := ui.Clean(string(c.Witness))
	if runes := []rune(text); len(runes) > 160 {
		text = string(runes[:159]) + "…"
	}
	at := ""
	if c.Partial {
		at = " there"
	}
	if c.Side == catalog.Output {
		return "may come" + at + " now: " + text
	}
	return "refused" + at + " now: " + text
}

// reportText is a report for people: a summary, then tool by tool.
func reportText(out *ui.Stream, r catalog.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", out.Bold(summary(r)))
	for _, n := range r.NotDiscovered {
		fmt.Fprintf(&b, "%s\n", out.Yellow(notDiscovered(n)))
	}
	tool := ""
	for i, c := range r.Changes {
		if name := ui.Clean(c.Server + "." + c.Tool); i == 0 || name != tool {
			tool = name
			fmt.Fprintf(&b, "\n%s\n", out.Bold(name))
		}
		severity := fmt.Sprintf("%-10s", c.Severity)
		switch c.Severity {
		case catalog.Breaking:
			severity = out.Red(severity)
		case catalog.Risky:
			severity = out.Yellow(severity)
		}
		line := "  " + severity + "  "
		if at := changePlace(c); at != "" {
			line += at + "  "
		}
		fmt.Fprintf(&b, "%s%s\n", line, out.Faint("["+string(c.Code)+"]"))
		detail := func(label, text string) {
			if text != "" {
				fmt.Fprintf(&b, "      %s\n", out.Fit(out.Faint(label)+text, 6))
			}
		}
		if c.Pointer != "" || c.Side != "" {
			detail("old  ", ui.Clean(c.Old))
			detail("new  ", ui.Clean(c.New))
		}
		detail("", ui.Clean(c.Reason))
		detail("", effect(c))
	}
	return b.String()
}

func notDiscovered(n catalog.NotDiscovered) string {
	state := "old"
	if n.New {
		state = "new"
	}
	return fmt.Sprintf("%s: not discovered in the %s state (%s)", ui.Clean(n.Server), state, ui.Clean(n.Reason))
}

// annotate prints a report as workflow commands, and appends it to the summary
// of the step.
func (app *App) annotate(r catalog.Report, newSide string) error {
	var b strings.Builder
	file := ""
	if newSide != "-" && !config.IsURL(newSide) {
		file = "file=" + workflowProperty(newSide) + ","
	}
	for _, n := range r.NotDiscovered {
		fmt.Fprintf(&b, "::warning %stitle=%s::%s\n", file, workflowProperty(n.Server), workflowText(notDiscovered(n)))
	}
	for _, c := range r.Changes {
		command := map[catalog.Severity]string{catalog.Breaking: "error", catalog.Risky: "warning", catalog.Compatible: "notice"}[c.Severity]
		title := fmt.Sprintf("%s: %s.%s", c.Severity, ui.Clean(c.Server), ui.Clean(c.Tool))
		fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", command, file, workflowProperty(title), workflowText(changeLine(c)))
	}
	fmt.Fprintf(&b, "%s\n", summary(r))
	if _, err := fmt.Fprint(app.Out, b.String()); err != nil {
		return err
	}
	name, ok := app.LookupEnv("GITHUB_STEP_SUMMARY")
	if !ok || name == "" {
		return nil
	}
	f, err := os.OpenFile(app.absolute(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fileError("step summary "+name, err)
	}
	if _, err := f.WriteString(reportMarkdown(r)); err != nil {
		_ = f.Close()
		return fileError("step summary "+name, err)
	}
	return f.Close()
}

// changeLine puts a change on one line.
func changeLine(c catalog.Change) string {
	line := "[" + string(c.Code) + "]"
	if at := changePlace(c); at != "" {
		line = at + " " + line
	}
	switch old, cur := ui.Clean(c.Old), ui.Clean(c.New); {
	case c.Side == "" && c.Pointer == "":
	case old != "" && cur != "":
		line += ": " + old + " → " + cur
	case old != "":
		line += ": gone: " + old
	case cur != "":
		line += ": new: " + cur
	}
	for _, extra := range []string{ui.Clean(c.Reason), effect(c)} {
		if extra != "" {
			line += "; " + extra
		}
	}
	return line
}

// workflowText escapes the message of a workflow command.
func workflowText(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// workflowProperty escapes a property of a workflow command.
func workflowProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// reportMarkdown is a report as a table.
func reportMarkdown(r catalog.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### MCP contracts: %s\n\n", summary(r))
	for _, n := range r.NotDiscovered {
		fmt.Fprintf(&b, "- %s\n", markdownText(notDiscovered(n)))
	}
	if len(r.NotDiscovered) > 0 {
		b.WriteByte('\n')
	}
	if len(r.Changes) == 0 {
		return b.String()
	}
	b.WriteString("| severity | tool | where | rule | old | new |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, c := range r.Changes {
		severity := c.Severity.String()
		if c.Severity == catalog.Breaking {
			severity = "**" + severity + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", severity, markdownText(c.Server+"."+c.Tool),
			markdownText(changePlace(c)), c.Code, markdownText(c.Old), markdownText(c.New))
	}
	b.WriteByte('\n')
	return b.String()
}

// markdownText makes text of a server a piece of code in a table, where it can
// neither end the cell nor become markup.
func markdownText(s string) string {
	s = ui.Clean(s)
	if s == "" {
		return ""
	}
	s = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;", "@", "&#64;", "\\", "&#92;").Replace(s)
	return "<code>" + s + "</code>"
}
