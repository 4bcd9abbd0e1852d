package strictjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseRefuses(t *testing.T) {
	for name, doc := range map[string]string{
		"nothing":                       "",
		"only blanks":                   " \n",
		"a byte order mark":             "\ufeff{}",
		"a duplicate key":               `{"a":1,"b":2,"a":3}`,
		"a duplicate key by escape":     `{"a":1,"\u0061":3}`,
		"trailing data":                 `{} {}`,
		"a trailing comma":              `{"a":1,}`,
		"a trailing comma in a list":    `[1,]`,
		"a missing comma":               `[1 2]`,
		"single quotes":                 `{'a':1}`,
		"a bare key":                    `{a:1}`,
		"a comment":                     "{} // x",
		"bad UTF-8":                     "\"\xff\"",
		"bad UTF-8 in a key":            "{\"\xc3\":1}",
		"a lone high surrogate":         `"\ud83d"`,
		"a lone low surrogate":          `"\ude00"`,
		"two high surrogates":           `"\ud83d\ud83d"`,
		"a surrogate and a letter":      `"\ud83d\u0041"`,
		"a raw newline in a string":     "\"a\nb\"",
		"a NUL in a string":             "\"a\x00b\"",
		"an unknown escape":             `"\x41"`,
		"short hex":                     `"\u12"`,
		"hex that is none":              "\"\\u00\x10\x110\"",
		"a leading zero":                `01`,
		"a plus":                        `+1`,
		"a bare point":                  `1.`,
		"a point first":                 `.5`,
		"an empty exponent":             `1e`,
		"a minus alone":                 `-`,
		"NaN":                           `NaN`,
		"an unclosed object":            `{"a":1`,
		"an unclosed list":              `[1`,
		"an unclosed string":            `"a`,
		"a string that ends in a slash": `"a\`,
		"True":                          `True`,
		"depth 33":                      strings.Repeat("[", 33) + strings.Repeat("]", 33),
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := Parse([]byte(doc)); err == nil {
				t.Fatalf("accepted as %+v", v)
			}
		})
	}
}

func TestParseKeepsOrderPlaceAndLiteral(t *testing.T) {
	v, err := Parse([]byte("{\n  \"b\": 1.0,\n \"A\": [\"\\ud83d\\ude00é\", true, null, {}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if v.Members[0].Key != "b" || v.Get("b").Text != "1.0" || v.Get("a") != nil {
		t.Errorf("members: %+v", v.Members)
	}
	list := v.Get("A")
	if list.Line != 3 || list.Column != 7 || list.Items[0].Text != "😀é" || !list.Items[1].Bool || list.Items[2].Kind != Null || list.Items[3].Kind != Object {
		t.Errorf("list: %+v", list)
	}
	if _, err := Parse([]byte(strings.Repeat("[", 32) + strings.Repeat("]", 32))); err != nil {
		t.Errorf("depth 32: %v", err)
	}
	if _, err := Parse([]byte("{\n\"a\": x}")); err == nil || err.Error() != "line 2, column 6: no value begins here" {
		t.Errorf("place: %v", err)
	}
}

func TestDecodeWantsExactFields(t *testing.T) {
	type inner struct {
		When time.Time `json:"when"`
	}
	type outer struct {
		ID    string           `json:"id"`
		Count int              `json:"count,omitempty"`
		List  []inner          `json:"list"`
		By    map[string]inner `json:"by"`
		Next  *inner           `json:"next"`
	}
	var got outer
	good := `{"id":"x","list":[{"when":"2026-01-01T00:00:00Z"}],"by":{"K":{}},"next":{}}`
	if err := Decode([]byte(good), &got); err != nil || got.ID != "x" || got.List[0].When.IsZero() {
		t.Fatalf("good: %v %+v", err, got)
	}
	for _, bad := range []string{
		`{"ID":"x"}`, `{"id":null}`, `{"extra":1}`, `{"list":[{"When":""}]}`, `{"by":{"k":{"x":1}}}`, `{"next":null}`,
		`{"next":{"y":1}}`, `{"id":1}`, `{"list":[null]}`, `[]`, `{"id":"x"}}`,
	} {
		if err := Decode([]byte(bad), &outer{}); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// FuzzParse: what is accepted is JSON to the standard library too, and means
// the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `[1,-2.5e+3,"\u00e9\n"]`, `{"a":{"b":[true,false,null]}}`, `"\ud83d\ude00"`, " 0 ", `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data)
		if err != nil {
			return
		}
		var want any
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatalf("accepted, but the standard library says %v", err)
		}
		if got := plain(v); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %#v, the standard library %#v", got, want)
		}
	})
}

func plain(v *Value) any {
	switch v.Kind {
	case Bool:
		return v.Bool
	case Number:
		return json.Number(v.Text)
	case String:
		return v.Text
	case Array:
		out := []any{}
		for i := range v.Items {
			out = append(out, plain(&v.Items[i]))
		}
		return out
	case Object:
		out := map[string]any{}
		for i := range v.Members {
			out[v.Members[i].Key] = plain(&v.Members[i].Value)
		}
		return out
	}
	return nil
}
