package catalog

import (
	"encoding/base64"
	"strings"
)

// maxEscaped is how long the contents of one answer may be once written: the
// 8 MiB of a message, less room for names, notes and the frame around them.
const maxEscaped = 8<<20 - 256<<10

// fit makes the contents of a batch short enough for one message. Text full of
// control characters grows sevenfold on its way; base64 never more than 4/3.
// The longest texts are turned into base64 until it fits, which it always does
// for MaxBatch bytes.
func fit(batch []Content) {
	lengths := make([]int, len(batch))
	total := 0
	for i := range batch {
		lengths[i] = len(batch[i].Content)
		if batch[i].Encoding == EncodingText {
			lengths[i] = escaped(batch[i].Content)
		}
		total += lengths[i]
	}
	for total > maxEscaped {
		longest := -1
		for i := range batch {
			if batch[i].Encoding == EncodingText && (longest < 0 || lengths[i] > lengths[longest]) {
				longest = i
			}
		}
		if longest < 0 {
			return
		}
		c := &batch[longest]
		c.Encoding, c.Content = EncodingBase64, base64.StdEncoding.EncodeToString([]byte(c.Content))
		total += len(c.Content) - lengths[longest]
		lengths[longest] = len(c.Content)
	}
}

// escaped gives the length of a text in a tool's result: a JSON string inside
// JSON that is itself sent as a JSON string. encoding/json writes the inner one
// without HTML escapes, and escapes the two separators that JavaScript once
// took for line ends.
func escaped(s string) int {
	n := len(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			n += 3 // \\\" and \\\\
		case c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
			n += 2 // \\n
		case c < 0x20:
			n += 6 // \\u0001
		case c == 0xe2 && (strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029")):
			n += 4 // \\u2028
		}
	}
	return n
}
