package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpctl/mcpctl/internal/atomicfile"
)

// NeedsTrust lists what a person has to accept before the file may be used,
// one line each, fit for a terminal: the commands it would start, the
// variables it would put into URLs and headers, and where it would have
// generated code written outside the repository. The list is empty for one
// that does none of this, and for a file that did not come with a checkout:
// one that was named, that stands in the user's own folder, or that lies where
// the user works outside any repository.
func (c *Config) NeedsTrust() []string {
	if c.File.Found != Upward {
		return nil
	}
	var reasons []string
	for _, name := range c.Names() {
		s := c.servers[name].checked
		if s.command != "" {
			reasons = append(reasons, fmt.Sprintf("start %s (server %q)", commandLine(s), name))
		}
		for _, v := range environmentNames(s.url) {
			reasons = append(reasons, fmt.Sprintf("put $%s into the URL%s (server %q)", quoteName(v), to(s.url), name))
		}
		for header, value := range s.headers {
			for _, v := range environmentNames(value) {
				reasons = append(reasons, fmt.Sprintf("put $%s into the header %s%s (server %q)", quoteName(v), quoteName(header), to(s.url), name))
			}
		}
	}
	if path := c.outputOutside(); path != "" {
		reasons = append(reasons, "write generated code to "+strconv.Quote(path))
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

// outputOutside returns where the section "typegen" wants code to be written,
// as it is written there, if that leads or may lead outside the repository.
func (c *Config) outputOutside() string {
	if c.top.typegen.Value == nil {
		return ""
	}
	var t Typegen
	if err := decodeTypegen(decoder{doc: c.doc}, c.top.typegen, &t); err != nil {
		return "" // not after Load, and nothing would be written
	}
	for _, path := range []string{t.OutFile, t.OutDir} {
		if path != "" && !c.inRepository(path) {
			return path
		}
	}
	return ""
}

// inRepository reports whether a path leads into the repository, whatever the
// environment is. Symbolic links are followed: a checkout can bring those too.
func (c *Config) inRepository(path string) bool {
	if len(environmentNames(path)) > 0 {
		return false
	}
	known := &variables{
		lookup: func(string) (string, bool) { return "", false },
		folder: c.vars.folder,
	}
	path, err := known.expand(path)
	if err != nil {
		return false // ${userHome}
	}
	root := c.File.workspace()
	path = absolute(c.File.folder(), path)
	if !within(root, path) {
		return false
	}
	real, errRoot := filepath.EvalSymlinks(root)
	if errors.Is(errRoot, fs.ErrNotExist) {
		return true // there are no links either
	}
	for errRoot == nil {
		// What does not exist yet is made in the nearest folder that does.
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			path = filepath.Dir(path)
			continue
		}
		target, err := filepath.EvalSymlinks(path)
		return err == nil && within(real, target)
	}
	return false
}

// within reports whether path is dir or lies below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// commandLine shows a command as it is written, variables unexpanded.
func commandLine(s server) string {
	words := make([]string, 0, 1+len(s.args))
	for _, word := range append([]string{s.command}, s.args...) {
		if strings.IndexFunc(word, func(r rune) bool { return !strconv.IsPrint(r) }) >= 0 {
			words = append(words, strconv.Quote(word))
			continue
		}
		words = append(words, shellWord(word))
	}
	line := strings.Join(words, " ")
	if s.cwd != "" {
		line += " in the folder " + strconv.Quote(s.cwd)
	}
	return line
}

// to names the host that a URL leads to, unless that is a variable.
func to(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || strings.Contains(u.Host, "$") {
		return ""
	}
	return " to " + quoteName(u.Host)
}

// CheckTrust returns a [*TrustError] if the file needs to be accepted and has
// not been.
func (c *Config) CheckTrust(store TrustStore) error {
	reasons := c.NeedsTrust()
	if len(reasons) == 0 || store.IsTrusted(c) {
		return nil
	}
	return &TrustError{File: c.File.Name, Reasons: reasons}
}

// TrustStore remembers which files a person has accepted, each by its path and
// the digest of its content: a changed file is a new file.
type TrustStore struct {
	// Path is the file to remember in, absolute. It is made, with its folder,
	// for the user alone. One that cannot be read accepts nothing, and so does
	// one that is not absolute: in the working directory, a checkout could
	// bring its own.
	Path string
}

// accepted is one file in the store.
type accepted struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// errNoStore says that the user has no folder of their own.
var errNoStore = errors.New("remember the accepted configuration: there is no folder to remember it in; " +
	"set HOME or XDG_CONFIG_HOME, or name the file with --config")

// IsTrusted reports whether the file was accepted with this content.
func (s TrustStore) IsTrusted(c *Config) bool {
	return slices.Contains(recall[accepted](s.Path, "accepted"), c.identity())
}

// Trust accepts the file with the content that was loaded.
func (s TrustStore) Trust(ctx context.Context, c *Config) error {
	if !filepath.IsAbs(s.Path) {
		return errNoStore
	}
	if err := remember(ctx, s.Path, "accepted", c.identity()); err != nil {
		return fmt.Errorf("remember the accepted configuration: %w", err)
	}
	return nil
}

// maxRemembered bounds a store; the oldest go first.
const maxRemembered = 1000

// remember adds an item to the list under a key of the file, which is made,
// with its folder, for the user alone.
func remember[T comparable](ctx context.Context, path, key string, item T) error {
	all := recall[T](path, key)
	if slices.Contains(all, item) {
		return nil
	}
	all = append(all, item)
	all = all[max(0, len(all)-maxRemembered):]
	data, err := json.MarshalIndent(map[string]any{key: all}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	_, err = atomicfile.Write(ctx, []atomicfile.File{{Path: path, Data: append(data, '\n')}}, atomicfile.Options{Mode: 0o600})
	return err
}

// recall reads such a list. What is not there or broken is as good as empty:
// the worst that follows is one more question.
func recall[T any](path, key string) []T {
	if !filepath.IsAbs(path) {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var file map[string][]T
	if json.Unmarshal(data, &file) != nil {
		return nil
	}
	return file[key]
}

// identity is what the store knows the file by. Symbolic links are followed,
// so that one file has one identity.
func (c *Config) identity() accepted {
	path := c.File.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return accepted{Path: path, SHA256: c.digest}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
