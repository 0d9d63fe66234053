package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Found says how a file was found.
type Found string

// The ways to a file, the first that leads to one wins.
const (
	Named  Found = "named on the command line"
	Env    Found = "named by MCPCTL_CONFIG"
	Upward Found = "found in the checkout, from the working directory upward"
	Here   Found = "found in the working directory, which is in no checkout"
	User   Found = "found in the user's configuration folder"
)

// File is where a configuration stands.
type File struct {
	// Path is absolute.
	Path string
	// Name is the path as a person would write it: as it was named, or
	// relative to the working directory. Messages use it.
	Name string
	// Found is how it was found.
	Found Found
}

// candidates are the names looked for in each folder, best first. The last is
// where VS Code keeps the servers of a folder.
var candidates = []string{"mcp.json", ".mcp.json", filepath.Join(".vscode", "mcp.json")}

// Find returns the file to read: the named one; else that of the variable
// MCPCTL_CONFIG; else the nearest mcp.json, .mcp.json or .vscode/mcp.json from
// the working directory upward; else mcp.json in the user's folder.
//
// The search upward ends at the root of the repository, the folder with .git.
// Outside a repository only the working directory is looked at, so that no
// file of a shared parent such as /tmp can slip in. A named file need not
// exist; [Load] then says so. If there is nothing, the error matches
// [ErrNoConfig].
func Find(named string, o Options) (File, error) {
	if named != "" {
		return File{Path: absolute(o.Dir, named), Name: named, Found: Named}, nil
	}
	if path, ok := o.lookup("MCPCTL_CONFIG"); ok && path != "" {
		return File{Path: absolute(o.Dir, path), Name: path, Found: Env}, nil
	}
	found := Upward
	if repository(o.Dir) == "" {
		found = Here
	}
	for _, dir := range upward(o.Dir) {
		for _, candidate := range candidates {
			if path := filepath.Join(dir, candidate); isFile(path) {
				return File{Path: path, Name: relative(o.Dir, path), Found: found}, nil
			}
		}
	}
	if o.UserDir != "" {
		if path := filepath.Join(o.UserDir, "mcp.json"); isFile(path) {
			return File{Path: path, Name: path, Found: User}, nil
		}
	}
	return File{}, &Error{
		Problem: fmt.Sprintf("%v in %s", ErrNoConfig, strings.Join(places(o), ", ")),
		Hint:    "name one with --config FILE, or a server with -s URL or -- command",
		Err:     ErrNoConfig,
	}
}

// places says in words where Find looked.
func places(o Options) []string {
	places := []string{"the working directory"}
	if dirs := upward(o.Dir); len(dirs) > 1 {
		places[0] += " up to " + dirs[len(dirs)-1]
	}
	if o.UserDir != "" {
		places = append(places, o.UserDir)
	}
	return places
}

// upward lists dir and its parents up to the repository's root.
func upward(dir string) []string {
	root := repository(dir)
	if root == "" {
		return []string{dir}
	}
	dirs := []string{dir}
	for dir != root {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	return dirs
}

// repository returns the nearest folder from dir upward that holds .git, which
// is a file in worktrees and submodules, or "".
func repository(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// folder is what relative paths in the file are relative to: the folder it
// stands in, and for .vscode/mcp.json the one above.
func (f File) folder() string {
	dir := filepath.Dir(f.Path)
	if filepath.Base(dir) == ".vscode" {
		return filepath.Dir(dir)
	}
	return dir
}

// workspace is what ${workspaceFolder} stands for: the root of the repository
// that the file is in, else the file's folder.
func (f File) workspace() string {
	if root := repository(f.folder()); root != "" {
		return root
	}
	return f.folder()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// relative shortens a path for messages.
func relative(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil || slices.Contains(strings.Split(rel, string(filepath.Separator)), "..") && len(rel) > len(path) {
		return path
	}
	return rel
}
