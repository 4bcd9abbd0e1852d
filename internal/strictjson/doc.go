// Package strictjson reads JSON that somebody else wrote, or that this product
// wrote and somebody may have edited, without the ways in which encoding/json
// is generous: keys match exactly, no key stands twice, null is not a string or
// a list, text is UTF-8 without lone surrogates, there is no byte order mark,
// and nothing follows the value.
//
// It gives a tree whose members keep their order and their place, so that a
// caller can name the field that is wrong. It cannot write JSON and knows
// nothing of what a document means.
package strictjson
