package form

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"
)

// draw shows the form until it is sent, refused or left.
func (f *form) draw(ctx context.Context) (Action, error) {
	if len(f.fields) > 0 && f.fields[0].name != "" || f.question.Refusable {
		f.say("\n%s\n", f.keys())
	}
	for {
		action := Accept
		left, err := f.show(ctx, f.page(&action))
		switch {
		case err != nil:
			return "", err
		case !left:
			return action, nil
		case !f.question.Refusable:
			return Cancel, nil
		}
		// Esc leaves a form that a field would not let go.
		at, err := f.terminal.Choose(ctx, "Leave the question?", "Go on answering", decline, cancel)
		switch {
		case err != nil:
			return "", err
		case at == 1:
			return Decline, nil
		case at == 2:
			return Cancel, nil
		}
	}
}

// keys says how the form is filled in. Fields may be out of sight, so it counts
// them.
func (f *form) keys() string {
	var words []string
	if n := len(f.fields); n > 1 {
		words = append(words, fmt.Sprintf("%d fields.", n), "Enter: next; Shift-Tab: back;")
	}
	if slices.ContainsFunc(f.fields, func(field *field) bool { return field.kind == many }) {
		words = append(words, "Space: tick;")
	}
	return strings.Join(append(words, "Esc leaves the form."), " ")
}

// page is the form of the question.
func (f *form) page(action *Action) *huh.Form {
	width, _, err := term.GetSize(int(f.terminal.Out.Fd()))
	if err != nil || width < 20 {
		width = 20
	}
	var fields []huh.Field
	for _, field := range f.fields {
		fields = append(fields, field.widget(width))
	}
	if f.question.Refusable {
		var options []huh.Option[Action]
		for _, o := range f.endings() {
			options = append(options, huh.NewOption(o.label, Action(o.value)))
		}
		fields = append(fields, huh.NewSelect[Action]().Title("What now?").Options(options...).Value(action).
			Validate(func(a Action) error {
				if a != Accept {
					return nil
				}
				return f.check()
			}))
	}
	return huh.NewForm(huh.NewGroup(fields...))
}

// maxRows bounds the rows of a choice; the others are scrolled to.
const maxRows = 8

// widget is how a field is drawn. It writes to the field.
func (f *field) widget(width int) huh.Field {
	// Of a choice the height counts the lines above it, or it shows too little.
	above := 2 + (len(f.heading())+len(f.about))/(width-10)
	switch f.kind {
	case yesNo:
		return huh.NewConfirm().Title(f.heading()).Description(f.about).Value(&f.yes)
	case one:
		var options []huh.Option[int]
		if !f.required {
			options = append(options, huh.NewOption("(leave it out)", none))
		}
		for i, o := range f.options {
			options = append(options, huh.NewOption(o.label, i))
		}
		s := huh.NewSelect[int]().Title(f.heading()).Description(f.about).Options(options...).Value(&f.picked)
		if len(options) > maxRows {
			s.Height(maxRows + above)
		}
		return s
	case many:
		var options []huh.Option[int]
		for i, o := range f.options {
			options = append(options, huh.NewOption(o.label, i))
		}
		return huh.NewMultiSelect[int]().Title(f.heading()).Description(f.about).Options(options...).Value(&f.chosen).Limit(f.limit).
			Height(min(len(options), maxRows) + above).
			Validate(func(picked []int) error {
				_, err := f.several(picked)
				return err
			})
	}
	return huh.NewInput().Title(f.heading()).Description(f.about).Value(&f.typed).
		Validate(func(typed string) error {
			_, err := f.parse(typed)
			return err
		})
}

// program shows a form of huh. The form's own runner would report the focus of
// the window, and knows no way out but Ctrl-C.
type program struct {
	form  *huh.Form
	above int       // lines that should stay in sight
	sized bool      // the size of the terminal is known
	ended string    // the key that left the form
	moves bool      // the form is on its way to another field
	ahead []tea.Msg // keys that were pressed meanwhile
}

// movedMsg follows the messages of a move to another field.
type movedMsg struct{}

func (p *program) Init() tea.Cmd { return p.form.Init() }

func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg:
		if p.moves {
			// The field that is left would take it.
			p.ahead = append(p.ahead, m)
			return p, nil
		}
		return p, p.press(m)
	case movedMsg:
		p.moves = false
		var cmds []tea.Cmd
		for len(p.ahead) > 0 && !p.moves {
			next := p.ahead[0]
			p.ahead = p.ahead[1:]
			cmds = append(cmds, p.press(next))
		}
		return p, tea.Batch(cmds...)
	case tea.WindowSizeMsg:
		// The form forgets the line above its footer, and that this grows.
		m.Height = max(5, m.Height-3-min(p.above, m.Height/2))
		msg, p.sized = m, true
	}
	return p, p.update(msg)
}

func (p *program) update(msg tea.Msg) tea.Cmd {
	model, cmd := p.form.Update(msg)
	p.form = model.(*huh.Form)
	return cmd
}

// press takes a key, or what was pasted.
func (p *program) press(msg tea.Msg) tea.Cmd {
	key, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return p.update(msg)
	}
	switch name := key.String(); name {
	case "esc", "ctrl+c":
		p.ended = name
		return tea.Quit
	case "enter", "tab", "shift+tab", "y", "Y", "n", "N":
		if _, confirms := p.form.GetFocusedField().(*huh.Confirm); !confirms && len(name) == 1 {
			break
		}
		p.moves = true
		return tea.Sequence(p.update(msg), func() tea.Msg { return movedMsg{} })
	}
	return p.update(msg)
}

func (p *program) View() tea.View {
	if p.ended != "" || !p.sized {
		return tea.NewView("")
	}
	return tea.NewView(plain.Replace(p.form.View()))
}

// show runs a form on the terminal and reports whether it was left.
func (f *form) show(ctx context.Context, page *huh.Form) (left bool, err error) {
	page.SubmitCmd = tea.Quit
	profile := colorprofile.Ascii
	if f.terminal.Color {
		profile = colorprofile.ANSI
	}
	in := f.terminal.In
	if file, ok := in.(*os.File); ok {
		own := &input{File: file}
		defer own.over.Store(true)
		in = own
	}
	p := &program{form: page.WithTheme(huh.ThemeFunc(theme)), above: f.question.Above + 2}
	_, err = tea.NewProgram(p,
		tea.WithContext(ctx),
		tea.WithInput(in),
		tea.WithOutput(f.terminal.Out),
		tea.WithColorProfile(profile),
		tea.WithEnvironment(environment(f.terminal.Kind)),
		tea.WithoutSignalHandler(),
	).Run()
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case p.ended == "ctrl+c":
		return false, ErrInterrupted
	}
	return p.ended != "", err
}

// input is what one form reads. The reader behind a form that has ended can be
// left waiting, and would take the first key from whoever reads next.
type input struct {
	*os.File
	over atomic.Bool
}

func (i *input) Read(b []byte) (int, error) {
	if i.over.Load() {
		return 0, io.EOF
	}
	return i.File.Read(b)
}

// environment is what the renderer is told. It asks some terminals what they
// can do, and an answer that comes late would be typed into the shell; it asks
// none that is far away and has no name.
func environment(kind string) []string {
	for _, name := range []string{"ghostty", "wezterm", "alacritty", "kitty", "rio"} {
		if strings.Contains(kind, name) {
			kind = "xterm-256color" // what all of them understand
		}
	}
	return []string{"TERM=" + kind, "SSH_TTY=" + os.DevNull}
}
