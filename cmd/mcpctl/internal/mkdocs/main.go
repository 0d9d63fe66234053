// Mkdocs writes docs/cli, and the manual pages of a release; see the Makefile.
package main

import (
	"flag"
	"log"
	"time"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/cli"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/docgen"
)

func main() {
	log.SetFlags(0)
	md := flag.String("markdown", "", "`folder` for pages in Markdown")
	man := flag.String("man", "", "`folder` for manual pages")
	version := flag.String("version", cli.Version(), "`version` on the manual pages")
	date := flag.String("date", "", "`date` on the manual pages, by RFC 3339")
	flag.Parse()
	if *md != "" {
		if err := docgen.Markdown(cli.Command(), *md); err != nil {
			log.Fatal(err)
		}
	}
	if *man != "" {
		at, err := time.Parse(time.RFC3339, *date)
		if err != nil {
			log.Fatal(err) // today would make each build another one
		}
		if err := docgen.Manual(cli.Command(), *man, *version, at); err != nil {
			log.Fatal(err)
		}
	}
}
