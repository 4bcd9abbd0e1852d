package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func skillName(i int) string { return fmt.Sprintf("s%04d", i) }

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
		dir := filepath.Join(root, skillName(i))
		if err := os.MkdirAll(filepath.Join(dir, "references"), 0o755); err != nil {
			return "", err
		}
		text := fmt.Sprintf("---\nname: %s\ndescription: One of many.\n---\n\nBody\n", skillName(i))
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
