package pack

import (
	"context"
	"io"
	"os"

	"skill-mcp/internal/archive"
)

// Skill is one skill in an archive or a folder, under the rules of an import:
// noise left out, budgets held, no file missing. It is what package specialist
// builds its bundled skills on.
type Skill struct{ skill *skill }

// OpenSkill takes what lies below root ("" is the tree itself) as a skill. The
// diagnostics are errors; with any, the skill must not be used.
func OpenSkill(tree archive.Tree, root string) (*Skill, []Diagnostic) {
	l := layout{roots: []string{root}, owned: map[string][]int{}, noise: map[string][]int{}}
	entries := tree.Entries()
	for i := range entries {
		l.place(i, &entries[i])
	}
	s := gather(tree, &l, root)
	return &Skill{s}, s.faults
}

// Files gives the files in byte order of the path.
func (s *Skill) Files() []FileInfo { return s.skill.files }

// Document gives the first n bytes of SKILL.md. Precondition: OpenSkill gave no
// diagnostics.
func (s *Skill) Document(n int64) ([]byte, error) { return s.skill.head(n) }

// Each reads all files in order; visit gives where the bytes of file i go.
func (s *Skill) Each(ctx context.Context, visit func(i int) (io.Writer, error), done func(i int) error) error {
	return s.skill.each(ctx, visit, done)
}

// Write writes the skill below an empty folder, 0644 or 0755, and gives what it
// wrote with its content hash.
func (s *Skill) Write(ctx context.Context, into *os.Root) ([]FileRecord, string, error) {
	return writeSkill(ctx, s.skill, into, nil)
}

// List gives the skills directly below a folder, sorted by id; imported ones
// with their content hash. A folder that does not exist holds none.
func List(ctx context.Context, into string) ([]Installed, error) { return listInstalled(ctx, into) }

// IsScript says whether a file is one that some program runs, by its name, its
// execute bit and its first bytes.
func IsScript(f FileInfo, start []byte) bool { return isScript(f, start) }
