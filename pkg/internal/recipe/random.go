package recipe

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// Random is text of random characters, or random bytes.
type Random struct {
	Key string
	// Length is in characters or bytes.
	Length int
	// Characters are those of the text: printable ASCII, each once; empty: bytes. That a value has others is not
	// noticed: what is kept of it says only its length.
	Characters string
	Rotation   Rotation
}

// CharacterSet returns the characters of a set by its name, and whether there is one.
func CharacterSet(name string) (string, bool) {
	const digits, lower, upper = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	sets := map[string]string{
		"alphanumeric": upper + lower + digits, "lowercase": lower + digits, "hex": digits + "abcdef", "digits": digits,
		"symbols": upper + lower + digits + "!#%*+,-./:;=?@^_~",
	}
	set, ok := sets[name]
	return set, ok
}

// String is the text form.
func (r Random) String() string {
	if r.Characters == "" {
		return fmt.Sprintf("bytes %d", r.Length)
	}
	return fmt.Sprintf("random %d", r.Length)
}

// PrivateKeys is its key.
func (r Random) PrivateKeys() []string { return []string{r.Key} }

// PublicKeys are none.
func (r Random) PublicKeys() []string { return nil }

// What a random value may be. 80 bits are what nobody tries through.
const (
	leastRandom, mostRandom = 8, 4096
	leastBits               = 80
)

// FindProblems says whether it is long enough, and of characters that can be.
func (r Random) FindProblems() (list []string) {
	if r.Length < leastRandom || r.Length > mostRandom {
		return []string{fmt.Sprintf("the length must be between %d and %d, is %d", leastRandom, mostRandom, r.Length)}
	}
	count := 256
	if r.Characters != "" {
		seen := map[rune]bool{}
		for _, c := range r.Characters {
			if c <= ' ' || c > '~' || seen[c] {
				return []string{"the characters must be printable ASCII, each once"}
			}
			seen[c] = true
		}
		count = len(r.Characters)
	}
	bits := 0
	for n := count; n > 1; n >>= 1 {
		bits++
	}
	if bits*r.Length < leastBits {
		list = append(list, fmt.Sprintf("%d of %d different characters can be guessed: it takes %d at least", r.Length, count, leastBits/max(bits, 1)+1))
	}
	return list
}

func (r Random) checkValues(in Input) Verdict {
	fact, there := in.Secret.Facts[r.Key]
	switch {
	case !there:
		return singleFinding(r, Missing, "is missing")
	case fact.Length != r.Length:
		return singleFinding(r, WrongForm, fmt.Sprintf("has %d bytes, not %d", fact.Length, r.Length))
	}
	return checkRotation(r, r.Rotation, in)
}

func (r Random) makeValues(w *workbench) error {
	value := make([]byte, r.Length)
	if _, err := io.ReadFull(w.random, value); err != nil {
		return fmt.Errorf("reading random bytes: %w", err)
	}
	if r.Characters != "" {
		if err := drawCharacters(w.random, value, r.Characters); err != nil {
			return err
		}
	}
	w.keepPrevious(r.Key, r.Rotation)
	w.setPrivate(r, r.Key, value)
	w.recordMade(r.Key)
	return nil
}

// drawCharacters puts a character in place of each random byte. A byte that would make some characters more frequent than others
// is drawn again.
func drawCharacters(random io.Reader, value []byte, characters string) error {
	limit := 256 - 256%len(characters)
	for i := range value {
		for int(value[i]) >= limit {
			if _, err := io.ReadFull(random, value[i:i+1]); err != nil {
				return fmt.Errorf("reading random bytes: %w", err)
			}
		}
		value[i] = characters[int(value[i])%len(characters)]
	}
	return nil
}

// UUID is the text of a random UUID, of version 4.
type UUID struct {
	Key      string
	Rotation Rotation
}

// String is the text form.
func (r UUID) String() string { return "uuid" }

// PrivateKeys is its key.
func (r UUID) PrivateKeys() []string { return []string{r.Key} }

// PublicKeys are none.
func (r UUID) PublicKeys() []string { return nil }

// FindProblems are none.
func (r UUID) FindProblems() []string { return nil }

func (r UUID) checkValues(in Input) Verdict {
	fact, there := in.Secret.Facts[r.Key]
	switch {
	case !there:
		return singleFinding(r, Missing, "is missing")
	case !fact.UUID:
		return singleFinding(r, WrongForm, "is no UUID of version 4")
	}
	return checkRotation(r, r.Rotation, in)
}

func (r UUID) makeValues(w *workbench) error {
	var b [16]byte
	if _, err := io.ReadFull(w.random, b[:]); err != nil {
		return fmt.Errorf("reading random bytes: %w", err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	w.keepPrevious(r.Key, r.Rotation)
	w.setPrivate(r, r.Key, fmt.Appendf(nil, "%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
	w.recordMade(r.Key)
	return nil
}

// Htpasswd is a line of htpasswd, with a bcrypt hash of a password that another recipe of the Secret makes. Only the
// writer sees whether it is of that password; what is kept says that it was made after it.
type Htpasswd struct {
	Key, User string
	// Password is the key of the password.
	Password string
}

// String is the text form.
func (r Htpasswd) String() string { return "htpasswd of " + r.Password }

// PrivateKeys is its key.
func (r Htpasswd) PrivateKeys() []string { return []string{r.Key} }

// PublicKeys are none.
func (r Htpasswd) PublicKeys() []string { return nil }

// FindProblems says whether the user can stand in a line.
func (r Htpasswd) FindProblems() []string {
	if r.User == "" || len(r.User) > 255 || strings.ContainsFunc(r.User, func(c rune) bool { return c == ':' || c < ' ' || c == 0x7f }) {
		return []string{"the user must have 1 to 255 bytes, without a colon and control characters"}
	}
	return nil
}

// ProblemsAmong says what is wrong with it among the recipes of its Secret.
func (r Htpasswd) ProblemsAmong(recipes []Recipe) []string {
	i := slices.IndexFunc(recipes, func(other Recipe) bool { random, ok := other.(Random); return ok && random.Key == r.Password })
	if i < 0 {
		return []string{fmt.Sprintf("no random text has the key %q", r.Password)}
	}
	if random := recipes[i].(Random); random.Characters == "" || random.Length > 72 {
		return []string{fmt.Sprintf("the password %q must be text of at most 72 characters: bcrypt reads no more", r.Password)}
	}
	return nil
}

func (r Htpasswd) checkValues(in Input) Verdict {
	fact, there := in.Secret.Facts[r.Key]
	entry, recorded := in.Secret.Record[r.Key]
	password, hasPassword := in.Secret.Record[r.Password]
	switch {
	case !there:
		return singleFinding(r, Missing, "is missing")
	case fact.User != r.User:
		return singleFinding(r, WrongForm, fmt.Sprintf("is no line of user %q", r.User))
	case !recorded:
		return singleFinding(r, NotRecorded, "is not recorded in annotation ambit.dev/made")
	case hasPassword && entry.At.Before(password.At):
		return singleFinding(r, KeyMismatch, "is of the password before")
	}
	return Verdict{}
}

// isOf reports whether the line has the hash of the password.
func (r Htpasswd) isOf(line, password []byte) bool {
	_, hash, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), ":")
	return ok && bcrypt.CompareHashAndPassword([]byte(hash), password) == nil
}

func (r Htpasswd) makeValues(w *workbench) error {
	password := w.values[r.Password].RevealValue()
	hash, err := bcrypt.GenerateFromPassword(password, bcrypt.DefaultCost)
	if err != nil {
		return secretError("hashing the password", err)
	}
	w.setPrivate(r, r.Key, fmt.Appendf(nil, "%s:%s\n", r.User, hash))
	w.recordMade(r.Key)
	return nil
}
