package recipe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/internal/secretview"
)

// Whole is a Secret with all that it holds, for the moment of a write.
type Whole struct {
	View secretview.View
	// Private are the values that are not in View.Public.
	Private map[string]Private
}

// ReadWhole takes the content of a Secret. The zero Whole is that of a Secret that is not there.
func ReadWhole(secret map[string]any) Whole {
	view, private := secretview.ReadWhole(secret)
	whole := Whole{View: view, Private: map[string]Private{}}
	for key, value := range private {
		whole.Private[key] = NewPrivate("value", value)
	}
	return whole
}

// WipePrivate overwrites the private values.
func (w Whole) WipePrivate() { wipeValues(w.Private) }

func wipeValues(values map[string]Private) {
	for _, value := range values {
		value.WipeValue()
	}
}

// Write is what has to be written into a Secret, in one write.
type Write struct {
	// Verdict is what was found wrong. Where it is valid there is nothing to write.
	Verdict Verdict
	// Private and Public are the new values.
	Private map[string]Private
	Public  map[string][]byte
	// Removed are keys that go.
	Removed []string
	// Record is the new annotation v1alpha1.AnnotationMade.
	Record secretview.Record
	// repaired: something was found wrong that only the values themselves show.
	repaired bool
}

// IsEmpty reports whether nothing has to be written: everything is valid.
func (w Write) IsEmpty() bool { return w.Verdict.IsValid() && !w.repaired }

// WipePrivate overwrites the private values, once they are written.
func (w Write) WipePrivate() { wipeValues(w.Private) }

// workbench is a Secret while values are made for it.
type workbench struct {
	in      Input
	issuers map[string]Whole
	random  io.Reader
	values  map[string]Private
	now     time.Time
}

// mostRounds bounds how often one recipe is made anew in one write: a CA may need to be promoted, renewed, and
// its bundle written.
const mostRounds = 5

// MakeValues makes what CheckSecret finds not valid, and says what is to be written. The caller keeps secret and issuers, and
// wipes them and the result. An error is for what cannot be made now, in words for the user: it never holds a value.
func MakeValues(recipes []Recipe, secret Whole, issuers map[string]Whole, now time.Time, random io.Reader) (Write, error) {
	w := newWorkbench(secret, issuers, now.UTC().Truncate(time.Second), random)
	before := secret.View
	write := Write{Verdict: CheckSecret(recipes, w.in)}
	for _, r := range passwordsFirst(recipes) {
		if h, ok := r.(Htpasswd); ok && !w.isConsistent(h) {
			w.in.Secret.RemoveValue(h.Key)
			write.repaired = true
		}
		if err := w.makeValid(r); err != nil {
			return Write{}, err
		}
	}
	w.collectChanges(&write, before, secret.Private)
	return write, nil
}

func newWorkbench(secret Whole, issuers map[string]Whole, now time.Time, random io.Reader) *workbench {
	view := secret.View.Clone()
	if view.Public == nil {
		view.Public, view.Facts = map[string][]byte{}, map[string]secretview.Fact{}
	}
	if view.Record == nil {
		view.Record = secretview.Record{}
	}
	w := &workbench{in: Input{Secret: view, Issuers: map[string]secretview.View{}, Now: now}, issuers: issuers, random: random, now: now}
	for name, issuer := range issuers {
		w.in.Issuers[name] = issuer.View
	}
	if w.values = maps.Clone(secret.Private); w.values == nil {
		w.values = map[string]Private{}
	}
	return w
}

// passwordsFirst has lines of htpasswd after the passwords that they are made of.
func passwordsFirst(recipes []Recipe) []Recipe {
	return slices.SortedStableFunc(slices.Values(recipes), func(a, b Recipe) int {
		_, first := a.(Htpasswd)
		_, second := b.(Htpasswd)
		switch {
		case first == second:
			return 0
		case first:
			return 1
		}
		return -1
	})
}

// isConsistent reports whether a line of htpasswd, as far as there is one, is of the password that is there.
func (w *workbench) isConsistent(h Htpasswd) bool {
	line, password := w.values[h.Key].RevealValue(), w.values[h.Password].RevealValue()
	return line == nil || h.isOf(line, password)
}

// makeValid makes values of one recipe until they are valid.
func (w *workbench) makeValid(r Recipe) error {
	for range mostRounds {
		v := r.checkValues(w.in)
		if v.IsValid() {
			return nil
		}
		if v.Findings[0].Code == NoIssuer {
			return errors.New(v.ReasonText())
		}
		if v.Findings[0].Code == NotRecorded {
			w.recordFound(r)
			continue
		}
		if err := r.makeValues(w); err != nil {
			return fmt.Errorf("making %s: %w", r, err)
		}
	}
	return fmt.Errorf("making %s: what was made is not valid: %s", r, r.checkValues(w.in).ReasonText())
}

// recordFound records a value that was there, and is as old as its Secret as far as anybody knows. Of a CA the record says since when it
// signs: there may be certificates of the one before that are as new as can be, so that it counts from now.
func (w *workbench) recordFound(r Recipe) {
	at := w.in.Secret.Created
	if _, isCA := r.(CA); isCA || at.IsZero() || at.After(w.now) {
		at = w.now
	}
	for _, key := range r.PrivateKeys() {
		if _, there := w.values[key]; there {
			w.in.Secret.Record[key] = secretview.Entry{At: at, Rotate: w.in.Secret.Rotate}
		}
	}
}

// recordMade notes that the value of a key is made now, for the rotation that is asked for.
func (w *workbench) recordMade(keys ...string) {
	for _, key := range keys {
		w.in.Secret.Record[key] = secretview.Entry{At: w.now, Rotate: w.in.Secret.Rotate}
	}
}

// keepPrevious moves the value that is there to the key for the previous one.
func (w *workbench) keepPrevious(key string, rotation Rotation) {
	value, there := w.values[key]
	if rotation.KeepPrevious == "" || !there {
		return
	}
	w.values[rotation.KeepPrevious] = NewPrivate(value.String(), bytes.Clone(value.RevealValue()))
	w.in.Secret.SetValue(rotation.KeepPrevious, value.RevealValue())
	w.in.Secret.Record[rotation.KeepPrevious] = secretview.Entry{At: w.now}
}

func (w *workbench) setPrivate(r Recipe, key string, value []byte) {
	w.in.Secret.SetValue(key, value)
	w.values[key] = NewPrivate(r.String(), value)
}

func (w *workbench) setPublic(key string, value []byte) {
	w.in.Secret.SetValue(key, value)
	delete(w.values, key)
}

func (w *workbench) removeKeys(keys ...string) {
	for _, key := range keys {
		w.in.Secret.RemoveValue(key)
		delete(w.values, key)
		delete(w.in.Secret.Record, key)
	}
}

// collectChanges says what is other than before.
func (w *workbench) collectChanges(write *Write, before secretview.View, values map[string]Private) {
	write.Private, write.Public, write.Record = map[string]Private{}, map[string][]byte{}, w.in.Secret.Record
	for key, value := range w.values {
		if old, there := values[key]; !there || !bytes.Equal(old.RevealValue(), value.RevealValue()) {
			write.Private[key] = value
		}
	}
	for key, value := range w.in.Secret.Public {
		if !bytes.Equal(before.Public[key], value) {
			write.Public[key] = value
		}
	}
	for _, key := range slices.Concat(secretview.SortedKeys(before.Public), secretview.SortedKeys(values)) {
		_, private := w.values[key]
		if _, public := w.in.Secret.Public[key]; !private && !public {
			write.Removed = append(write.Removed, key)
		}
	}
}

// secretError is an error whose text may hold what it was given, without that text.
func secretError(doing string, err error) error {
	return fmt.Errorf("%s: %T", doing, err)
}
