package strictjson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Decode reads data into the struct that into points to. Beyond Parse it
// refuses a key that is not exactly one of the struct's json names and null
// anywhere. It is for documents of the product's own making; what others wrote
// is better walked, so that each fault gets its own message.
func Decode(data []byte, into any) error {
	v, err := Parse(data)
	if err != nil {
		return err
	}
	if err := check(v, reflect.TypeOf(into), ""); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

func check(v *Value, t reflect.Type, path string) error {
	if v.Kind == Null {
		return fmt.Errorf("line %d: field %q is null", v.Line, path)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case v.Kind == Object && t.Kind() == reflect.Struct:
		return checkStruct(v, t, path)
	case v.Kind == Object && t.Kind() == reflect.Map, v.Kind == Array && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		for i := range v.Members {
			if err := check(&v.Members[i].Value, t.Elem(), path+"."+v.Members[i].Key); err != nil {
				return err
			}
		}
		for i := range v.Items {
			if err := check(&v.Items[i], t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkStruct(v *Value, t reflect.Type, path string) error {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if f.IsExported() && name != "-" && (!f.Anonymous || f.Tag.Get("json") != "") {
			fields[name] = f.Type
		}
	}
	for i := range v.Members {
		m := &v.Members[i]
		field, ok := fields[m.Key]
		if !ok {
			return fmt.Errorf("line %d: unknown field %q", m.Value.Line, path+"."+m.Key)
		}
		if err := check(&m.Value, field, path+"."+m.Key); err != nil {
			return err
		}
	}
	return nil
}
