// Package docgen writes reference pages from a tree of commands: docs/cli, and
// the manual pages of a release. It is apart so that mcpctl does not link what
// renders them.
package docgen

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Markdown writes a page for each command into a folder, and removes those of
// commands that are gone.
func Markdown(root *cobra.Command, dir string) error {
	if err := clean(dir, root.Name()+"*.md"); err != nil {
		return err
	}
	prepare(root)
	return doc.GenMarkdownTree(root, dir)
}

// Manual is like [Markdown] for manual pages of section 1. The same commands,
// version and date give the same bytes.
func Manual(root *cobra.Command, dir, version string, date time.Time) error {
	if err := clean(dir, root.Name()+"*.1"); err != nil {
		return err
	}
	prepare(root)
	return doc.GenManTree(root, &doc.GenManHeader{
		Section: "1",
		Source:  root.Name() + " " + strings.TrimPrefix(version, "v"),
		Manual:  root.Name(),
		Date:    &date,
	}, dir)
}

func clean(dir, pages string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, pages))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes texts for a terminal fit for what renders Markdown.
func prepare(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true // which has a date
	lines := strings.Split(cmd.Long, "\n")
	for i, line := range lines {
		// What help indents is a block of code, and keeps its lines.
		if strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line
		}
	}
	cmd.Long = strings.Join(lines, "\n")
	for _, sub := range cmd.Commands() {
		prepare(sub)
	}
}
