package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxArgs is how many arguments a script may be given (the published schema
// says the same).
const maxArgs = 64

// inputError is a violation of a tool's schema.
type inputError struct{ argument, problem string }

// Error names the argument and what it must be.
func (e *inputError) Error() string { return e.argument + ": " + e.problem }

// invalid is the result for arguments that do not fit the schema: an answer a
// model can act on, not a protocol error.
func invalid(tool string, err error) *mcp.CallToolResult {
	return failure(fmt.Sprintf("Input validation error: Invalid arguments for tool %s: %v", tool, err), "")
}

// arguments are the members of a call's arguments object, by exact name.
type arguments map[string]json.RawMessage

// readArguments takes the arguments object apart. Known names must be written
// exactly and once: another parser could otherwise see another call. Unknown
// names are ignored; absent arguments are an empty object.
func readArguments(r mcp.CallToolRequest, known ...string) (arguments, error) {
	raw, err := rawArguments(r)
	if err != nil || len(raw) == 0 || string(raw) == "null" {
		return arguments{}, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, &inputError{"arguments", "must be an object"}
	}
	out := arguments{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, &inputError{"arguments", err.Error()}
		}
		name := t.(string)
		if _, twice := out[name]; twice {
			return nil, &inputError{quoted(name), "is given more than once"}
		}
		for _, k := range known {
			if name != k && strings.EqualFold(name, k) {
				return nil, &inputError{quoted(name), fmt.Sprintf("is not an argument; write %q", k)}
			}
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, &inputError{quoted(name), err.Error()}
		}
		out[name] = value
	}
	return out, nil
}

// rawArguments gives the arguments as they were written.
func rawArguments(r mcp.CallToolRequest) (json.RawMessage, error) {
	switch v := r.GetRawArguments().(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return bytes.TrimSpace(v), nil
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return nil, &inputError{"arguments", err.Error()}
		}
		return text, nil
	}
}

// text gives a string argument. Required ones must not be empty.
func (a arguments) text(name string, required bool) (string, error) {
	raw, ok := a[name]
	if !ok {
		if required {
			return "", &inputError{name, "is required (a non-empty string)"}
		}
		return "", nil
	}
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", &inputError{name, "must be a string, not " + kind(raw)}
	}
	if required && s == "" {
		return "", &inputError{name, "must not be empty"}
	}
	return s, nil
}

// texts gives an argument that is a list of strings, nil when it is absent.
// What holds for the items is said by least (bytes an item needs).
func (a arguments) texts(name string, required bool, most, least int) ([]string, error) {
	raw, ok := a[name]
	if !ok {
		if required {
			return nil, &inputError{name, fmt.Sprintf("is required (a list of 1 to %d strings)", most)}
		}
		return nil, nil
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return nil, &inputError{name, "must be a list of strings, not " + kind(raw)}
	}
	if required && len(items) == 0 {
		return nil, &inputError{name, fmt.Sprintf("must have 1 to %d items, not none", most)}
	}
	if len(items) > most {
		return nil, &inputError{name, fmt.Sprintf("must have at most %d items, not %d", most, len(items))}
	}
	out := make([]string, len(items))
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", name, i)
		if item[0] != '"' || json.Unmarshal(item, &out[i]) != nil {
			return nil, &inputError{at, "must be a string, not " + kind(item)}
		}
		if len(out[i]) < least {
			return nil, &inputError{at, "must not be empty"}
		}
	}
	return out, nil
}

// kind names the type of a JSON value.
func kind(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// runInput is what skill_run is asked.
type runInput struct {
	name, script string
	args         []string
	token        string
}

// maxArgBytes is what the arguments of a script may take together (the
// contract, section 5.1); larger input belongs in a file.
const maxArgBytes = 8192

// readRun reads the arguments of skill_run.
func readRun(r mcp.CallToolRequest) (in runInput, err error) {
	a, err := readArguments(r, "name", "script", "args", "confirmToken")
	if err != nil {
		return in, err
	}
	if in.name, err = a.text("name", true); err != nil {
		return in, err
	}
	if in.script, err = a.text("script", true); err != nil {
		return in, err
	}
	if in.args, err = a.texts("args", false, maxArgs, 0); err != nil {
		return in, err
	}
	if in.args == nil {
		in.args = []string{}
	}
	in.token, err = a.text("confirmToken", false)
	return in, err
}

// checkArgs refuses arguments that no process can be given.
func checkArgs(args []string) error {
	total := 0
	for i, a := range args {
		if strings.ContainsRune(a, 0) {
			return refuse("remove the NUL byte: no program can receive one in an argument", "argument %d holds a NUL byte", i+1)
		}
		if !utf8.ValidString(a) {
			return refuse("send text", "argument %d is not UTF-8", i+1)
		}
		total += len(a)
	}
	if total > maxArgBytes {
		return refuse("write the input to a file and pass its path",
			"the arguments have %d bytes in all, more than the %d allowed", total, maxArgBytes)
	}
	return nil
}
