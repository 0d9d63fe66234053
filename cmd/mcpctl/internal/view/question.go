package view

import (
	"slices"
	"strings"
)

// Question is something that a server asked and nobody answered.
type Question struct {
	Message string `json:"message"`
	// URL is what a person is to visit; Fields are those of a form.
	URL    string          `json:"url,omitempty"`
	Fields []QuestionField `json:"fields,omitempty"`
}

// QuestionField is one field of a form.
type QuestionField struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // as in a signature
	Required bool   `json:"required"`
	// Description is what the server says, and what the value is held to.
	Description string `json:"description,omitempty"`
}

// mostFields bounds the fields of one question, mostText its texts.
const (
	mostFields = 32
	mostText   = 2000
)

// NewQuestion describes a question with a form, or a page to visit.
func NewQuestion(message, url string, schema []byte) Question {
	q := Question{Message: cut(message), URL: url}
	fields, _ := ASCII.describe(schema)
	for _, f := range fields[:min(len(fields), mostFields)] {
		about := append([]string{f.Description}, f.Facts...)
		q.Fields = append(q.Fields, QuestionField{
			Name: f.Name, Type: f.Type, Required: f.Required,
			Description: cut(strings.TrimPrefix(strings.Join(about, "; "), "; ")),
		})
	}
	return q
}

// Map returns the question with its texts replaced.
func (q Question) Map(replace func(string) string) Question {
	q.Message, q.URL, q.Fields = replace(q.Message), replace(q.URL), slices.Clone(q.Fields)
	for i, f := range q.Fields {
		q.Fields[i] = QuestionField{replace(f.Name), replace(f.Type), f.Required, replace(f.Description)}
	}
	return q
}

// String is the field as in a signature.
func (f QuestionField) String() string {
	name := f.Name
	if !f.Required {
		name += "?"
	}
	return strings.TrimSuffix(name+": "+f.Type+"  "+f.Description, "  ")
}

func cut(text string) string {
	if runes := []rune(text); len(runes) > mostText {
		return string(runes[:mostText-1]) + "…"
	}
	return text
}
