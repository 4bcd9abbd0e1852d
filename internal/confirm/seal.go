package confirm

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
)

// The prefixes name the format and take part in the MAC, so that a token can
// never pass as a state.
const (
	tokenPrefix = "mcpu.token.v1."
	statePrefix = "mcpu.confirm.v1."
)

// maxSealed bounds what is parsed: an honest token is under 400 bytes.
const maxSealed = 4096

// claims are what a token or a state says. Times are epoch milliseconds.
type claims struct {
	Tool   string `json:"t"`
	Target string `json:"g"`
	Hash   string `json:"h"`
	Expiry int64  `json:"exp"`
	Nonce  string `json:"n"`
	// Unanswered marks a token that was given because nobody answered a prompt:
	// it alone is accepted from a client that can be prompted.
	Unanswered bool `json:"u,omitempty"`
}

// errNotOurs is every way in which a sealed text is not one of this server's:
// telling them apart would help nobody but a forger.
var errNotOurs = errors.New("not issued by this server")

// b64 refuses padding and non-zero trailing bits, so that a text has one form.
var b64 = base64.RawURLEncoding.Strict()

// seal returns prefix, body and MAC of c.
func seal(key []byte, prefix string, c claims) (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	head := prefix + b64.EncodeToString(text)
	return head + "." + b64.EncodeToString(mac(key, head)), nil
}

// open checks a sealed text and gives its claims.
func open(key []byte, prefix, rawText string) (claims, error) {
	body, ok := strings.CutPrefix(rawText, prefix)
	if !ok || len(rawText) > maxSealed {
		return claims{}, errNotOurs
	}
	body, rawMAC, ok := strings.Cut(body, ".")
	if !ok || body == "" {
		return claims{}, errNotOurs
	}
	// The text is compared, not the bytes: a base64 decoder skips line breaks.
	if !hmac.Equal([]byte(rawMAC), []byte(b64.EncodeToString(mac(key, prefix+body)))) {
		return claims{}, errNotOurs
	}
	text, err := b64.DecodeString(body)
	if err != nil {
		return claims{}, errNotOurs
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var c claims
	if err := d.Decode(&c); err != nil || c.Nonce == "" || c.Expiry <= 0 {
		return claims{}, errNotOurs
	}
	return c, nil
}

// mac is HMAC-SHA256 over the text before the last dot.
func mac(key []byte, head string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(head))
	return h.Sum(nil)
}
