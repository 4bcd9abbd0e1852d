package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"skill-mcp/internal/wire"
	"skill-mcp/test/mcpclient"
)

// bootFile writes the owner's half into a file that is gone when it is closed.
func bootFile(boot wire.Boot) (*os.File, error) {
	text, err := json.Marshal(boot)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "skill-mcp-bench-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(text); err != nil {
		return nil, err
	}
	_, err = f.Seek(0, 0)
	return f, err
}

// tree makes skills of files each and returns their folder.
func tree(skills, files int) (string, error) {
	root, err := os.MkdirTemp("", "skill-mcp-bench-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(root, 0o755); err != nil {
		return "", err
	}
	for i := range skills {
		dir := filepath.Join(root, fmt.Sprintf("s%02d", i))
		if err := os.MkdirAll(filepath.Join(dir, "references"), 0o755); err != nil {
			return "", err
		}
		text := fmt.Sprintf("---\nname: s%02d\ndescription: One of many.\n---\n\nBody\n", i)
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644); err != nil {
			return "", err
		}
		for j := range files - 1 {
			if err := os.WriteFile(filepath.Join(dir, "references", fmt.Sprintf("%04d.md", j)), []byte("x"), 0o644); err != nil {
				return "", err
			}
		}
	}
	return root, nil
}

// server starts the built server over a folder.
func server(bin, root string) (*mcpclient.Client, error) {
	return mcpclient.Start(mcpclient.Options{
		Command: []string{filepath.Join(bin, "skill-mcp")},
		Env:     []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "SKILLS_DIR=" + root},
	})
}

// boot is the time from the start of a server to the answer of a call. The
// end of the server is not measured.
func boot(bin, root, method string) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		begun := time.Now()
		c, err := server(bin, root)
		if err != nil {
			return 0, err
		}
		defer c.Close(6 * time.Second)
		if _, err := c.Initialize("2025-11-25", nil); err != nil {
			return 0, err
		}
		if method != "initialize" {
			if _, err := c.Call(method, map[string]any{}, 10*time.Second); err != nil {
				return 0, err
			}
		}
		return time.Since(begun), nil
	}
}

// bootTable compares the first answers with a bare start of node.
func bootTable(bin string, rounds int) error {
	small, err := tree(32, 4)
	if err != nil {
		return err
	}
	defer os.RemoveAll(small)
	large, err := tree(32, 2000)
	if err != nil {
		return err
	}
	defer os.RemoveAll(large)
	node, err := exec.LookPath("node")
	if err != nil {
		return err
	}
	s, err := interleave([]row{
		{"node -e 0", timed(bare(node, "-e", "0"))},
		{"initialize, 128 files", boot(bin, small, "initialize")},
		{"tools/list, 128 files", boot(bin, small, "tools/list")},
		{"tools/list, 64,000 files", boot(bin, large, "tools/list")},
	}, rounds)
	if err != nil {
		return err
	}
	node0 := quantile(s["node -e 0"], 0.5)
	var cells [][]string
	for _, n := range []string{"node -e 0", "initialize, 128 files", "tools/list, 128 files", "tools/list, 64,000 files"} {
		cells = append(cells, []string{n, ms(quantile(s[n], 0.5)), ms(quantile(s[n], 0.9)), ms(quantile(s[n], 0.5) / node0)})
	}
	printTable(fmt.Sprintf("From the start of the server to an answer (n=%d)", rounds), []string{"row", "median ms", "p90 ms", "of node"}, cells)
	return nil
}

// callTable measures calls of a running server.
func callTable(bin string, rounds int) error {
	root, err := tree(1, 4)
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	for name, size := range map[string]int{"1k.txt": 1 << 10, "1m.txt": 1 << 20} {
		if err := os.WriteFile(filepath.Join(root, "s00", name), bytes.Repeat([]byte("a"), size), 0o644); err != nil {
			return err
		}
	}
	c, err := server(bin, root)
	if err != nil {
		return err
	}
	defer c.Close(6 * time.Second)
	if _, err := c.Initialize("2025-11-25", nil); err != nil {
		return err
	}
	tool := func(name string, arguments any) func() error {
		return func() error {
			r, err := c.Tool(name, arguments, 10*time.Second)
			if err == nil && r.IsError {
				err = fmt.Errorf("%s", r.Text())
			}
			return err
		}
	}
	file := func(name string) any { return map[string]any{"name": "s00", "paths": []string{name}} }
	rows := []row{
		{"skill_list", timed(tool("skill_list", struct{}{}))},
		{"skill_load", timed(tool("skill_load", map[string]any{"name": "s00"}))},
		{"skill_file, 1 KiB", timed(tool("skill_file", file("1k.txt")))},
		{"skill_file, 1 MiB", timed(tool("skill_file", file("1m.txt")))},
	}
	s, err := interleave(rows, rounds*4)
	if err != nil {
		return err
	}
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, []string{r.name, ms(quantile(s[r.name], 0.5)), ms(quantile(s[r.name], 0.9))})
	}
	printTable(fmt.Sprintf("Calls of a running server, the client's decoding included (n=%d)", rounds*4), []string{"row", "median ms", "p90 ms"}, cells)
	return nil
}

// scanTable compares a listing with sizes to find and to a walk in Go.
func scanTable(bin string, rounds int) error {
	root, err := tree(32, 2000)
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	walk := func() error {
		return filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
			if err == nil {
				_, err = d.Info()
			}
			return err
		})
	}
	list := func() (time.Duration, error) {
		begun := time.Now()
		c, err := server(bin, root)
		if err != nil {
			return 0, err
		}
		defer c.Close(6 * time.Second)
		if _, err := c.Initialize("2025-11-25", nil); err != nil {
			return 0, err
		}
		_, err = c.Tool("skill_list", struct{}{}, 20*time.Second)
		return time.Since(begun), err
	}
	s, err := interleave([]row{
		{"find, with a stat each", timed(bare("find", root, "-size", "-100c", "-newermt", "2000-01-01", "-name", "none"))},
		{"walk in Go, with a stat each", timed(walk)},
		{"server: start to skill_list", list},
	}, min(rounds, 20))
	if err != nil {
		return err
	}
	find := quantile(s["find, with a stat each"], 0.5)
	var cells [][]string
	for _, n := range []string{"find, with a stat each", "walk in Go, with a stat each", "server: start to skill_list"} {
		cells = append(cells, []string{n, ms(quantile(s[n], 0.5)), ms(quantile(s[n], 0.5) / find)})
	}
	printTable("64,000 files in 32 skills", []string{"row", "median ms", "of find"}, cells)
	return nil
}
