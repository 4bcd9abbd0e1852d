package specialist

import (
	"slices"

	"skill-mcp/internal/strictjson"
)

// The two ways to resolve a conflict.
const (
	UseInstalled = "use-installed"
	UseIncoming  = "use-incoming"
)

// Request asks for the install of a candidate.
type Request struct {
	Token            string
	ConfirmOverwrite bool
	Resolutions      []Resolution
}

// Resolution decides one conflict.
type Resolution struct {
	SkillID    string // name of the bundled skill, or local id of the installed one
	Resolution string // UseInstalled or UseIncoming
}

// maxRequest bounds a request, in bytes: 2,000 resolutions.
const maxRequest = 1 << 20

func invalid(format string, args ...any) error {
	return refuse(CodeCandidateInvalid, "", format, args...)
}

// ParseRequest reads an install request: exactly candidateToken, and if wanted
// confirmOverwrite, which can only be true, and skillConflictResolutions. The
// error has the code candidate-invalid.
func ParseRequest(text []byte) (Request, error) {
	var r Request
	if len(text) > maxRequest {
		return r, invalid("the request is longer than %d bytes", maxRequest)
	}
	v, err := strictjson.Parse(text)
	if err != nil || v.Kind != strictjson.Object {
		return r, invalid("the request is not a JSON object")
	}
	for _, m := range v.Members {
		switch m.Key {
		case "candidateToken":
			if m.Value.Kind != strictjson.String || m.Value.Text == "" {
				return r, invalid("candidateToken is not a token")
			}
			r.Token = m.Value.Text
		case "confirmOverwrite":
			if m.Value.Kind != strictjson.Bool || !m.Value.Bool {
				return r, invalid("confirmOverwrite can only be true")
			}
			r.ConfirmOverwrite = true
		case "skillConflictResolutions":
			if r.Resolutions, err = resolutionsOf(&m.Value); err != nil {
				return r, err
			}
		default:
			return r, invalid("a request has no field %s", shown(m.Key))
		}
	}
	return r, r.check()
}

func resolutionsOf(v *strictjson.Value) ([]Resolution, error) {
	if v.Kind != strictjson.Array {
		return nil, invalid("skillConflictResolutions is not an array")
	}
	out := []Resolution{}
	for i := range v.Items {
		item := &v.Items[i]
		id, how := item.Get("skillId"), item.Get("resolution")
		if len(item.Members) != 2 || id == nil || how == nil || id.Kind != strictjson.String || how.Kind != strictjson.String {
			return nil, invalid("skillConflictResolutions[%d] is not {skillId, resolution}", i)
		}
		out = append(out, Resolution{id.Text, how.Text})
	}
	return out, nil
}

// check looks at the shape alone.
func (r *Request) check() error {
	if r.Token == "" {
		return invalid("the request has no candidateToken")
	}
	for i, one := range r.Resolutions {
		if one.SkillID == "" || one.Resolution != UseInstalled && one.Resolution != UseIncoming {
			return invalid("skillConflictResolutions[%d]: a skill, and %s or %s", i, UseInstalled, UseIncoming)
		}
	}
	return nil
}

// resolve holds the resolutions against the conflicts of the preview. It gives
// them by the name of the bundled skill.
func (r *Request) resolve(c *candidate) (map[string]string, error) {
	chosen := map[string]string{}
	for _, one := range r.Resolutions {
		i := slices.Index(c.Conflicts, one.SkillID)
		if i < 0 {
			i = slices.Index(c.LocalIDs, one.SkillID)
		}
		if i < 0 {
			return nil, invalid("the skill %s is not in conflict", shown(one.SkillID))
		}
		if _, twice := chosen[c.Conflicts[i]]; twice {
			return nil, invalid("the skill %s is resolved twice", shown(one.SkillID))
		}
		chosen[c.Conflicts[i]] = one.Resolution
	}
	open := []string{}
	for _, name := range c.Conflicts {
		if chosen[name] == "" {
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		return nil, refuse(CodeResolutionRequired, "choose use-installed or use-incoming for each", "other skills are installed under these names: %s", listed(open))
	}
	return chosen, nil
}
