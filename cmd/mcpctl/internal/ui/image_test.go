package ui

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Only what a terminal says of itself counts, and only where nothing stands
// between.
func TestKnownImages(t *testing.T) {
	for env, want := range map[string]Images{
		"":                                      NoImages,
		"TERM=xterm-256color":                   NoImages,
		"TERM=xterm-kitty":                      KittyImages,
		"TERM=xterm-256color KITTY_WINDOW_ID=1": KittyImages,
		"TERM=xterm-ghostty TERM_PROGRAM=ghostty":                    KittyImages,
		"TERM=xterm-256color TERM_PROGRAM=ghostty":                   KittyImages,
		"TERM=xterm-256color TERM_PROGRAM=WezTerm":                   ITermImages,
		"TERM=xterm-256color TERM_PROGRAM=iTerm.app":                 ITermImages,
		"TERM=xterm-256color LC_TERMINAL=iTerm2":                     ITermImages,
		"TERM=xterm-kitty TERM_PROGRAM=iTerm.app":                    KittyImages,
		"TERM=xterm-256color TERM_PROGRAM=vscode KITTY_WINDOW_ID=1":  NoImages,
		"TERM=dumb TERM_PROGRAM=iTerm.app":                           NoImages,
		"TERM=tmux-256color TERM_PROGRAM=iTerm.app":                  NoImages,
		"TERM=xterm-kitty TMUX=/tmp/tmux-0/default,1,0":              NoImages,
		"TERM=screen LC_TERMINAL=iTerm2":                             NoImages,
		"TERM=xterm-kitty STY=1.pts-0.host":                          NoImages,
		"TERM=xterm-256color KITTY_WINDOW_ID=1 ZELLIJ=0":             NoImages,
		"TERM=xterm-256color TERM_PROGRAM=Apple_Terminal COLORTERM=": NoImages,
	} {
		got := KnownImages(func(name string) (string, bool) {
			for pair := range strings.FieldsSeq(env) {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value, true
				}
			}
			return "", false
		})
		if got != want {
			t.Errorf("%s: %s, want %s", env, got, want)
		}
	}
}

// What reaches the terminal is an image of its own making, that fits.
func TestImage(t *testing.T) {
	picture := func(width, height int) *image.Paletted {
		return image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.White, color.Black})
	}
	encoded := func(img image.Image) []byte {
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	var animation bytes.Buffer
	if err := gif.Encode(&animation, picture(7, 5), nil); err != nil {
		t.Fatal(err)
	}
	s := NewStream(new(bytes.Buffer), nil, Never, func(string) (string, bool) { return "", false })
	s.Width = 100
	trailing := append(encoded(picture(7, 5)), "\x1b]0;title\x07"...)
	// A text with a wrong checksum.
	sloppy := encoded(picture(7, 5))
	sloppy = slices.Concat(sloppy[:33], []byte("\x00\x00\x00\x02tEXtab\x00\x00\x00\x00"), sloppy[33:])
	for name, test := range map[string]struct {
		data []byte
		want image.Point
	}{
		"png":      {encoded(picture(7, 5)), image.Pt(7, 5)},
		"gif":      {animation.Bytes(), image.Pt(7, 5)},
		"sloppy":   {sloppy, image.Pt(7, 5)},
		"webp":     {webp(t), image.Pt(1, 1)},
		"trailing": {trailing, image.Pt(7, 5)},
		"wide":     {encoded(picture(1600, 10)), image.Pt(800, 5)},
		"tall":     {encoded(picture(10, 3840)), image.Pt(1, 384)},
	} {
		shown, err := s.Image(KittyImages, test.data)
		if err != nil {
			t.Fatal(name, err)
		}
		var payload strings.Builder
		rest := regexp.MustCompile(`\x1b_G[a-zA-Z0-9=,]+;([A-Za-z0-9+/=]*)\x1b\\`).ReplaceAllStringFunc(shown, func(chunk string) string {
			_, data, _ := strings.Cut(chunk, ";")
			payload.WriteString(strings.TrimSuffix(data, "\x1b\\"))
			return ""
		})
		if rest != "\n" {
			t.Errorf("%s: there is more than the image: %q", name, rest)
		}
		data, err := base64.StdEncoding.DecodeString(payload.String())
		if err != nil {
			t.Fatal(name, err)
		}
		img, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(name, err)
		}
		if got := img.Bounds().Size(); got != test.want {
			t.Errorf("%s: size %v, want %v", name, got, test.want)
		}
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"none":    {nil, "unknown format"},
		"text":    {[]byte("\x1b[2J"), "unknown format"},
		"cut off": {encoded(picture(300, 300))[:60], "unexpected EOF"},
		// It says that it has 50000 by 50000 pixels.
		"bomb": {append([]byte("GIF89a\x50\xc3\x50\xc3"), animation.Bytes()[10:]...), "too large"},
	} {
		for _, how := range []Images{KittyImages, ITermImages, SixelImages} {
			if _, err := s.Image(how, test.data); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: error %v, want %s", name, err, test.want)
			}
		}
	}
}

// webp returns an image of one pixel.
func webp(t testing.TB) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzImage holds that nothing of an image reaches the terminal but encoded.
func FuzzImage(f *testing.F) {
	img := image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.White, color.Black})
	for _, encode := range []func(io.Writer) error{
		func(w io.Writer) error { return png.Encode(w, img) },
		func(w io.Writer) error { return gif.Encode(w, img, nil) },
		func(w io.Writer) error { return jpeg.Encode(w, img, nil) },
	} {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add(webp(f))
	harmless := map[Images]*regexp.Regexp{
		KittyImages: regexp.MustCompile(`^(\x1b_G[a-zA-Z0-9=,]+(;[A-Za-z0-9+/=]*)?\x1b\\)+\n$`),
		ITermImages: regexp.MustCompile(`^\x1b\]1337;File=size=[0-9]+;inline=1:[A-Za-z0-9+/=]+\x07\n$`),
		SixelImages: regexp.MustCompile(`^\x1bP0;1q[!-~]*\x1b\\\n$`),
	}
	s := NewStream(io.Discard, nil, Never, func(string) (string, bool) { return "", false })
	f.Fuzz(func(t *testing.T, data []byte) {
		if facts, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && facts.Width*facts.Height > 1<<16 {
			t.Skip("slow")
		}
		for how, want := range harmless {
			if shown, err := s.Image(how, data); err == nil && !want.MatchString(shown) {
				t.Errorf("%s: %q", how, shown)
			}
		}
	})
}
