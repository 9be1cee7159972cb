package recipe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ambit-dev/ambit/pkg/internal/secretview"
)

// Recipe says what one value of a Secret, or some that belong together, are made of. It is one of Random,
// UUID, KeyPair, Htpasswd, CA and Certificate. Its String is its text form, as in `random 32`.
type Recipe interface {
	fmt.Stringer
	// PrivateKeys and PublicKeys are the keys in the Secret's data that it makes; the first private one
	// is what its record is kept under.
	PrivateKeys() []string
	PublicKeys() []string
	// FindProblems says what is wrong with the recipe itself, each as a sentence; nil for nothing.
	FindProblems() []string
	checkValues(in Input) Verdict
	makeValues(w *workbench) error
}

// Input is what is known when values are checked.
type Input struct {
	Secret secretview.View
	// Issuers are the Secrets of CAs, by the names that certificates have for them.
	Issuers map[string]secretview.View
	// Now is in whole seconds.
	Now time.Time
}

// Code is why a value has to be made, for machines.
type Code string

// The codes.
const (
	Missing       Code = "Missing"
	WrongForm     Code = "WrongForm"     // it has another length or form, or cannot be read
	KeyMismatch   Code = "KeyMismatch"   // the private key belongs to another public one
	NamesDiffer   Code = "NamesDiffer"   // the certificate is for others
	OtherIssuer   Code = "OtherIssuer"   // the certificate is not of the CA that signs now
	BundleDiffers Code = "BundleDiffers" // ca.crt has not what it should have
	RenewalDue    Code = "RenewalDue"
	Ended         Code = "Ended"
	NotYetValid   Code = "NotYetValid"
	AgeReached    Code = "AgeReached"
	RotationAsked Code = "RotationAsked" // by v1alpha1.AnnotationRotate
	NextIsDue     Code = "NextIsDue"     // the next CA is to sign from now on
	NotRecorded   Code = "NotRecorded"   // the value stays; only the record is written
	NoIssuer      Code = "NoIssuer"      // the CA cannot be used: nothing can be made
)

// Finding is one reason to write.
type Finding struct {
	// Recipe is the text form of the recipe.
	Recipe string
	// Keys are those that are to be written.
	Keys []string
	Code Code
	// Text is the reason in English, as in `has 16 bytes, not 32`. It holds no time and no value.
	Text string
}

// Verdict says how a Secret is.
type Verdict struct {
	// Findings are nil if every value is valid.
	Findings []Finding
	// Until is when another answer is to be expected though nothing changes; zero: never. Before it the answer is the same.
	Until time.Time
}

// IsValid reports whether there is nothing to write.
func (v Verdict) IsValid() bool { return len(v.Findings) == 0 }

// KeysToWrite are those that are to be written, sorted.
func (v Verdict) KeysToWrite() []string {
	var keys []string
	for _, f := range v.Findings {
		keys = append(keys, f.Keys...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// FieldPaths are KeysToWrite as paths, as in `data.password`.
func (v Verdict) FieldPaths() []string {
	paths := v.KeysToWrite()
	for i, key := range paths {
		paths[i] = "data." + key
	}
	return paths
}

// ReasonText is all findings as one text.
func (v Verdict) ReasonText() string {
	texts := make([]string, len(v.Findings))
	for i, f := range v.Findings {
		texts[i] = strings.Join(f.Keys, ", ") + " (" + f.Recipe + ") " + f.Text
	}
	return strings.Join(texts, "; ")
}

// CheckSecret says which values are not as their recipes want them.
func CheckSecret(recipes []Recipe, in Input) Verdict {
	var all Verdict
	for _, r := range recipes {
		v := r.checkValues(in)
		all.Findings = append(all.Findings, v.Findings...)
		all.Until = earliestOf(all.Until, v.Until)
	}
	return all
}

// earliestOf is the earlier of two instants; zero is never.
func earliestOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// singleFinding is a verdict with one finding, which holds until something changes.
func singleFinding(r Recipe, code Code, text string, keys ...string) Verdict {
	if len(keys) == 0 {
		keys = slices.Concat(r.PrivateKeys(), r.PublicKeys())
	}
	return Verdict{Findings: []Finding{{Recipe: r.String(), Keys: keys, Code: code, Text: text}}}
}

// validUntil is the verdict that all is as it should be.
func validUntil(until time.Time) Verdict { return Verdict{Until: until} }

// Rotation says when a value is made anew though nothing is wrong with it.
type Rotation struct {
	// After is the age; 0: none.
	After time.Duration
	// KeepPrevious is the key under which the value before stays until the next rotation; empty: nowhere.
	KeepPrevious string
}

// checkRotation says whether a value whose form is right is to be rotated.
func checkRotation(r Recipe, rotation Rotation, in Input) Verdict {
	entry, recorded := in.Secret.Record[r.PrivateKeys()[0]]
	switch due := entry.At.Add(rotation.After); {
	case !recorded:
		return singleFinding(r, NotRecorded, "is not recorded in annotation ambit.dev/made")
	case isRotationAsked(in.Secret, entry):
		return singleFinding(r, RotationAsked, "is to be rotated: annotation ambit.dev/rotate has changed")
	case rotation.After <= 0:
		return Verdict{}
	case !in.Now.Before(due):
		return singleFinding(r, AgeReached, "is older than "+shortDuration(rotation.After))
	default:
		return validUntil(due)
	}
}

func isRotationAsked(v secretview.View, entry secretview.Entry) bool {
	return v.Rotate != "" && v.Rotate != entry.Rotate
}

// shortDuration is as in 720h.
func shortDuration(d time.Duration) string {
	text := d.String()
	text = strings.TrimSuffix(text, "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	if text == "" || d < time.Minute {
		return d.String()
	}
	return text
}

// AllPrivateKeys are the keys of private values that a recipe makes or keeps.
func AllPrivateKeys(r Recipe) []string { return slices.Concat(r.PrivateKeys(), previousKeys(r)) }

// previousKeys are the keys of values that were rotated.
func previousKeys(r Recipe) []string {
	var rotation Rotation
	switch r := r.(type) {
	case Random:
		rotation = r.Rotation
	case UUID:
		rotation = r.Rotation
	case KeyPair:
		rotation = r.Rotation
	}
	if rotation.KeepPrevious == "" {
		return nil
	}
	return []string{rotation.KeepPrevious}
}
