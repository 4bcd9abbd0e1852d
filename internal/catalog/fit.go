package catalog

import "encoding/base64"

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
// JSON that is itself sent as a JSON string.
func escaped(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			n += 4 // \\\" and \\\\
		case r == '\n' || r == '\r' || r == '\t':
			n += 3 // \\n
		case r < 0x20 || r == 0x7F || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
			n += 7 // \\u0001
		case r < 0x80:
			n++
		case r < 0x800:
			n += 2
		case r < 0x10000:
			n += 3
		default:
			n += 4
		}
	}
	return n
}
