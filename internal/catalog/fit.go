package catalog

import (
	"encoding/base64"

	"skill-mcp/internal/jsontext"
)

// maxEscaped is how long the contents of one answer may be once written: the
// 8 MiB of a message, less room for names, notes and the frame around them.
const maxEscaped = 8<<20 - 256<<10

// mostGrowth is by what a text grows at most: a control character becomes
// \\u0001 in a JSON string that is itself in a JSON string.
const mostGrowth = 7

// fit makes the contents of a batch short enough for one message. Text full of
// control characters grows sevenfold on its way; base64 never more than 4/3.
// The longest texts are turned into base64 until it fits, which it always does
// for MaxBatch bytes.
func fit(batch []Content) {
	lengths := make([]int, len(batch))
	total := 0
	for i, c := range batch {
		lengths[i] = mostGrowth * len(c.Data)
		total += lengths[i]
	}
	if total <= maxEscaped {
		return
	}
	total = 0
	for i, c := range batch {
		if lengths[i] = base64.StdEncoding.EncodedLen(len(c.Data)); c.Encoding == EncodingText {
			_, lengths[i] = jsontext.Lengths(c.Data)
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
		c.Encoding = EncodingBase64
		total -= lengths[longest]
		lengths[longest] = base64.StdEncoding.EncodedLen(len(c.Data))
		total += lengths[longest]
	}
}
