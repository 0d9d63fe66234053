// Package schemacache keeps what servers published last, so that a shell can
// complete names without asking a server. It is a memory of names and nothing
// else: what is sent to a server is never decided by it.
//
// Each server has a file of its own, named by a digest of what the server is.
// A file is lines of JSON: a head, then for each list that is known the head's
// word for it and its items; tools are a catalogue of pkg/catalog. What is
// broken, foreign or of another version is as good as missing, and is replaced.
package schemacache

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpctl/mcpctl/internal/atomicfile"
	"github.com/mcpctl/mcpctl/pkg/catalog"
)

// The bounds of the cache: bytes of a file, and files.
const (
	maxSize  = 4 << 20
	maxFiles = 256
)

// longestHead bounds the first line of a file, in bytes.
const longestHead = 4 << 10

// version is that of the format.
const version = 1

// List names a list of a server.
type List string

// The lists of a server.
const (
	Tools     List = "tools"
	Resources List = "resources"
	Templates List = "templates"
	Prompts   List = "prompts"
)

// lists are all of them, in the order of the lines.
var lists = []List{Tools, Resources, Templates, Prompts}

// Store is the folder of the cache, absolute. It is made, with the folders
// above it, for the user alone. One that is empty keeps nothing.
type Store struct{ Dir string }

// Key is what a server is known by in the cache. The parts say what the server
// is, such as its name and its URL; they are not kept.
func Key(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		io.WriteString(h, part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// head is the first line of a file.
type head struct {
	Version int    `json:"mcpctlCache"`
	Key     string `json:"key"`
	// Lists are digests of the lists that follow, by which an unchanged list is
	// known without reading it.
	Lists map[List]string `json:"lists"`
	// Size is that of the lines that follow, in bytes.
	Size int `json:"size"`
}

// Entry is what is known of a server.
type Entry struct {
	lines map[List][]byte
	path  string
}

// Has reports whether a list is known, if it may be empty.
func (e Entry) Has(l List) bool { return e.lines[l] != nil }

// Tools returns the tools, in the order of their names.
func (e Entry) Tools() []catalog.Tool {
	if !e.Has(Tools) {
		return nil
	}
	c, err := catalog.Read(bytes.NewReader(e.lines[Tools]), "")
	if err != nil || len(c.Servers) != 1 {
		e.remove()
		return nil
	}
	return c.Servers[0].Tools
}

// Items returns the items of another list as the server sent them.
func (e Entry) Items(l List) []json.RawMessage {
	if !e.Has(l) {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(e.lines[l], &items) != nil {
		e.remove()
		return nil
	}
	return items
}

// remove removes a broken file, or it would be taken for one that needs not to
// be written again.
func (e Entry) remove() {
	if e.path != "" {
		_ = os.Remove(e.path)
	}
}

// Load returns what is known of a server.
func (s Store) Load(key string) Entry {
	data, h, err := s.read(key, maxSize)
	if err != nil {
		return Entry{}
	}
	path, _ := s.path(key)
	e := Entry{make(map[List][]byte), path}
	lines := bytes.Split(data, []byte("\n"))
	for i, l := range present(h) {
		if i+1 >= len(lines) || !json.Valid(lines[i+1]) {
			e.remove()
			return Entry{}
		}
		e.lines[l] = lines[i+1]
	}
	return e
}

// present lists what a head announces, in the order of the lines.
func present(h head) []List {
	var all []List
	for _, l := range lists {
		if h.Lists[l] != "" {
			all = append(all, l)
		}
	}
	return all
}

var errForeign = errors.New("not a file of this cache")

// read returns the beginning of a file, with its first line read.
func (s Store) read(key string, most int64) ([]byte, head, error) {
	var h head
	path, err := s.path(key)
	if err != nil {
		return nil, h, err
	}
	// A named pipe would be waited for.
	info, err := os.Lstat(path)
	if err != nil {
		return nil, h, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSize {
		return nil, h, errForeign
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, h, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, h, err
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	if json.Unmarshal(first, &h) != nil || h.Version != version || h.Key != key || int64(len(first)+1+h.Size) != info.Size() {
		return nil, head{}, errForeign
	}
	return data, h, nil
}

func (s Store) path(key string) (string, error) {
	if !filepath.IsAbs(s.Dir) {
		return "", errors.New("there is no folder for the cache")
	}
	if len(key) != 2*16 || strings.Trim(key, "0123456789abcdef") != "" {
		return "", errors.New("not a key of the cache")
	}
	return filepath.Join(s.Dir, key+ending), nil
}

const ending = ".jsonl"

// Update is what was learnt of a server. What is nil stays as it is.
type Update struct {
	Server                        *catalog.Server // with its tools
	Resources, Templates, Prompts []json.RawMessage
}

// digests returns what tells the lists of an update from others.
func (u Update) digests() map[List]string {
	all := make(map[List]string)
	if s := u.Server; s != nil {
		parts := []string{s.Name, s.ProtocolVersion, string(s.Info), s.Instructions}
		for _, t := range s.Tools {
			parts = append(parts, string(t.Raw))
		}
		all[Tools] = Key(parts...)
	}
	for l, items := range u.items() {
		h := make([]string, len(items))
		for i, item := range items {
			h[i] = string(item)
		}
		all[l] = Key(h...)
	}
	return all
}

func (u Update) items() map[List][]json.RawMessage {
	all := make(map[List][]json.RawMessage)
	for l, items := range map[List][]json.RawMessage{Resources: u.Resources, Templates: u.Templates, Prompts: u.Prompts} {
		if items != nil {
			all[l] = items
		}
	}
	return all
}

// Save keeps what was learnt of a server. Nothing is written if nothing
// changed, and what is too large is not kept.
func (s Store) Save(ctx context.Context, key string, u Update) error {
	path, err := s.path(key)
	if err != nil {
		return err
	}
	digests := u.digests()
	if _, old, err := s.read(key, longestHead); err == nil && covers(old.Lists, digests) {
		return s.touch(path)
	}
	before := s.Load(key)
	h := head{Version: version, Key: key, Lists: digests}
	if _, old, err := s.read(key, longestHead); err == nil {
		for l, digest := range old.Lists {
			if digests[l] == "" && before.Has(l) {
				h.Lists[l] = digest
			}
		}
	}
	data, err := u.file(h, before)
	if err != nil {
		return fmt.Errorf("remember names for completion: %w", err)
	}
	if len(data) > maxSize {
		_ = os.Remove(path) // it is out of date, and nothing takes its place
		return nil
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("remember names for completion: %w", err)
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		_ = os.Remove(path) // where it stays, writing fails
	}
	if _, err := atomicfile.Write(ctx, []atomicfile.File{{Path: path, Data: data}}, atomicfile.Options{Mode: 0o600}); err != nil {
		return fmt.Errorf("remember names for completion: %w", err)
	}
	return s.prune()
}

// patience is how long a server that could not be asked is left alone.
const patience = time.Minute

// Missed notes that a server could not be asked, unless something is known of
// it.
func (s Store) Missed(ctx context.Context, key string) error {
	if err := s.Save(ctx, key, Update{}); err != nil {
		return err
	}
	path, err := s.path(key)
	if err != nil {
		return err
	}
	now := time.Now()
	return os.Chtimes(path, now, now)
}

// Waiting reports whether it is too early to ask a server again.
func (s Store) Waiting(key string) bool {
	path, err := s.path(key)
	if err != nil {
		return false
	}
	info, err := os.Stat(path)
	if err != nil || time.Since(info.ModTime()) > patience {
		return false
	}
	_, h, err := s.read(key, longestHead)
	return err == nil && len(h.Lists) == 0
}

func covers(old, wanted map[List]string) bool {
	for l, digest := range wanted {
		if old[l] != digest {
			return false
		}
	}
	return true
}

// touch marks a file as used, about once a day.
func (s Store) touch(path string) error {
	now := time.Now()
	if info, err := os.Stat(path); err != nil || now.Sub(info.ModTime()) < 24*time.Hour {
		return err
	}
	return os.Chtimes(path, now, now)
}

// file returns the new text of a file.
func (u Update) file(h head, before Entry) ([]byte, error) {
	var b bytes.Buffer
	items := u.items()
	for _, l := range present(h) {
		var line []byte
		var err error
		switch {
		case l == Tools && u.Server != nil:
			var c bytes.Buffer
			err = catalog.New(*u.Server).Write(&c)
			line = c.Bytes()
		case items[l] != nil:
			line, err = json.Marshal(items[l])
		default:
			line = before.lines[l]
		}
		if err != nil {
			return nil, err
		}
		if err := json.Compact(&b, line); err != nil {
			return nil, err
		}
		b.WriteByte('\n')
	}
	h.Size = b.Len()
	first, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return slices.Concat(first, []byte("\n"), b.Bytes()), nil
}

// prune removes the files that have not been used for the longest, beyond what
// the cache may hold.
func (s Store) prune() error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ending) && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, f := range files[:max(0, len(files)-maxFiles)] {
		if err := os.Remove(filepath.Join(s.Dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
