package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"skill-mcp/internal/connector"
	"skill-mcp/internal/specialist"
	"skill-mcp/internal/store"
)

// completeStored gives the commands for what a store keeps the names in it.
func completeStored(root *cobra.Command) {
	for path, words := range map[string]completer{
		"connector export": storedConnector, "connector export-mcp": storedConnector,
		"specialist export": storedSpecialist, "specialist delete": storedSpecialist, "specialist install": nothing,
	} {
		if c, _, err := root.Find(strings.Fields(path)); err == nil {
			c.ValidArgsFunction = words
		}
	}
	for path, flag := range map[string]string{"specialist export": "include", "specialist delete": "with"} {
		if c, _, err := root.Find(strings.Fields(path)); err == nil {
			_ = c.RegisterFlagCompletionFunc(flag, skillsOfSpecialist) // fails only without the flag
		}
	}
}

// inStore looks into the store of a command. A store that is not there is not
// made, and what cannot be read has no words: a completion says nothing of errors.
func inStore(c *cobra.Command, look func(*store.Store) []string) []string {
	f := packageFlags{}
	f.store, _ = c.Flags().GetString("store")
	dir, _, err := f.places()
	if err != nil {
		return nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil
	}
	s, err := store.Open(dir)
	if err != nil {
		return nil
	}
	defer s.Close()
	return look(s)
}

func storedConnector(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	return named(args, begin, inStore(c, func(s *store.Store) []string {
		names, _ := connector.Shelf{Store: s}.List()
		return names
	}))
}

func storedSpecialist(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	return named(args, begin, inStore(c, func(s *store.Store) []string {
		names, _ := (&specialist.Shelf{Store: s}).List()
		return names
	}))
}

// skillsOfSpecialist offers the skills of the specialist that is named already.
func skillsOfSpecialist(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return named(nil, begin, inStore(c, func(s *store.Store) []string {
		r, err := (&specialist.Shelf{Store: s}).Get(args[0])
		if err != nil {
			return nil
		}
		return r.SkillIDs
	}))
}

// named offers the names that begin as typed, as the one argument of a command.
func named(args []string, begin string, names []string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, n := range names {
		if len(args) == 0 && strings.HasPrefix(n, begin) {
			out = append(out, word(n, "")...)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
