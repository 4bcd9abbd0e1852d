package deps

import "strings"

// Problem is one mistake of a skill's metadata, or one conflict of a union.
type Problem struct {
	Code   string `json:"code"`           // one of the Code constants
	Path   string `json:"path,omitempty"` // e.g. dependencies.tools[2].url
	Detail string `json:"detail"`         // what is wrong and what would be right; never a value that looks like a secret
}

// String gives path, detail and code in one line.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Detail + " (" + p.Code + ")"
	}
	return p.Path + ": " + p.Detail + " (" + p.Code + ")"
}

// Problems is a list of problems as one error.
type Problems []Problem

// Error gives one line per problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// The codes (specification of dependencies, 3.5).
const (
	CodeUnreadable    = "dependency.metadata-unreadable"
	CodeTooLarge      = "dependency.metadata-too-large"
	CodeEscapes       = "dependency.metadata-escapes"
	CodeAmbiguous     = "dependency.metadata-ambiguous"
	CodeYAML          = "dependency.metadata-yaml"
	CodeShape         = "dependency.metadata-shape"
	CodeTooMany       = "dependency.too-many"
	CodeType          = "dependency.type"
	CodeName          = "dependency.name"
	CodeTransport     = "dependency.transport"
	CodeUnknownField  = "dependency.unknown-field"
	CodeOtherField    = "dependency.field-for-other-transport"
	CodeRequired      = "dependency.required"
	CodeURL           = "dependency.url"
	CodeURLCreds      = "dependency.url-credentials"
	CodeURLSecret     = "dependency.url-secret"
	CodePlaceholder   = "dependency.placeholder"
	CodeEnvName       = "dependency.env-name"
	CodeProtocol      = "dependency.protocol"
	CodeFilter        = "dependency.filter"
	CodeRuntime       = "dependency.runtime"
	CodeDescription   = "dependency.description"
	CodeCommand       = "dependency.command"
	CodeConflict      = "union.conflict"
	CodeTooManySkills = "union.too-many-skills"
	CodeTooManyServer = "union.too-many-servers"
	CodeSecretInText  = "config.secret-in-text"
	CodeConfigSize    = "config.too-large"
)
