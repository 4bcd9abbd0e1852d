// Command demo performs one whole MCP exchange with the built server, as a
// client does, and shows a person what happened: what is served, one skill and
// its files, the preview of a script, the confirmation, the run and what the
// fence proved on it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"skill-mcp/test/mcpclient"
)

func main() {
	server := flag.String("server", "bin/skill-mcp", "the built server")
	skills := flag.String("skills", "", "folder of skills; empty = the bundled ones")
	args := flag.String("args", "one,two words", "arguments for the script, separated by commas")
	flag.Parse()
	if err := show(*server, *skills, strings.Split(*args, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// show performs the exchange.
func show(server, skills string, args []string) error {
	bin, err := filepath.Abs(server)
	if err != nil {
		return err
	}
	env := os.Environ()
	if skills != "" {
		dir, err := filepath.Abs(skills)
		if err != nil {
			return err
		}
		env = append(env, "SKILLS_DIR="+dir)
	}
	c, err := mcpclient.Start(mcpclient.Options{Command: []string{bin}, Env: env, Stderr: os.Stderr})
	if err != nil {
		return err
	}
	defer c.Close(6 * time.Second)
	begun := time.Now()
	if _, err := c.Initialize("2025-11-25", nil); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	heading("initialize answered in %d ms", time.Since(begun).Milliseconds())
	skill, script, err := list(c)
	if err != nil || skill == "" {
		return err
	}
	if err := read(c, skill); err != nil {
		return err
	}
	if script == "" && skills != "" {
		heading("no script of these skills can run here, so none is previewed")
		return nil
	}
	if script == "" {
		return errors.New("no skill has a script that can run here: skill_list above says why; the bundled one needs node 18 or later on the PATH")
	}
	return run(c, skill, script, args)
}

// tool calls a tool and decodes its answer.
func tool(c *mcpclient.Client, name string, arguments, into any) error {
	r, err := c.Tool(name, arguments, 6*time.Minute)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if r.IsError {
		return fmt.Errorf("%s: %s", name, r.Text())
	}
	return json.Unmarshal([]byte(r.Text()), into)
}

func heading(format string, args ...any) { fmt.Printf("\n== "+format+"\n", args...) }

// list shows what is served and picks the skill and script to go on with.
func list(c *mcpclient.Client) (skill, script string, err error) {
	var l struct {
		Roots  []string
		Skills []struct {
			Name        string
			Description string
			Files       int
			Scripts     []struct{ Script, Interpreter string }
			Unavailable []struct{ Script, Reason string } `json:"unavailableScripts"`
		}
		Problems []struct{ Path, Reason, Detail string }
	}
	if err := tool(c, "skill_list", struct{}{}, &l); err != nil {
		return "", "", err
	}
	heading("skill_list: %s in %s, %s", counted(len(l.Skills), "skill"), strings.Join(l.Roots, ", "), counted(len(l.Problems), "problem"))
	for _, s := range l.Skills {
		fmt.Printf("  %-28s %s, %s  %s\n", s.Name, counted(s.Files, "file"), counted(len(s.Scripts), "script"), short(s.Description, 60))
		if skill == "" || (script == "" && len(s.Scripts) > 0) {
			skill = s.Name
			if len(s.Scripts) > 0 {
				script = s.Scripts[0].Script
			}
		}
	}
	for _, s := range l.Skills {
		for _, u := range s.Unavailable {
			fmt.Printf("  %s of %s cannot run here: %s\n", u.Script, s.Name, short(u.Reason, 200))
		}
	}
	for _, p := range l.Problems {
		fmt.Printf("  problem %s at %s: %s\n", p.Reason, p.Path, short(p.Detail, 120))
	}
	return skill, script, nil
}

// read loads the skill and shows the beginning of its other files.
func read(c *mcpclient.Client, skill string) error {
	var s struct {
		Body  string
		Files []struct {
			Path string
			Size int64
		}
	}
	if err := tool(c, "skill_load", map[string]any{"name": skill}, &s); err != nil {
		return err
	}
	heading("skill_load %s: %d bytes of instructions", skill, len(s.Body))
	fmt.Println(indent(short(s.Body, 400)))
	var paths []string
	for _, f := range s.Files {
		if f.Path != "SKILL.md" && f.Size < 1<<16 && len(paths) < 3 {
			paths = append(paths, f.Path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	var f struct {
		Files []struct {
			Path, Encoding, Error string
			Size                  int64
		}
	}
	if err := tool(c, "skill_file", map[string]any{"name": skill, "paths": paths}, &f); err != nil {
		return err
	}
	heading("skill_file")
	for _, e := range f.Files {
		fmt.Printf("  %-40s %6d bytes %s%s\n", e.Path, e.Size, e.Encoding, e.Error)
	}
	return nil
}

// fence is the report as the server gives it.
type fence struct {
	Policy, Network string
	Layers          []struct{ Layer, Want, Got, Level, Reason, Remedy string }
}

// run previews the script, confirms and runs it.
func run(c *mcpclient.Client, skill, script string, args []string) error {
	call := map[string]any{"name": skill, "script": script, "args": args}
	var p struct {
		Preview struct {
			WillRun json.RawMessage
			Note    string
		}
		ConfirmToken string
	}
	if err := tool(c, "skill_run", call, &p); err != nil {
		return err
	}
	var will map[string]any
	if err := json.Unmarshal(p.Preview.WillRun, &will); err != nil {
		return err
	}
	delete(will, "fence")
	shown, _ := json.MarshalIndent(will, "  ", "  ")
	heading("skill_run, preview: %s", p.Preview.Note)
	fmt.Printf("  %s\n", shown)
	if !approved() {
		fmt.Println("not approved: nothing was run")
		return nil
	}
	call["confirmToken"] = p.ConfirmToken
	var r struct {
		ExitCode   *int
		Signal     *string
		Verdict    string
		DurationMs int64
		Stdout     string
		Stderr     string
		Fence      fence
		Evidence   json.RawMessage
	}
	if err := tool(c, "skill_run", call, &r); err != nil {
		return err
	}
	code := "none"
	if r.ExitCode != nil {
		code = fmt.Sprint(*r.ExitCode)
	}
	heading("skill_run, result: verdict %s, exit code %s, %d ms", r.Verdict, code, r.DurationMs)
	fmt.Println(indent(strings.TrimRight(r.Stdout, "\n")))
	if r.Stderr != "" {
		fmt.Printf("  stderr: %s\n", strings.TrimSpace(r.Stderr))
	}
	fmt.Printf("  evidence: %s\n", r.Evidence)
	report(r.Fence)
	return nil
}

// report prints the fence of the run as a table.
func report(f fence) {
	heading("fence of this run: policy %s, network %s", f.Policy, f.Network)
	for _, l := range f.Layers {
		fmt.Printf("  %-17s %-8s %-9s %s\n", l.Layer, l.Want, l.Got, strings.TrimSpace(l.Level+" "+l.Reason))
	}
}

// approved asks on a terminal; without one the command line itself was the
// approval.
func approved() bool {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Println("  confirmation: approved by running this command")
		return true
	}
	fmt.Print("\nRun it? [y/N] ")
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	return strings.EqualFold(strings.TrimSpace(line), "y") || strings.EqualFold(strings.TrimSpace(line), "yes")
}

// short cuts text for a table, at a character, and says that it was cut.
func short(s string, most int) string {
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// counted is a number with its noun: 1 file, 2 files.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }
