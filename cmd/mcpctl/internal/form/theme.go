package form

import (
	"strings"

	"charm.land/huh/v2"
)

// theme has the colours of the terminal's own palette, and no white, grey or
// black, which are invisible on one background or the other: what huh writes
// in these is plain or faint.
func theme(dark bool) *huh.Styles {
	t := huh.ThemeBase16(dark)
	for _, f := range []*huh.FieldStyles{&t.Focused, &t.Blurred} {
		f.Base = f.Base.UnsetBorderForeground()
		f.Description = f.Description.UnsetForeground().Faint(true)
		f.Option = f.Option.UnsetForeground()
		f.UnselectedOption = f.UnselectedOption.UnsetForeground()
		f.TextInput.Text = f.TextInput.Text.UnsetForeground()
		f.TextInput.Placeholder = f.TextInput.Placeholder.UnsetForeground().Faint(true)
		f.FocusedButton = f.FocusedButton.UnsetForeground().UnsetBackground().Reverse(true)
		f.BlurredButton = f.BlurredButton.UnsetForeground().UnsetBackground()
	}
	t.Blurred.Title = t.Blurred.Title.UnsetForeground()
	t.Blurred.NoteTitle = t.Blurred.NoteTitle.UnsetForeground()
	t.Blurred.TextInput.Prompt = t.Blurred.TextInput.Prompt.UnsetForeground().Faint(true)
	h := &t.Help
	h.ShortKey = h.ShortKey.UnsetForeground().Faint(true)
	h.ShortDesc = h.ShortDesc.UnsetForeground().Faint(true)
	h.ShortSeparator = h.ShortSeparator.UnsetForeground().Faint(true)
	h.Ellipsis = h.Ellipsis.UnsetForeground().Faint(true)
	return t
}

// plain takes the white out of a form: the text of an input that has not the
// focus, for which huh has no style.
var plain = strings.NewReplacer("\x1b[37m", "")
