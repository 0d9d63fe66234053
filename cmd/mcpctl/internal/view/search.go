package view

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Search is the output of mcpctl search. Failed are the servers that could not
// be asked.
type Search struct {
	Matches []Match `json:"matches"`
	Failed  []Error `json:"failed,omitempty"`
}

// Match is something that a search found. Kind is "tool", "resource",
// "template" or "prompt"; the first two keys behind the name are of some kinds
// only.
type Match struct {
	Server      string `json:"server"`
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	URI         string `json:"uri,omitempty"`
	URITemplate string `json:"uriTemplate,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Signature   string `json:"signature,omitempty"`

	score     int
	arguments func() []string
}

// Find returns what matches all words, the best first: a word in a name counts
// more than one in a title, that more than one in a description, and that more
// than one in the name of an argument.
func (n Notation) Find(offers []Offer, words []string) []Match {
	words = slices.Clone(words)
	for i, word := range words {
		words[i] = strings.ToLower(word)
	}
	var all []Match
	for _, o := range offers {
		for _, m := range n.candidates(o) {
			if m.matches(words) {
				all = append(all, m)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// candidates are all things that a server offers.
func (n Notation) candidates(o Offer) []Match {
	var all []Match
	for _, t := range o.Server.Tools {
		if t.Problem == "" {
			all = append(all, Match{
				Server: o.Name, Kind: "tool", Name: t.Name, Title: t.Title, Description: t.Description, Signature: n.Signature(t),
				arguments: func() []string { return argumentNames(t.InputSchema) },
			})
		}
	}
	for _, r := range o.Resources {
		all = append(all, Match{Server: o.Name, Kind: "resource", Name: r.Name, URI: r.URI, Title: r.Title, Description: r.Description})
	}
	for _, t := range o.Templates {
		all = append(all, Match{
			Server: o.Name, Kind: "template", Name: t.Name, URITemplate: t.URITemplate, Title: t.Title, Description: t.Description,
		})
	}
	for _, p := range o.Prompts {
		all = append(all, Match{
			Server: o.Name, Kind: "prompt", Name: p.Name, Title: p.Title, Description: p.Description,
			arguments: func() []string {
				var names []string
				for _, a := range p.Arguments {
					names = append(names, a.Name)
				}
				return names
			},
		})
	}
	return all
}

func argumentNames(schema []byte) []string {
	d, ok := Unicode.parse(schema)
	if !ok {
		return nil
	}
	var names []string
	members, _ := properties(d.resolve(d.root))
	for _, m := range members {
		names = append(names, m.Name)
	}
	return names
}

// matches reports whether all words are found, and adds up how well.
func (m *Match) matches(words []string) bool {
	name := strings.ToLower(m.Name)
	uri := strings.ToLower(m.URI + m.URITemplate)
	title, description := strings.ToLower(m.Title), strings.ToLower(m.Description)
	for _, word := range words {
		switch {
		case name == word:
			m.score += 1000
		case slices.Contains(nameParts(m.Name), word):
			m.score += 300
		case strings.HasPrefix(name, word):
			m.score += 200
		case strings.Contains(name, word), strings.Contains(uri, word):
			m.score += 100
		case strings.Contains(title, word):
			m.score += 30
		case strings.Contains(description, word):
			m.score += 10
		case m.arguments != nil && slices.ContainsFunc(m.arguments(), func(a string) bool { return strings.Contains(strings.ToLower(a), word) }):
			m.score++
		default:
			return false
		}
	}
	return true
}

// nameParts are the words that a name is made of: get, user and by in getUser_by.
func nameParts(name string) []string {
	var spaced strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && !unicode.IsUpper(before) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
		before = r
	}
	return strings.FieldsFunc(strings.ToLower(spaced.String()), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
