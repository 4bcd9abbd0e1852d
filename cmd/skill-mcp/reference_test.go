package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// TestReference keeps docs/reference.md what the code says: constants and keys
// with the comments beside them, the tools as a client lists them, and the
// variables of the README, which other tests hold against the code.
func TestReference(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Reference\n\nMade from the code by `go test ./cmd/skill-mcp -run TestReference -update`; a test keeps it in step. " +
		"The commands have [a reference of their own](cli.md).\n")
	section := func(title, text string) { fmt.Fprintf(&b, "\n## %s\n\n%s", title, text) }
	section("Variables", between(t, readme(t), "| variable |", "\n\n"))
	section("Tools", toolReference(t))
	section("Problem reasons", rows("reason", constants(t, "internal/catalog/problem.go", "")))
	section("Verdicts", rows("verdict", constants(t, "internal/report/verdict.go", "Verdict")))
	section("Layers of the fence", rows("layer", constants(t, "internal/report/report.go", "Layer"))+
		"\nWhat a policy wants of one:\n\n"+rows("want", constants(t, "internal/report/report.go", "Want"))+
		"\nWhat was proved of it:\n\n"+rows("got", constants(t, "internal/report/report.go", "Got")))
	section("Policy keys", policyReference(t))
	section("Exit codes", exitReference(t))
	const path = "../../docs/reference.md"
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s is not what the code says: go test ./cmd/skill-mcp -run TestReference -update rewrites it", path)
	}
}

// between cuts text from the first mark to the next end after it.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	i := strings.Index(text, from)
	if i < 0 {
		t.Fatalf("no %q", from)
	}
	text, _, _ = strings.Cut(text[i:], to)
	return text + "\n"
}

// entry is one word and what it means.
type entry struct{ name, text string }

func rows(head string, list []entry) string {
	out := fmt.Sprintf("| %s | meaning |\n|---|---|\n", head)
	for _, e := range list {
		out += fmt.Sprintf("| `%s` | %s |\n", e.name, strings.ReplaceAll(e.text, "|", "\\|"))
	}
	return out
}

// parsed is a source file of this project.
func parsed(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../"+file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// constants gives the exported string constants of a type ("" = untyped) with
// the comment beside each; one without is a mistake.
func constants(t *testing.T, file, kind string) (out []entry) {
	t.Helper()
	ast.Inspect(parsed(t, file), func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 || !v.Names[0].IsExported() {
			return true
		}
		typ, _ := v.Type.(*ast.Ident)
		lit, _ := v.Values[0].(*ast.BasicLit)
		if lit == nil || lit.Kind != token.STRING || (typ == nil) != (kind == "") || typ != nil && typ.Name != kind {
			return true
		}
		word, _ := strconv.Unquote(lit.Value)
		if strings.TrimSpace(v.Comment.Text()) == "" {
			t.Errorf("%s: %s has no comment beside it", file, v.Names[0].Name)
		}
		out = append(out, entry{word, strings.TrimSpace(v.Comment.Text())})
		return true
	})
	if len(out) == 0 {
		t.Errorf("%s: no constants", file)
	}
	return out
}

// toolReference is what a client sees in tools/list.
func toolReference(t *testing.T) string {
	text, err := os.ReadFile("../../internal/mcpserver/testdata/tools_list.json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       struct {
				Properties map[string]struct{ Type, Description string }
				Required   []string
			}
		}
	}
	if err := json.Unmarshal(text, &list); err != nil || len(list.Tools) == 0 {
		t.Fatal(err, string(text[:80]))
	}
	var b strings.Builder
	for _, tool := range list.Tools {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", tool.Name, tool.Description)
		var names []string
		for n := range tool.InputSchema.Properties {
			names = append(names, n)
		}
		if len(names) == 0 {
			b.WriteString("No arguments.\n\n")
			continue
		}
		sort.Strings(names)
		var list []entry
		for _, n := range names {
			p := tool.InputSchema.Properties[n]
			need := ""
			if strings.Contains(" "+strings.Join(tool.InputSchema.Required, " ")+" ", " "+n+" ") {
				need = ", required"
			}
			list = append(list, entry{n, p.Type + need + ". " + p.Description})
		}
		b.WriteString(rows("argument", list) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// policyReference lists the keys of a policy by the structures that hold them.
func policyReference(t *testing.T) string {
	var b strings.Builder
	b.WriteString("A file may also have `extends`: a shipped policy, or `nothing`. Every grant and layer has a `why`. `skill-mcp policy show` prints whole examples.\n\n")
	docs := map[string]string{}
	structs := map[string]*ast.StructType{}
	for _, d := range append(parsed(t, "internal/policy/policy.go").Decls, parsed(t, "internal/policy/limits.go").Decls...) {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			for _, s := range g.Specs {
				if st, ok := s.(*ast.TypeSpec).Type.(*ast.StructType); ok {
					name := s.(*ast.TypeSpec).Name.Name
					structs[name], docs[name] = st, strings.Join(strings.Fields(g.Doc.Text()), " ")
				}
			}
		}
	}
	for _, name := range []string{"Policy", "Layer", "Interpreter", "Path", "Egress", "Skill", "Limits"} {
		if structs[name] == nil {
			t.Fatalf("no structure %s", name)
		}
		var list []entry
		for _, f := range structs[name].Fields.List {
			tag, _ := strconv.Unquote(f.Tag.Value)
			text := strings.Join(strings.Fields(f.Comment.Text()+" "+f.Doc.Text()), " ")
			if text == "" {
				t.Errorf("policy key %s has no comment beside it", tag)
			}
			list = append(list, entry{strings.Split(reflect.StructTag(tag).Get("json"), ",")[0], text})
		}
		fmt.Fprintf(&b, "%s\n\n%s\n", docs[name], rows("key", list))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// exitReference are the exit codes of every command.
func exitReference(t *testing.T) string {
	texts := map[string]string{}
	for _, file := range []string{"cmd/skill-mcp/main.go", "cmd/skill-mcp/run.go"} {
		ast.Inspect(parsed(t, file), func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "exit") && len(v.Values) == 1 {
				if lit, ok := v.Values[0].(*ast.BasicLit); ok {
					texts[lit.Value] = strings.TrimSpace(v.Comment.Text())
				}
			}
			return true
		})
	}
	if len(texts) < 4 {
		t.Fatalf("exit codes: %v", texts)
	}
	var list []entry
	for code, text := range texts {
		if text == "" {
			t.Errorf("exit code %s has no comment beside it", code)
		}
		list = append(list, entry{code, text})
	}
	sort.Slice(list, func(i, j int) bool {
		return len(list[i].name) < len(list[j].name) || list[i].name < list[j].name && len(list[i].name) == len(list[j].name)
	})
	return rows("code", list) + "\n`skill-mcp run` gives the script's own exit code when it ran.\n"
}
