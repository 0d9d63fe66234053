package ui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/lipgloss/table"
	"github.com/charmbracelet/x/ansi"
)

// Row is a row of a table.
type Row struct {
	// Cells are single lines, and may hold colours.
	Cells []string
	// Rest stands behind the cells of a row that has less of them than there
	// are columns, and runs through what would be the others.
	Rest string
}

// Table lays out rows below headings, without lines between them, in columns
// as wide as what they hold. Those from number numeric on are aligned to the
// right. Where that is too wide for the terminal these move together, and then
// the first column is cut.
func (s *Stream) Table(headings []string, numeric int, rows []Row) string {
	lines := s.table(headings, numeric, 2, rows)
	excess := func() int { return ansi.StringWidth(lines[0]) - s.Width }
	if s.Width > 0 && excess() > 0 {
		lines = s.table(headings, numeric, 1, rows)
	}
	if s.Width > 0 && excess() > 0 {
		widest := 0
		for _, row := range rows {
			widest = max(widest, ansi.StringWidth(row.Cells[0]))
		}
		rows = slices.Clone(rows)
		for i, row := range rows {
			rows[i].Cells = slices.Clone(row.Cells)
			rows[i].Cells[0] = s.middleCut(row.Cells[0], max(8, widest-excess()))
		}
		lines = s.table(headings, numeric, 1, rows)
	}
	var b strings.Builder
	for i, line := range lines {
		line = strings.TrimRight(line, " ")
		if i > 0 && rows[i-1].Rest != "" {
			line += "  " + s.Fit(rows[i-1].Rest, ansi.StringWidth(line)+2)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// middleCut takes out the middle of what is too wide, since names often differ
// in their ends.
func (s *Stream) middleCut(text string, width int) string {
	all := ansi.StringWidth(text)
	if all <= width {
		return text
	}
	left := width - ansi.StringWidth(s.Ellipsis())
	head := (left + 1) / 2
	return ansi.Truncate(text, head, "") + s.Ellipsis() + ansi.TruncateLeft(text, all-(left-head), "")
}

// table returns a line for the headings and one for each row.
func (s *Stream) table(headings []string, numeric, gap int, rows []Row) []string {
	t := table.New().Headers(headings...).Wrap(false).BorderStyle(s.style.NewStyle()).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderHeader(false).BorderColumn(false).
		StyleFunc(func(row, col int) lipgloss.Style {
			style := s.style.NewStyle().Faint(row == table.HeaderRow)
			if col >= numeric {
				style = style.Align(lipgloss.Right)
			}
			switch {
			case col == len(headings)-1:
			case col >= numeric:
				style = style.PaddingRight(gap)
			default:
				style = style.PaddingRight(2)
			}
			return style
		})
	for _, row := range rows {
		t.Row(row.Cells...)
	}
	return strings.Split(t.String(), "\n")
}
