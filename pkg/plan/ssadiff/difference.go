package ssadiff

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// Difference is one field of a live object that is not as desired.
type Difference struct {
	// Path is as in `spec.containers[name=web].ports[0]`.
	Path string
	// Want is the type and size of the desired value, and Have those of the live one;
	// `nothing` where there is none. Of values of Secrets not even these are told.
	Want, Have string
	// valuesHash stands for both values in full.
	valuesHash uint64
	// lost: the manager owned the field and does not any more, because somebody else has
	// changed or removed it. It is false for what the API server or admission made of the
	// manager's own write, unless they took the field away at once.
	lost bool
}

// String is as in `spec.replicas is another number`, or `spec.replicas is nothing, want a
// number`. It never has the values themselves.
func (d Difference) String() string {
	if d.isFieldSet() {
		return "the desired object has other fields than the one applied last"
	}
	if kind, ok := strings.CutPrefix(d.Have, "a "); ok && d.Have == d.Want {
		return d.Path + " is another " + kind
	}
	return d.Path + " is " + d.Have + ", want " + d.Want
}

// DigestOf returns a short text that stands for all differences, values included; it is empty
// for none.
func DigestOf(differences []Difference) string {
	if len(differences) == 0 {
		return ""
	}
	h := fnv.New64a()
	for _, d := range differences {
		h.Write([]byte(d.Path))
		h.Write(strconv.AppendUint([]byte{0}, d.valuesHash, 16))
		h.Write([]byte{0})
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// DriftOf returns the differences that somebody other than the API server and admission has
// made: fields that the manager has lost, and a desired object that has other fields than
// before. differences is not changed.
func DriftOf(differences []Difference) []Difference {
	return slices.DeleteFunc(slices.Clone(differences), func(d Difference) bool { return !d.isFieldSet() && !d.lost })
}

// HasOtherFields reports whether the desired object has other fields than the one that was
// written last.
func HasOtherFields(differences []Difference) bool {
	return slices.ContainsFunc(differences, Difference.isFieldSet)
}

// PathsOf returns the paths of differences. That of the field set is left out beside others.
func PathsOf(differences []Difference) []string {
	paths := make([]string, 0, len(differences))
	for _, d := range differences {
		if len(differences) == 1 || !d.isFieldSet() {
			paths = append(paths, d.Path)
		}
	}
	return paths
}

// maxReasons is how many differences a reason lists.
const maxReasons = 3

// ReasonText lists differences for people. That of the field set is left out beside others.
func ReasonText(differences []Difference) string {
	if len(differences) > 1 {
		differences = slices.DeleteFunc(slices.Clone(differences), Difference.isFieldSet)
	}
	texts := make([]string, 0, maxReasons+1)
	for i, d := range differences {
		if i == maxReasons {
			texts = append(texts, fmt.Sprintf("and %d more", len(differences)-maxReasons))
			break
		}
		texts = append(texts, d.String())
	}
	return strings.Join(texts, "; ")
}
