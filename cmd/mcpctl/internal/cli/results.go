package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/ui"
	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// resultFlags say what becomes of the content of a result: how it is printed,
// and where what is no text goes.
type resultFlags struct {
	outputFlags
	save   string
	images string
	made   []string // folders that were not there, the innermost first
}

func (r *resultFlags) addFlags(cmd *cobra.Command, formats ...string) {
	r.outputFlags.addFlags(cmd, formats...)
	f := cmd.Flags()
	f.StringVar(&r.save, "save", "", "`folder` into which images, sounds and resources of the result are written")
	f.StringVar(&r.images, "images", "auto", "`way` to show images in the terminal: auto, kitty, iterm, sixel or never")
}

func (r *resultFlags) check() error {
	if err := checkFlag("--images", r.images, "auto", string(ui.KittyImages), string(ui.ITermImages), string(ui.SixelImages), string(ui.NoImages)); err != nil {
		return err
	}
	return r.outputFlags.check()
}

// prepare makes the folder, so that its trouble shows before a tool does
// anything.
func (r *resultFlags) prepare(app *App) error {
	if r.save == "" {
		return nil
	}
	// A root has no folder above it, even that of a drive that is not there.
	for dir := app.absolute(r.save); filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		r.made = append(r.made, dir)
	}
	if err := os.MkdirAll(app.absolute(r.save), 0o755); err != nil {
		return fileError("--save "+r.save, err)
	}
	return nil
}

// tidy removes what prepare made, where nothing came into it.
func (r *resultFlags) tidy() {
	for _, dir := range r.made {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// print saves what can be saved, and prints a result: asText for a person,
// else what asJSON returns, which has what was saved where it says so. What
// could not be saved is printed all the same.
func (r *resultFlags) print(ctx context.Context, app *App, pieces []piece, asText func() error, asJSON func([]view.Saved) (any, error)) error {
	var saved []view.Saved
	var saveErr error
	if r.save != "" {
		saved, saveErr = store(ctx, app.absolute(r.save), r.save, pieces)
		for i := range pieces {
			pieces[i].unsaved = saveErr != nil
		}
	}
	err := printed(ctx, func() error {
		if r.text() {
			return asText()
		}
		v, err := asJSON(saved)
		if v == nil || err != nil {
			return err
		}
		return r.write(ctx, app, v)
	})
	if r.output == "raw" || r.output == "structured" {
		for _, s := range saved {
			fmt.Fprintf(app.Err, "saved %s (%s)\n", ui.Clean(s.Path), ui.Clean(fileFacts(s.MIMEType, s.Bytes)))
		}
	}
	return errors.Join(err, saveErr)
}

// screen shows content to a person.
type screen struct {
	out    *ui.Stream
	images ui.Images
	read   func(uri string) string // the command that reads a resource
}

func (r *resultFlags) screen(app *App, t *target, server string) *screen {
	images := ui.Images(r.images)
	if r.images == "auto" {
		images = ui.NoImages
		if app.Out.Terminal {
			images = ui.KnownImages(app.LookupEnv)
		}
	}
	return &screen{app.Out, images, func(uri string) string { return t.exampleRead(app, server, uri) }}
}

// add appends a piece of content, with a line break at its end.
func (s *screen) add(b *bytes.Buffer, p piece) {
	note, text, image := s.words(p)
	if s.out.Terminal {
		text = cleanLines(text)
	}
	// No text of a server looks like that, since it has no colours.
	b.WriteString(s.out.Faint(ui.Clean(note)))
	b.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	if image != nil && s.images != ui.NoImages {
		// One that cannot be shown has its line.
		if shown, err := s.out.Image(s.images, image); err == nil {
			b.WriteString(shown)
		}
	}
}

// words says a piece of content in words: a note, on one line, for what is no
// text and about what it is; the text as it is; and the data of an image.
func (s *screen) words(p piece) (note, text string, image []byte) {
	switch c := p.Content.(type) {
	case *mcp.TextContent:
		return "", c.Text, nil
	case *mcp.ImageContent:
		return fileLine("image", c.MIMEType, len(c.Data), p), "", c.Data
	case *mcp.AudioContent:
		return fileLine("audio", c.MIMEType, len(c.Data), p), "", nil
	case *mcp.ResourceLink:
		where := c.URI
		if !strings.HasPrefix(where, "https://") && !strings.HasPrefix(where, "http://") {
			where = cmp.Or(s.read(where), where) // others may well be open to everybody
		}
		return "[" + strings.TrimSpace("link "+cmp.Or(c.Title, c.Name)) + "]", " " + ui.Clean(where), nil
	case *mcp.EmbeddedResource:
		switch r := c.Resource; {
		case r == nil:
			return "[resource without content]", "", nil
		case r.Blob != nil:
			note = fileLine("resource "+r.URI, r.MIMEType, len(r.Blob), p)
			if strings.HasPrefix(r.MIMEType, "image/") {
				image = r.Blob
			}
			return note, "", image
		case p.saved != nil:
			return fileLine("resource "+r.URI, r.MIMEType, len(r.Text), p), "", nil
		default:
			return "[" + strings.TrimSpace("resource "+r.URI+" "+r.MIMEType) + "]", "\n" + r.Text, nil
		}
	case *client.UnknownContent:
		if broken(c) {
			return fmt.Sprintf("[broken content of kind %s; -o raw shows it]", c.Type), "", nil
		}
		return fmt.Sprintf("[content of the unknown kind %q; -o raw shows it]", c.Type), "", nil
	default:
		return fmt.Sprintf("[content of kind %T; -o raw shows it]", c), "", nil
	}
}

// fileLine stands for what is no text.
func fileLine(what, media string, size int, p piece) string {
	where := "--save DIR would keep it"
	switch {
	case p.saved != nil:
		where = "saved as " + p.saved.Path
	case p.unsaved:
		where = "not saved"
	}
	return fmt.Sprintf("[%s; %s]", fileFacts(strings.TrimSpace(what+" "+media), size), where)
}

func fileFacts(what string, size int) string { return what + ", " + byteSize(size) }
