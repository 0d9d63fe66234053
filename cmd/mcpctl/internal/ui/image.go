package ui

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"image"
	_ "image/gif" // the formats that are shown
	_ "image/jpeg"
	"image/png"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/iterm2"
	"github.com/charmbracelet/x/ansi/kitty"
	"github.com/charmbracelet/x/ansi/sixel"
	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

// Images is a way in which a terminal shows images.
type Images string

// The values of --images, beside auto.
const (
	NoImages    Images = "never"
	KittyImages Images = "kitty"
	ITermImages Images = "iterm"
	SixelImages Images = "sixel"
)

// KnownImages says how the terminal behind the variables of the environment
// shows images. It does not ask the terminal, which might not answer: one that
// is not known shows none, and neither does one behind a multiplexer, which
// would have to pass them on.
func KnownImages(getenv func(string) (string, bool)) Images {
	get := func(name string) string {
		value, _ := getenv(name)
		return value
	}
	kind := get("TERM")
	if get("TMUX")+get("STY")+get("ZELLIJ") != "" || strings.HasPrefix(kind, "screen") || strings.HasPrefix(kind, "tmux") {
		return NoImages
	}
	// TERM is the terminal's own; other variables may come from one in which
	// this one was started.
	switch kind {
	case "xterm-kitty", "xterm-ghostty":
		return KittyImages
	case "dumb":
		return NoImages
	}
	switch get("TERM_PROGRAM") {
	case "iTerm.app", "WezTerm":
		return ITermImages
	case "ghostty":
		return KittyImages
	case "":
	default:
		return NoImages
	}
	switch {
	case get("LC_TERMINAL") == "iTerm2": // which travels over ssh
		return ITermImages
	case get("KITTY_WINDOW_ID") != "":
		return KittyImages
	}
	return NoImages
}

// maxPixels bounds the images that are decoded.
const maxPixels = 20_000_000

// Image returns what shows an image, in one of the common formats, on a line of
// its own. It is encoded anew, no larger than the terminal: nothing of what a
// server sent reaches it.
func (s *Stream) Image(how Images, data []byte) (string, error) {
	data = essence(data)
	facts, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	if facts.Width <= 0 || facts.Height <= 0 || facts.Width > maxPixels/facts.Height {
		return "", errors.New("the image is too large")
	}
	decoded, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	decoded = fit(decoded, s.pixels())
	var b strings.Builder
	switch how {
	case KittyImages:
		err = kitty.EncodeGraphics(&b, decoded, &kitty.Options{
			Action: kitty.TransmitAndPut, Transmission: kitty.Direct, Format: kitty.PNG, Chunk: true,
			Quiet: 2, // or the answer would be typed into the shell
		})
	case ITermImages:
		var file bytes.Buffer
		err = png.Encode(&file, decoded)
		b.WriteString(ansi.ITerm2(iterm2.File{
			Inline: true, Size: int64(file.Len()), Content: base64.StdEncoding.AppendEncode(nil, file.Bytes()),
		}))
	case SixelImages:
		var payload bytes.Buffer
		err = new(sixel.Encoder).Encode(&payload, decoded)
		b.WriteString(ansi.SixelGraphics(0, 1, 0, payload.Bytes()))
	default:
		err = errors.New("there is no way to show images")
	}
	return b.String() + "\n", err
}

// essence leaves out what a PNG says beside its pixels. Files with a wrong
// checksum there are about, every browser shows them, and the decoder does not.
func essence(data []byte) []byte {
	const signature = "\x89PNG\r\n\x1a\n"
	rest, ok := bytes.CutPrefix(data, []byte(signature))
	if !ok {
		return data
	}
	kept := []byte(signature)
	for len(rest) >= 12 {
		size := uint64(binary.BigEndian.Uint32(rest)) + 12
		if size > uint64(len(rest)) {
			break
		}
		// A small first letter marks what is not critical (PNG, 5.4).
		if name := rest[4:8]; name[0]&0x20 == 0 || string(name) == "tRNS" {
			kept = append(kept, rest[:size]...)
		}
		rest = rest[size:]
	}
	return append(kept, rest...)
}

// fit makes an image smaller that is larger than bounds.
func fit(img image.Image, bounds image.Point) image.Image {
	size := img.Bounds().Size()
	scale := min(float64(bounds.X)/float64(size.X), float64(bounds.Y)/float64(size.Y))
	if scale >= 1 {
		return img
	}
	smaller := image.NewNRGBA(image.Rect(0, 0, max(1, int(float64(size.X)*scale)), max(1, int(float64(size.Y)*scale))))
	draw.BiLinear.Scale(smaller, smaller.Rect, img, img.Bounds(), draw.Src, nil)
	return smaller
}

// pixels returns the size of the largest image that fits, as well as the
// terminal tells.
func (s *Stream) pixels() image.Point {
	const cellWidth, cellHeight, rows = 8, 16, 24 // where it does not tell
	if s.file != nil {
		if size := pixelSize(s.file.Fd()); size.X > 0 && size.Y > 0 {
			return size
		}
	}
	return image.Pt(max(s.Width, 80)*cellWidth, rows*cellHeight)
}
