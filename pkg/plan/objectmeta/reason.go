package objectmeta

import "strings"

// IsReasonText says whether s is made of what the reason of a condition may have: a letter, then letters, digits
// and _,: in any order. The API allows neither of the last two at the end; callers bound the length.
func IsReasonText(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || strings.IndexByte("_,:", c) >= 0):
		default:
			return false
		}
	}
	return s != ""
}
