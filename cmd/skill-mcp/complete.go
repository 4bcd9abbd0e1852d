package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skill-mcp/internal/catalog"
)

// completeWait bounds what a shell waits for while a person holds the tab key;
// a scan of 32 skills takes a few milliseconds.
const completeWait = 2 * time.Second

// completer is what cobra asks for the words of one command.
type completer = func(c *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// completeWords gives every command that takes a name, a folder or a file of a
// kind its words: what is served, what was imported, what the store keeps, and
// nothing else.
func completeWords(root *cobra.Command) {
	for path, words := range map[string]completer{
		"show": servedSkills, "run": servedScripts, "policy explain": servedSkills,
		"uninstall": importedSkill, "verify": importedSkills, "export": importedOrFolder,
		"check": folders, "deps check": folders, "policy check": filesEnding("yaml", "yml"),
		"connector check": filesEnding("json"), "connector import": filesEnding("json"),
		"import preview": filesEnding("zip", "skill"), "specialist preview": filesEnding("zip"),
		"list": nothing, "config": nothing, "version": nothing, "doctor": nothing, "ui": nothing, "serve": nothing,
		"import apply": nothing, "deps list": nothing, "connector list": nothing, "specialist list": nothing,
	} {
		c, _, err := root.Find(strings.Fields(path))
		if err == nil && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = words
		}
	}
	completeStored(root)
	completeFlags(root)
}

// completeFlags gives flags that take a folder folders. Where a flag is not
// there, nothing is to be done.
func completeFlags(c *cobra.Command) {
	for _, name := range []string{"into", "store", "skills"} {
		if c.Flags().Lookup(name) != nil {
			_ = c.MarkFlagDirname(name) // fails only without the flag
		}
	}
	for _, sub := range c.Commands() {
		completeFlags(sub)
	}
}

// nothing is for commands without arguments, after which shells offer files.
func nothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// filesEnding offers files of some endings, and folders on the way to them.
func filesEnding(endings ...string) completer {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return endings, cobra.ShellCompDirectiveFilterFileExt
	}
}

// servedNow scans what this environment serves; nil when it cannot be read: a
// completion says nothing of errors.
func servedNow() *catalog.Catalog {
	ctx, cancel := context.WithTimeout(context.Background(), completeWait)
	defer cancel()
	_, found, err := configuredCatalog(ctx)
	if err != nil {
		return nil
	}
	return found
}

// servedSkills offers the names of skills with their descriptions.
func servedSkills(_ *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	found := servedNow()
	if len(args) > 0 || found == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return skillWords(found, begin, func(*catalog.Skill) bool { return true }), cobra.ShellCompDirectiveNoFileComp
}

// servedScripts offers skills that declare a script, then their scripts, then
// files, which most arguments of scripts are.
func servedScripts(_ *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	found := servedNow()
	if found == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if len(args) == 0 {
		return skillWords(found, begin, func(s *catalog.Skill) bool { return len(s.Declaration.Scripts) > 0 }), cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	if s := found.Skill(args[0]); s != nil {
		for _, d := range s.Declaration.Scripts {
			if strings.HasPrefix(d.Path, begin) {
				out = append(out, word(d.Path, d.Interpreter)...)
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// skillWords gives the names of the skills that fit and begin as typed.
func skillWords(found *catalog.Catalog, begin string, fits func(*catalog.Skill) bool) []string {
	var out []string
	for _, s := range found.Skills {
		if fits(s) && strings.HasPrefix(s.Name, begin) {
			out = append(out, word(s.Name, deref(s.Description))...)
		}
	}
	return out
}

// word is a completion with its description, or none where the text would not
// pass through a shell's protocol of lines and tabs as it is.
func word(text, description string) []string {
	if text != printable(text) || strings.ContainsAny(text, "\n\t") {
		return nil
	}
	if description == "" {
		return []string{text}
	}
	if r := []rune(printable(description)); len(r) > 80 {
		description = string(r[:79]) + "…"
	}
	return []string{text + "\t" + printable(description)}
}

// importedSkill offers one of the folders that imports go to.
func importedSkill(c *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return importedSkills(c, args, toComplete)
}

// importedOrFolder is importedSkill, or a folder by its path.
func importedOrFolder(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	names, how := importedSkill(c, args, begin)
	if len(args) == 0 && len(names) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return names, how
}

// importedSkills offers the names of the folders that imports go to. It looks
// at names only: opening the store could change it.
func importedSkills(c *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
	f := packageFlags{}
	f.store, _ = c.Flags().GetString("store") // "" without the flag
	f.into, _ = c.Flags().GetString("into")
	_, into, err := f.places()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	entries, err := os.ReadDir(into)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), begin) && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, word(e.Name(), "")...)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
