package deps

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"skill-mcp/internal/yamlcore"
)

const (
	// maxMetadata bounds agents/openai.yaml; real files stay under 4 KiB.
	maxMetadata = 64 << 10
	// maxEntries bounds the servers one skill may name.
	maxEntries = 64
)

// The places of the metadata, the first that exists wins.
const (
	metadataPath     = "agents/openai.yaml"
	metadataPathRoot = "openai.yaml"
	metadataPathYml  = "agents/openai.yml"
)

// Metadata is what one skill's file says.
type Metadata struct {
	Servers  []Server
	Problems Problems
	Notes    []string // what a person should know although nothing is wrong
}

// Read reads the metadata of the skill in dir. No file means no dependencies.
// Every mistake is reported; a skill with one contributes no server at all.
func Read(dir string) Metadata {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Metadata{Problems: Problems{{Code: CodeUnreadable, Detail: fmt.Sprintf("the skill's folder cannot be opened: %v", err)}}}
	}
	defer root.Close()
	text, place, problem := locate(root)
	if problem != nil {
		return Metadata{Problems: Problems{*problem}}
	}
	if place == "" {
		return Metadata{Notes: unreadSpelling(root)}
	}
	m := Parse(text)
	for i := range m.Problems {
		if m.Problems[i].Path == "" {
			m.Problems[i].Path = place
		}
	}
	return m
}

// unreadSpelling notes a file that nobody reads because of its ending.
func unreadSpelling(root *os.Root) []string {
	if _, err := root.Stat(metadataPathYml); err != nil {
		return nil
	}
	return []string{metadataPathYml + " is not read: the file is called " + metadataPath}
}

// locate finds and reads the one metadata file. place is "" when there is none.
func locate(root *os.Root) (text []byte, place string, problem *Problem) {
	first, problem := open(root, metadataPath)
	if problem != nil {
		return nil, "", problem
	}
	second, problem := open(root, metadataPathRoot)
	switch {
	case first == nil && problem != nil:
		return nil, "", problem
	case first == nil && second == nil:
		return nil, "", nil
	case first == nil:
		return second, metadataPathRoot, nil
	case problem == nil && second != nil && !bytes.Equal(first, second):
		return nil, "", &Problem{Code: CodeAmbiguous, Path: metadataPathRoot,
			Detail: "differs from " + metadataPath + ", and only one of them can be meant: remove one"}
	}
	return first, metadataPath, nil
}

// open reads one bounded regular file inside the skill; nil means absent.
func open(root *os.Root, name string) ([]byte, *Problem) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO must not hold the scan
	switch {
	case errors.Is(err, fs.ErrNotExist) && !dangling(root, name):
		return nil, nil
	case err != nil && escapes(err):
		return nil, &Problem{Code: CodeEscapes, Path: name, Detail: "escapes its source directory: a link leads outside the skill"}
	case err != nil:
		return nil, &Problem{Code: CodeUnreadable, Path: name, Detail: err.Error()}
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, &Problem{Code: CodeUnreadable, Path: name, Detail: "is not a regular file"}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxMetadata+1))
	if err != nil {
		return nil, &Problem{Code: CodeUnreadable, Path: name, Detail: err.Error()}
	}
	if len(text) > maxMetadata {
		return nil, &Problem{Code: CodeTooLarge, Path: name, Detail: fmt.Sprintf("is larger than %d bytes", maxMetadata)}
	}
	if text == nil {
		text = []byte{}
	}
	return text, nil
}

// dangling reports whether name itself is a link; one that leads nowhere is a
// mistake and not an absent file.
func dangling(root *os.Root, name string) bool {
	st, err := root.Lstat(name)
	return err == nil && st.Mode()&fs.ModeSymlink != 0
}

// escapes recognises the error of os.Root for a path that leaves the root; it
// has no sentinel as of Go 1.26.
func escapes(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && strings.Contains(p.Err.Error(), "escapes from parent")
}

// Parse reads the text of a metadata file.
func Parse(text []byte) Metadata {
	doc, err := yamlcore.Parse(bytes.TrimPrefix(text, []byte("\ufeff")), yamlcore.Options{})
	if err != nil {
		return Metadata{Problems: Problems{{Code: CodeYAML, Detail: err.Error()}}}
	}
	tools, problem := tools(doc)
	if problem != nil || tools == nil {
		return Metadata{Problems: problem}
	}
	if len(tools.Items) > maxEntries {
		return Metadata{Problems: Problems{{Code: CodeTooMany, Path: "dependencies.tools",
			Detail: fmt.Sprintf("has %d entries, at most %d are read", len(tools.Items), maxEntries)}}}
	}
	var m Metadata
	for i, item := range tools.Items {
		e := entry{node: item, path: fmt.Sprintf("dependencies.tools[%d]", i)}
		s := e.read()
		m.Problems = append(m.Problems, e.problems...)
		m.Servers = append(m.Servers, s)
	}
	if len(m.Problems) > 0 {
		m.Servers = nil
	}
	return m
}

// tools walks to dependencies.tools; nil without a problem means none.
func tools(doc *yamlcore.Node) (*yamlcore.Node, Problems) {
	if doc.Kind == yamlcore.Null {
		return nil, nil
	}
	if doc.Kind != yamlcore.Map {
		return nil, Problems{{Code: CodeShape, Detail: "is not a mapping but " + doc.Kind.String()}}
	}
	deps := doc.Get("dependencies")
	if deps == nil {
		return nil, nil
	}
	if deps.Kind != yamlcore.Map {
		return nil, Problems{{Code: CodeShape, Path: "dependencies", Detail: "is not a mapping but " + deps.Kind.String()}}
	}
	list := deps.Get("tools")
	if list == nil {
		return nil, nil
	}
	if list.Kind != yamlcore.Seq {
		return nil, Problems{{Code: CodeShape, Path: "dependencies.tools", Detail: "is not a list but " + list.Kind.String()}}
	}
	return list, nil
}
