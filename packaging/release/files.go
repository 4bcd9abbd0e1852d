package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// output runs a program in dir with more environment and gives what it printed.
// What it says on standard error is part of its error only.
func output(dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stderr.String() + stdout.String())
		return "", fmt.Errorf("run %s %s: %w\n%s", name, strings.Join(args, " "), err, said)
	}
	return stdout.String(), nil
}

// dated is the environment of tools that write archives.
func (r *release) dated() []string {
	return []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.epoch, 10), "TZ=UTC"}
}

// put writes a file and the folders above it.
func put(path string, text []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, text, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // whatever the umask
}

// copyFile copies one file with the mode it shall have.
func copyFile(from, to string, mode os.FileMode) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return put(to, text, mode)
}

// copyTree copies a folder's files, each readable by everybody.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return copyFile(path, filepath.Join(to, rel), 0o644)
	})
}

// putJSON writes a value as JSON that a person can read.
func putJSON(path string, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	return put(path, b.Bytes(), 0o644)
}

// readJSON reads a manifest of this repository.
func readJSON(path string) (map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return v, nil
}

// settle gives every file and folder below dir the time of the source and a
// mode without regard to the umask.
func (r *release) settle(dir string) error {
	at := time.Unix(r.epoch, 0)
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if err := os.Chmod(path, 0o755); err != nil {
				return err
			}
		}
		return os.Chtimes(path, at, at)
	})
}

// stage makes an empty folder for what goes into a package. The caller removes it.
func stage() (string, error) {
	dir, err := os.MkdirTemp("", "skill-mcp-stage-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}
