package schema

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpctl/mcpctl/internal/ecma"
)

// ErrWork says that a value takes too much work to check. Composition can make
// a short schema look at a short value any number of times (specification
// 2026-07-28, composition-keyword resource use).
var ErrWork = errors.New("the value takes too much work to check")

// A check may take so many units of work, and so many more for each of the
// value's own values. A unit is about a microsecond at most.
const (
	baseWork  = 1_000_000
	valueWork = 100
	// unitBytes is how much of a string is looked at for one unit.
	unitBytes = 64
)

// patternTime bounds the time that one match of one pattern may take.
const patternTime = 100 * time.Millisecond

// meter bounds the work of the check that is under way. The validator cannot
// be stopped, so the meter panics out of it.
type meter struct {
	mu   sync.Mutex
	left int
}

func (m *meter) start(values int) {
	m.mu.Lock()
	m.left = baseWork + valueWork*values
}

// stop ends a check, also one that spent too much.
func (m *meter) stop(err *error) {
	switch r := recover(); {
	case r == ErrWork:
		*err = ErrWork
	case r != nil:
		*err = errors.New("the validator fails on the value")
	}
	m.mu.Unlock()
}

func (m *meter) spend(units int) {
	if m.left -= units; m.left < 0 {
		panic(ErrWork)
	}
}

// pattern compiles a regular expression. Go's own engine, whose time is
// linear, takes what both understand alike.
func (m *meter) pattern(re string) (jsonschema.Regexp, error) {
	re = ecma.Properties(re)
	if simple(re) {
		if c, err := regexp.Compile(re); err == nil {
			return c, nil
		}
	}
	c, err := regexp2.Compile(re, regexp2.ECMAScript|regexp2.Unicode)
	if err != nil {
		if c, err = regexp2.Compile(re, regexp2.ECMAScript); err != nil {
			return nil, err
		}
	}
	c.MatchTimeout = patternTime
	return pattern{c, m}, nil
}

// pattern is a regular expression of ECMA-262 that may take exponential time.
type pattern struct {
	re    *regexp2.Regexp
	meter *meter
}

func (p pattern) String() string { return p.re.String() }

// MatchString reports a match. A match that takes too long counts as one: what
// cannot be checked is not refused.
func (p pattern) MatchString(s string) bool {
	start := time.Now()
	ok, err := p.re.MatchString(s)
	p.meter.spend(int(time.Since(start).Microseconds()))
	return ok || err != nil
}

// simple reports whether a pattern holds nothing that ECMA-262 and Go read
// differently.
func simple(re string) bool {
	for i := 0; i < len(re); i++ {
		c := re[i]
		switch {
		case c >= 0x80, c == '(' && i+1 < len(re) && re[i+1] == '?', c == '[' && i+1 < len(re) && (re[i+1] == ':' || re[i+1] == ']' || re[i+1] == '^' && i+2 < len(re) && re[i+2] == ']'):
			return false
		case c == '\\':
			i++
			if i == len(re) || !strings.ContainsRune(`dwDW.\/-+*?()[]{}|^$nrt`, rune(re[i])) {
				return false
			}
		}
	}
	return true
}
