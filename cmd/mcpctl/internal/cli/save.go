package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpctl/mcpctl/cmd/mcpctl/internal/view"
	"github.com/mcpctl/mcpctl/pkg/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// piece is one piece of content of a result, and the file in which it is, if
// it was saved.
type piece struct {
	mcp.Content
	saved   *view.Saved
	unsaved bool // though it should have been
}

// attachment is what can be saved of a piece of content.
type attachment struct {
	name  string // a safe one, without a number
	media string
	data  []byte
}

// attached returns what can be saved, false for what stays where it is: text,
// and links, which are never followed.
func attached(c mcp.Content) (attachment, bool, error) {
	switch c := c.(type) {
	case *mcp.ImageContent:
		return newAttachment("image", "", c.MIMEType, c.Data), true, nil
	case *mcp.AudioContent:
		return newAttachment("audio", "", c.MIMEType, c.Data), true, nil
	case *mcp.EmbeddedResource:
		switch r := c.Resource; {
		case r == nil:
		case r.Blob != nil:
			return newAttachment("resource", r.URI, r.MIMEType, r.Blob), true, nil
		default:
			return newAttachment("resource", r.URI, r.MIMEType, []byte(r.Text)), true, nil
		}
	case *client.UnknownContent:
		if broken(c) && c.Type != "text" && c.Type != "resource_link" {
			return attachment{}, false, fmt.Errorf("content of kind %s is broken; perhaps its data is no base64", c.Type)
		}
	}
	return attachment{}, false, nil
}

// broken reports whether content is unknown only because it does not have the
// shape of its kind.
func broken(c *client.UnknownContent) bool {
	return slices.Contains([]string{"text", "image", "audio", "resource_link", "resource"}, c.Type)
}

func newAttachment(kind, uri, media string, data []byte) attachment {
	media, _, _ = mime.ParseMediaType(media)
	if media == "" {
		media, _, _ = mime.ParseMediaType(http.DetectContentType(data))
	}
	return attachment{fileName(kind, uri, media), media, data}
}

// store saves what can be saved of a result into a folder: all of it, or
// nothing. It never replaces a file. The folder is called as it was named.
func store(ctx context.Context, dir, named string, pieces []piece) (saved []view.Saved, err error) {
	var files []attachment
	var places []int
	for i, p := range pieces {
		a, ok, err := attached(p.Content)
		if err != nil {
			return nil, fmt.Errorf("nothing was saved: %w", err)
		}
		if ok {
			files = append(files, a)
			places = append(places, i)
		}
	}
	// The folder that was named, whatever becomes of its name meanwhile.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fileError(named, err)
	}
	defer root.Close()
	var names []string
	taken := make(map[string]int)
	defer func() {
		if err == nil {
			return
		}
		for _, name := range names {
			_ = root.Remove(name) // the first failure says enough
		}
	}()
	saved = []view.Saved{}
	for _, a := range files {
		f, name, err := create(root, a.name, taken)
		if err != nil {
			return nil, fileError(filepath.Join(named, a.name), err)
		}
		names = append(names, name)
		_, err = f.Write(a.data)
		if err = errors.Join(err, f.Close()); err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, fileError(filepath.Join(named, name), err)
		}
		saved = append(saved, view.Saved{Path: filepath.Join(named, name), MIMEType: a.media, Bytes: len(a.data)})
	}
	for i, place := range places {
		pieces[place].saved = &saved[i]
	}
	return saved, nil
}

// create makes a file that was not there, with a number where the name is
// taken: the one after those that are known to be.
func create(root *os.Root, name string, taken map[string]int) (*os.File, string, error) {
	ext := filepath.Ext(name)
	for n := taken[name] + 1; ; n++ {
		candidate := name
		if n > 1 {
			candidate = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
		}
		f, err := root.OpenFile(candidate, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			taken[name] = n
			return f, candidate, err
		}
	}
}

// Bounds of the name of a file, in bytes; the rest is for the number.
const (
	maxStem      = 100
	maxExtension = 16
)

// fileName names a file after the last element of a URI, or else after its
// kind. A server says nothing about folders, and gives no name that some system
// takes for something else.
func fileName(kind, uri, media string) string {
	uri, _, _ = strings.Cut(uri, "#")
	uri, _, _ = strings.Cut(uri, "?")
	uri = strings.TrimRight(uri, `/\`)
	name := uri[strings.LastIndexAny(uri, `/\`)+1:]
	name = name[strings.LastIndexByte(name, ':')+1:] // as in urn:isbn:1
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	// Names that begin so are hidden, flags or homes; Windows drops dots and
	// spaces at the end.
	name = strings.TrimRight(strings.TrimLeft(name, ".-~ "), ". ")
	if strings.Trim(name, "_") == "" {
		name = kind
	}
	ext := filepath.Ext(name)
	if len(ext) < 2 || len(ext) > maxExtension || strings.ContainsFunc(ext[1:], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		ext = ""
	}
	stem := strings.TrimSuffix(name, ext)
	if more := extension(media, ext); more != ext {
		stem, ext = name, more
	}
	if len(stem) > maxStem {
		stem = strings.ToValidUTF8(stem[:maxStem], "")
	}
	if first, _, _ := strings.Cut(stem, "."); reserved(first) {
		stem = "_" + stem
	}
	return stem + ext
}

// reserved reports whether Windows takes a name for a device.
func reserved(name string) bool {
	name = strings.ToUpper(strings.TrimRight(name, " "))
	if port := strings.TrimPrefix(strings.TrimPrefix(name, "COM"), "LPT"); len(port) < len(name) {
		return slices.Contains([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"}, port)
	}
	return slices.Contains([]string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}, name)
}

// extensions are those of common types. What the system knows differs from one
// to the next, and often there are several for a type.
var extensions = map[string]string{
	"application/gzip":         ".gz",
	"application/javascript":   ".js",
	"application/json":         ".json",
	"application/octet-stream": ".bin",
	"application/pdf":          ".pdf",
	"application/xml":          ".xml",
	"application/yaml":         ".yaml",
	"application/zip":          ".zip",
	"audio/aac":                ".aac",
	"audio/flac":               ".flac",
	"audio/mp4":                ".m4a",
	"audio/mpeg":               ".mp3",
	"audio/ogg":                ".ogg",
	"audio/wav":                ".wav",
	"audio/wave":               ".wav",
	"audio/webm":               ".webm",
	"audio/x-wav":              ".wav",
	"image/avif":               ".avif",
	"image/bmp":                ".bmp",
	"image/gif":                ".gif",
	"image/jpeg":               ".jpg",
	"image/jpg":                ".jpg",
	"image/png":                ".png",
	"image/svg+xml":            ".svg",
	"image/tiff":               ".tiff",
	"image/webp":               ".webp",
	"text/css":                 ".css",
	"text/csv":                 ".csv",
	"text/html":                ".html",
	"text/javascript":          ".js",
	"text/markdown":            ".md",
	"text/plain":               ".txt",
	"text/xml":                 ".xml",
	"text/yaml":                ".yaml",
	"video/mp4":                ".mp4",
	"video/webm":               ".webm",
}

// extension returns the one for a type; has, if there is one already and it
// does not say something else.
func extension(media, has string) string {
	want := extensions[media]
	switch {
	case want != "":
	case strings.HasSuffix(media, "+json"):
		want = ".json"
	case strings.HasSuffix(media, "+xml"):
		want = ".xml"
	}
	generic := media == "text/plain" || media == "application/octet-stream"
	known, _, _ := mime.ParseMediaType(mime.TypeByExtension(has))
	switch {
	case has != "" && (want == "" || generic || known == media || strings.EqualFold(has, want)):
		return has
	case want != "":
		return want
	case strings.HasPrefix(media, "text/"):
		return ".txt"
	}
	if all, err := mime.ExtensionsByType(media); err == nil && len(all) > 0 {
		return all[0]
	}
	return ".bin"
}
