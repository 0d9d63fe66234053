package client

import (
	"strings"
	"unicode/utf8"
)

// DefaultInstructionsMaxLength is how much of a server's instructions goes into
// a prompt, in characters.
const DefaultInstructionsMaxLength = 512

// Instructions returns a text for a model's system prompt with the instructions
// of those servers that have been connected to and whose specs allow it, see
// [Spec.ForwardInstructions]. It is empty if there are none. What a server
// that does not allow it says is in [Server.Peer].
func (c *Client) Instructions() string {
	var sections []InstructionSection
	for _, s := range c.servers {
		if s.spec.ForwardInstructions {
			sections = append(sections, InstructionSection{s.Name(), s.Peer().Instructions, s.spec.InstructionsMaxLength})
		}
	}
	return FormatInstructions(sections)
}

// InstructionSection is what one server says.
type InstructionSection struct {
	Server, Text string
	// MaxLength bounds the text, in characters; zero means
	// [DefaultInstructionsMaxLength].
	MaxLength int
}

// FormatInstructions groups instructions by server, in the given order, each
// cut to its length. Servers that say nothing are left out. Lines of a server
// are indented, so that none can pass for the heading of another.
func FormatInstructions(sections []InstructionSection) string {
	var b strings.Builder
	for _, s := range sections {
		text := strings.TrimSpace(strings.ToValidUTF8(s.Text, "\uFFFD"))
		if text == "" {
			continue
		}
		limit := s.MaxLength
		if limit <= 0 {
			limit = DefaultInstructionsMaxLength
		}
		if utf8.RuneCountInString(text) > limit {
			text = strings.TrimSpace(string([]rune(text)[:limit]))
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("Instructions of the server " + s.Server + ":\n")
		for line := range strings.Lines(text) {
			b.WriteString("  " + strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	return b.String()
}
