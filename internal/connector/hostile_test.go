package connector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// secrets are planted into mutations; none may ever be printed.
var secrets = []string{
	"ghp_" + "aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3", "AKIA" + "ABCDEFGHIJKLMNOP", "sk-" + "abcdefghijklmnopqrstuvwx",
	"eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
}

// mutate makes a hostile document of a good template or of a good mcpServers
// document; what it does follows from n.
func mutate(n int, good [][]byte) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 11))
	data := bytes.Clone(good[r.IntN(len(good))])
	secret := secrets[r.IntN(len(secrets))]
	words := bytes.Split(data, []byte(`"`)) // every second one is a string of the document
	at := 1 + 2*r.IntN(len(words)/2)
	switch n % 8 {
	case 0:
		for range 1 + r.IntN(6) {
			data[r.IntN(len(data))] ^= byte(1 << r.IntN(8))
		}
		return data
	case 1:
		return data[:r.IntN(len(data))]
	case 2: // a key twice
		return append([]byte(`{"name":"`+secret+`",`), data[1:]...)
	case 3: // another case
		words[at] = bytes.ToUpper(words[at])
	case 4: // deep nesting
		return append(bytes.Repeat([]byte(`{"oauth":[`), 1+r.IntN(9000)), data...)
	case 5: // a secret in place of any string
		words[at] = []byte(secret)
	case 6: // a secret beside any string
		words[at] = append([]byte(secret+" "), words[at]...)
	case 7: // characters that a terminal acts on
		words[at] = append(words[at], []byte(`\u001b[2J\u202e`)...)
	}
	return bytes.Join(words, []byte(`"`))
}

// goodDocuments are the seeds: each kind of transport and of document.
func goodDocuments(t testing.TB) [][]byte {
	out := [][]byte{
		[]byte(`{"mcpServers":{"docs":{"command":"npx","args":["-y","x"],"env":{"API_TOKEN":"value"}},"web":{"type":"http","url":"https://h.example/mcp","headers":{"X-Key":"value"}}}}`),
	}
	for _, text := range []string{
		`{"schema_version":1,"kind":"open-science.connector","name":"docs","display_name":"Docs","description":"Reads docs.","transport":"stdio","command":"npx","args":["-y","@example/mcp"],"required_secrets":{"environment":["API_TOKEN"]}}`,
		`{"schema_version":1,"kind":"open-science.connector","name":"web","display_name":"Web","transport":"streamable_http","url":"https://h.example/mcp","required_secrets":{"headers":["X-API-Key"]}}`,
		`{"schema_version":1,"kind":"open-science.connector","name":"sign-in","display_name":"Sign in","transport":"sse","url":"https://h.example/mcp","oauth":{"scopes":["read"],"client_id":"app","authorization_server_url":"https://a.example","redirect_uri":"http://127.0.0.1/x"}}`,
	} {
		if _, r := Parse([]byte(text), Names{}); !r.Ready() {
			t.Fatal(r.Diagnostics)
		}
		out = append(out, []byte(text))
	}
	return out
}

// Nothing of a document makes reading it fail in another way than by its report,
// and a report holds no credential.
func TestHostileTemplates(t *testing.T) {
	good := goodDocuments(t)
	ready := 0
	for n := range 400 {
		text := mutate(n, good)
		tpl, report := Parse(text, Names{})
		templates, reports, whole := ImportServers(text, Names{})
		templates, reports = append(templates, tpl), append(reports, report)
		all := ""
		if whole != nil {
			all = fmt.Sprint(whole.Diagnostics)
		}
		for i, one := range templates {
			said, _ := json.Marshal(reports[i])
			all += one.Name + string(said)
			for _, d := range reports[i].Diagnostics {
				all += d.String()
			}
			if !reports[i].Ready() {
				continue
			}
			ready++
			for _, export := range []func(Template) (Exported, error){Export, ExportClient} {
				e, err := export(one)
				all += string(e.Text) + fmt.Sprint(e.Mapping, e.Diagnostics, err)
			}
			if e, err := Export(one); err == nil {
				again, r := Parse(e.Text, Names{})
				if twice, err := Export(again); !r.Ready() || err != nil || !bytes.Equal(e.Text, twice.Text) {
					t.Errorf("mutation %d: the round trip differs: %v %v", n, r.Diagnostics, err)
				}
			}
		}
		for _, secret := range secrets {
			if strings.Contains(all, secret) {
				t.Errorf("mutation %d: a secret was printed\n%s\n%s", n, text, all)
			}
		}
	}
	if ready == 0 || ready > 200 {
		t.Errorf("%d are ready: the mutations do not test much", ready)
	}
}
