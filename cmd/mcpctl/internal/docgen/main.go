// Docgen writes the reference pages of mcpctl from its commands: docs/cli, and
// the manual pages of a release. It is a program of its own so that mcpctl does
// not link what renders them.
package main

import (
	"flag"
	"iter"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func main() {
	log.SetFlags(0)
	md := flag.String("markdown", "", "`folder` for pages in Markdown")
	man := flag.String("man", "", "`folder` for manual pages")
	date := flag.String("date", "", "`date` of the manual pages, by RFC 3339")
	flag.Parse()
	if *md != "" {
		if err := markdown(*md); err != nil {
			log.Fatal(err)
		}
	}
	if *man != "" {
		at, err := time.Parse(time.RFC3339, *date)
		if err != nil {
			log.Fatal(err) // today would make each build another one
		}
		if err := manual(*man, at); err != nil {
			log.Fatal(err)
		}
	}
}

// tree returns the commands as they are described.
func tree() *cobra.Command {
	root := cli.Command()
	root.DisableAutoGenTag = true // which has a date
	for cmd := range all(root) {
		cmd.Long = preformatted(cmd.Long)
	}
	return root
}

func all(cmd *cobra.Command) iter.Seq[*cobra.Command] {
	return func(yield func(*cobra.Command) bool) {
		if !yield(cmd) {
			return
		}
		for _, sub := range cmd.Commands() {
			for cmd := range all(sub) {
				if !yield(cmd) {
					return
				}
			}
		}
	}
}

// preformatted indents what a help page indents, so that it is taken for a
// block of code in Markdown, and keeps its lines.
func preformatted(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// clean makes a folder and removes the pages of commands that are gone.
func clean(dir, ending string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "mcpctl*"+ending))
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

func markdown(dir string) error {
	if err := clean(dir, ".md"); err != nil {
		return err
	}
	return doc.GenMarkdownTree(tree(), dir)
}

func manual(dir string, date time.Time) error {
	if err := clean(dir, ".1"); err != nil {
		return err
	}
	return doc.GenManTree(tree(), &doc.GenManHeader{
		Section: "1",
		Source:  "mcpctl " + strings.TrimPrefix(cli.Version(), "v"),
		Manual:  "mcpctl",
		Date:    &date,
	}, dir)
}
