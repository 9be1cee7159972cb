package recipe_test

import (
	"crypto/rand"
	"crypto/tls"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
	"github.com/ambit-dev/ambit/test/raced"
)

const day = 24 * time.Hour

func authority() recipe.CA {
	return recipe.CA{CommonName: "web", Lifetime: 365 * day, RenewAt: 0.66, Propagation: time.Hour, LeafLifetime: 90 * day}
}

func serving() recipe.Certificate {
	return recipe.Certificate{Issuer: "ca", DNSNames: []string{"web.team.svc", "*.web.team.svc"}, Addresses: []string{"10.0.0.1", "fd00::1"}, Lifetime: 90 * day, RenewAt: 0.66}
}

// TestMake: of each recipe that nothing is there for, the value is made, has the form that its users need, is valid then, and
// nothing is written a second time.
func TestMake(t *testing.T) {
	raced.Skip(t)
	for name, tc := range map[string]struct {
		recipes []recipe.Recipe
		looks   map[string]string // key to a pattern of its value
		until   time.Duration     // after now; 0: never
	}{
		"Text":      {[]recipe.Recipe{password(32)}, map[string]string{"password": `^[A-Za-z0-9]{32}$`}, 0},
		"Hex":       {[]recipe.Recipe{recipe.Random{Key: "k", Length: 40, Characters: "0123456789abcdef", Rotation: recipe.Rotation{After: day}}}, map[string]string{"k": `^[0-9a-f]{40}$`}, day},
		"Bytes":     {[]recipe.Recipe{recipe.Random{Key: "k", Length: 32}}, map[string]string{"k": `(?s)^.*$`}, 0},
		"UUID":      {[]recipe.Recipe{recipe.UUID{Key: "id"}}, map[string]string{"id": `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`}, 0},
		"SSH":       {[]recipe.Recipe{recipe.KeyPair{PrivateKey: "ssh-privatekey", PublicKey: "pub", SSH: true}}, map[string]string{"ssh-privatekey": `^-----BEGIN OPENSSH PRIVATE KEY-----\n`, "pub": `^ssh-ed25519 \S+\n$`}, 0},
		"SSH RSA":   {[]recipe.Recipe{recipe.KeyPair{PrivateKey: "k", PublicKey: "pub", SSH: true, Algorithm: recipe.RSA2048}}, map[string]string{"k": `OPENSSH`, "pub": `^ssh-rsa `}, 0},
		"SSH ECDSA": {[]recipe.Recipe{recipe.KeyPair{PrivateKey: "k", PublicKey: "pub", SSH: true, Algorithm: recipe.ECDSAP384}}, map[string]string{"k": `OPENSSH`, "pub": `^ecdsa-sha2-nistp384 `}, 0},
		"ECDSA":     {[]recipe.Recipe{recipe.KeyPair{PrivateKey: "k", PublicKey: "pub"}}, map[string]string{"k": `^-----BEGIN PRIVATE KEY-----\n`, "pub": `^-----BEGIN PUBLIC KEY-----\n`}, 0},
		"Ed25519":   {[]recipe.Recipe{recipe.KeyPair{PrivateKey: "k", PublicKey: "pub", Algorithm: recipe.Ed25519}}, map[string]string{"k": `^-----BEGIN PRIVATE KEY-----\n`}, 0},
		"RSA":       {[]recipe.Recipe{recipe.KeyPair{PrivateKey: "k", PublicKey: "pub", Algorithm: recipe.RSA3072}}, map[string]string{"k": `^-----BEGIN PRIVATE KEY-----\n`}, 0},
		"Htpasswd":  {[]recipe.Recipe{recipe.Htpasswd{Key: "auth", User: "admin", Password: "password"}, password(20)}, map[string]string{"auth": `^admin:\$2a\$10\$\S{53}\n$`}, 0},
		"CA":        {[]recipe.Recipe{authority()}, map[string]string{"tls.crt": `^-----BEGIN CERT`, "tls.key": `^-----BEGIN PRIVATE`, "ca.crt": `^-----BEGIN CERT`}, (365 * day * 66 / 100).Truncate(time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add("s")
			if v := w.check("s", tc.recipes...); v.IsValid() || v.Findings[0].Code != recipe.Missing {
				t.Errorf("an empty Secret is %+v", v)
			}
			w.mustMake("s", tc.recipes...)
			for key, pattern := range tc.looks {
				if got := w.value("s", key); !regexp.MustCompile(pattern).MatchString(got) {
					t.Errorf("%s is %q, want %s", key, got, pattern)
				}
			}
			v := w.check("s", tc.recipes...)
			if want := w.now.Add(tc.until); tc.until > 0 && !v.Until.Equal(want) || tc.until == 0 && !v.Until.IsZero() {
				t.Errorf("valid until %s, want %s after %s", v.Until, tc.until, w.now)
			}
			again, err := w.make("s", tc.recipes...)
			if err != nil || len(again.Private)+len(again.Public)+len(again.Removed) > 0 || !again.Verdict.IsValid() {
				t.Errorf("a second write has %v, %v", again, err)
			}
		})
	}
}

// TestMadeFormats: what was made is what its users' libraries read.
func TestMadeFormats(t *testing.T) {
	raced.Skip(t)
	w := newWorld(t)
	w.add("s")
	w.mustMake("s", password(24), recipe.Htpasswd{Key: "auth", User: "u", Password: "password"}, recipe.KeyPair{PrivateKey: "k", PublicKey: "pub", SSH: true})
	_, hash, _ := strings.Cut(strings.TrimSpace(w.value("s", "auth")), ":")
	if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(w.value("s", "password"))); err != nil {
		t.Error(err)
	}
	signer, err := ssh.ParsePrivateKey([]byte(w.value("s", "k")))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(ssh.MarshalAuthorizedKey(signer.PublicKey())); got != w.value("s", "pub") {
		t.Errorf("the public key is %s, want %s", w.value("s", "pub"), got)
	}
	w.add("ca")
	w.mustMake("ca", authority())
	for _, algorithm := range append(recipe.AllAlgorithms(), "") {
		leaf := serving()
		leaf.Algorithm, leaf.Client = recipe.Algorithm(algorithm), true
		w.add("leaf")
		w.mustMake("leaf", leaf)
		if _, err := tls.X509KeyPair([]byte(w.value("leaf", "tls.crt")), []byte(w.value("leaf", "tls.key"))); err != nil {
			t.Errorf("%s: %v", algorithm, err)
		}
	}
}

// TestCheck: what is wrong with values is found, and what is made then. What is right stays.
func TestCheck(t *testing.T) {
	raced.Skip(t)
	rotated := password(32)
	rotated.Rotation = recipe.Rotation{After: 90 * day, KeepPrevious: "previous"}
	pair := recipe.KeyPair{PrivateKey: "k", PublicKey: "pub"}
	other := serving()
	other.DNSNames = []string{"other.team.svc"}
	for name, tc := range map[string]struct {
		reason        string
		made, checked []recipe.Recipe
		change        func(w *world)
		code          recipe.Code
		keys          []string // that the plan says
		stays         []string
		changes       []string
	}{
		"Nothing":     {reason: "all is as it was made", made: []recipe.Recipe{rotated}, change: func(*world) {}, stays: []string{"password"}},
		"Almost":      {reason: "one second is left", made: []recipe.Recipe{rotated}, change: func(w *world) { w.now = w.now.Add(90*day - time.Second) }, stays: []string{"password"}},
		"Age":         {reason: "it is old", made: []recipe.Recipe{rotated}, change: func(w *world) { w.now = w.now.Add(90 * day) }, code: recipe.AgeReached, keys: []string{"password"}, changes: []string{"password"}},
		"Clock back":  {reason: "a clock that was ahead makes nothing old", made: []recipe.Recipe{rotated}, change: func(w *world) { w.now = w.now.Add(-day) }, stays: []string{"password"}},
		"Asked":       {reason: "a user asks for it", made: []recipe.Recipe{password(32)}, change: func(w *world) { w.annotations("s")[v1alpha1.AnnotationRotate] = "now" }, code: recipe.RotationAsked, keys: []string{"password"}, changes: []string{"password"}},
		"Length":      {reason: "the policy wants a longer one", made: []recipe.Recipe{password(32)}, checked: []recipe.Recipe{password(40)}, change: func(*world) {}, code: recipe.WrongForm, keys: []string{"password"}, changes: []string{"password"}},
		"Unrecorded":  {reason: "whoever took the annotation away does not get another password", made: []recipe.Recipe{rotated}, change: func(w *world) { delete(w.annotations("s"), v1alpha1.AnnotationMade) }, code: recipe.Missing, keys: []string{"password"}, stays: []string{"password"}},
		"Torn record": {reason: "nor does who breaks it", made: []recipe.Recipe{rotated}, change: func(w *world) { w.annotations("s")[v1alpha1.AnnotationMade] = "{" }, code: recipe.NotRecorded, keys: []string{"password"}, stays: []string{"password"}},
		"Added":       {reason: "another recipe leaves the first alone", made: []recipe.Recipe{rotated}, checked: []recipe.Recipe{rotated, pair}, change: func(*world) {}, code: recipe.Missing, keys: []string{"k", "pub"}, stays: []string{"password"}},
		"No public":   {reason: "the public key comes from the private one", made: []recipe.Recipe{pair}, change: func(w *world) { delete(w.data("s"), "pub") }, code: recipe.KeyMismatch, keys: []string{"pub"}, stays: []string{"k"}},
		"Bad private": {reason: "a key that cannot be read is none", made: []recipe.Recipe{pair}, change: func(w *world) { w.set("s", "k", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n") }, code: recipe.WrongForm, keys: []string{"k", "pub"}, changes: []string{"k", "pub"}},
		"No UUID":     {reason: "somebody wrote another text", made: []recipe.Recipe{recipe.UUID{Key: "id"}}, change: func(w *world) { w.set("s", "id", "1234") }, code: recipe.WrongForm, keys: []string{"id"}, changes: []string{"id"}},
		"Htpasswd": {reason: "it goes with its password", made: []recipe.Recipe{password(20), recipe.Htpasswd{Key: "auth", User: "a", Password: "password"}}, change: func(w *world) { w.annotations("s")[v1alpha1.AnnotationRotate] = "now" },
			code: recipe.RotationAsked, keys: []string{"password"}, changes: []string{"password", "auth"}},
		"User":          {reason: "the policy has another user", made: []recipe.Recipe{password(20), recipe.Htpasswd{Key: "auth", User: "a", Password: "password"}}, checked: []recipe.Recipe{password(20), recipe.Htpasswd{Key: "auth", User: "b", Password: "password"}}, change: func(*world) {}, code: recipe.WrongForm, keys: []string{"auth"}, stays: []string{"password"}, changes: []string{"auth"}},
		"Names":         {reason: "the policy has other names", made: []recipe.Recipe{serving()}, checked: []recipe.Recipe{other}, change: func(*world) {}, code: recipe.NamesDiffer, keys: []string{"ca.crt", "tls.crt", "tls.key"}, changes: []string{"tls.crt", "tls.key"}, stays: []string{"ca.crt"}},
		"Leaf's age":    {reason: "it is to be renewed", made: []recipe.Recipe{serving()}, change: func(w *world) { w.now = w.now.Add(60 * day) }, code: recipe.RenewalDue, changes: []string{"tls.crt", "tls.key"}, keys: []string{"ca.crt", "tls.crt", "tls.key"}},
		"Leaf's end":    {reason: "Ambit was away for long", made: []recipe.Recipe{serving()}, change: func(w *world) { w.now = w.now.Add(90 * day) }, code: recipe.Ended, changes: []string{"tls.crt", "tls.key"}, keys: []string{"ca.crt", "tls.crt", "tls.key"}},
		"Leaf's key":    {reason: "somebody took the key away", made: []recipe.Recipe{serving()}, change: func(w *world) { delete(w.data("s"), "tls.key") }, code: recipe.Missing, changes: []string{"tls.crt", "tls.key"}, keys: []string{"ca.crt", "tls.crt", "tls.key"}},
		"Leaf's bundle": {reason: "somebody wrote another bundle", made: []recipe.Recipe{serving()}, change: func(w *world) { w.set("s", "ca.crt", "x") }, code: recipe.BundleDiffers, stays: []string{"tls.crt", "tls.key", "ca.crt"}, keys: []string{"ca.crt"}},
		"Other CA":      {reason: "the CA was made anew", made: []recipe.Recipe{serving()}, change: func(w *world) { w.add("ca"); w.mustMake("ca", authority()) }, code: recipe.OtherIssuer, changes: []string{"tls.crt", "tls.key", "ca.crt"}, keys: []string{"ca.crt", "tls.crt", "tls.key"}},
		"Clock":         {reason: "the certificate begins later", made: []recipe.Recipe{serving()}, change: func(w *world) { w.now = w.now.Add(-day) }, code: recipe.NotYetValid, changes: []string{"tls.crt", "tls.key"}, keys: []string{"ca.crt", "tls.crt", "tls.key"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add("ca")
			w.mustMake("ca", authority())
			w.add("s")
			w.mustMake("s", tc.made...)
			before := map[string]string{}
			for key := range w.data("s") {
				before[key] = w.value("s", key)
			}
			tc.change(w)
			if tc.checked == nil {
				tc.checked = tc.made
			}
			v := w.check("s", tc.checked...)
			code := recipe.Code("")
			if !v.IsValid() {
				code = v.Findings[0].Code
			}
			if code != tc.code || !slices.Equal(v.KeysToWrite(), tc.keys) {
				t.Errorf("%s: got %q for %v (%s), want %q for %v", tc.reason, code, v.KeysToWrite(), v.ReasonText(), tc.code, tc.keys)
			}
			w.mustMake("s", tc.checked...)
			for _, key := range tc.stays {
				if got := w.value("s", key); got != before[key] {
					t.Errorf("%s: %s has changed", tc.reason, key)
				}
			}
			for _, key := range tc.changes {
				if got := w.value("s", key); got == before[key] || got == "" {
					t.Errorf("%s: %s is what it was", tc.reason, key)
				}
			}
		})
	}
}

// TestPrevious: the value before stays until the next rotation, and is nobody's business either.
func TestPrevious(t *testing.T) {
	w := newWorld(t)
	r := password(16)
	r.Rotation = recipe.Rotation{KeepPrevious: "previous"}
	w.add("s")
	w.mustMake("s", r)
	if _, there := w.data("s")["previous"]; there {
		t.Error("there is a previous value of the first one")
	}
	for _, token := range []string{"one", "two", "two", "three"} {
		current, previous := w.value("s", "password"), w.data("s")["previous"]
		again := w.annotations("s")[v1alpha1.AnnotationRotate] == token
		w.annotations("s")[v1alpha1.AnnotationRotate] = token
		w.reconcile("s", r)
		if again {
			if w.value("s", "password") != current || w.data("s")["previous"] != previous {
				t.Error("it was rotated twice for one token")
			}
			continue
		}
		if w.value("s", "previous") != current || w.value("s", "password") == current {
			t.Errorf("%s: password %q, previous %q, was %q", token, w.value("s", "password"), w.value("s", "previous"), current)
		}
	}
	if facts := w.kept("s").Facts; facts["previous"].Length != 16 {
		t.Errorf("what is kept: %+v", facts)
	}
	if kept := w.kept("s"); len(kept.Public) != 0 {
		t.Errorf("public: %v", kept.Public)
	}
}

// TestDrawCharacters: every character is as frequent as any other.
func TestDrawCharacters(t *testing.T) {
	w := newWorld(t)
	w.add("s")
	count := map[rune]int{}
	r := recipe.Random{Key: "k", Length: 4096, Characters: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"}
	for range 40 {
		w.data("s")["k"] = ""
		w.mustMake("s", r)
		for _, c := range w.value("s", "k") {
			count[c]++
		}
	}
	mean := 40 * 4096 / len(r.Characters)
	for _, c := range r.Characters { // 2,642 each; the deviation is 51, so six of them are never left
		if count[c] < mean-306 || count[c] > mean+306 {
			t.Errorf("%c came %d times, want about %d", c, count[c], mean)
		}
	}
}

// TestProblems: recipes that cannot be made, or would lock users out, are refused.
func TestProblems(t *testing.T) {
	ca, leaf := authority(), serving()
	ca.Lifetime = 100 * day
	leaf.DNSNames, leaf.Addresses = []string{"a b", "ok.example", "*.x", "-a"}, []string{"10.0.0", "fe80::1%eth0"}
	for name, tc := range map[string]struct {
		recipe recipe.Recipe
		want   []string
	}{
		"Password":   {password(32), nil},
		"Fine":       {authority(), nil},
		"Short":      {password(4), []string{"the length must be between 8 and 4096, is 4"}},
		"Weak":       {recipe.Random{Key: "k", Length: 16, Characters: "0123456789"}, []string{"16 of 10 different characters can be guessed: it takes 27 at least"}},
		"Characters": {recipe.Random{Key: "k", Length: 99, Characters: "aab"}, []string{"the characters must be printable ASCII, each once"}},
		"CA":         {ca, []string{"the CA signs for 1585h of its 2400h, so that a certificate of 2160h could outlive it: give it a longer lifetime, or an earlier renewAt"}},
		"Leaf":       {leaf, []string{`"a b" is no DNS name`, `"-a" is no DNS name`, `"10.0.0" is no IP address`, `"fe80::1%eth0" is no IP address`}},
		"Empty":      {recipe.Certificate{Lifetime: day, RenewAt: 0.5}, []string{"it must be for a common name, or 1 to 64 dnsNames and ipAddresses, and is for 0"}},
		"Life":       {recipe.Certificate{CommonName: "x", Lifetime: time.Second, RenewAt: 2}, []string{"the lifetime must be whole seconds, and at least 4s"}},
		"Algorithm":  {recipe.KeyPair{PrivateKey: "a", PublicKey: "b", Algorithm: "DSA"}, []string{`there is no algorithm "DSA"`}},
		"User":       {recipe.Htpasswd{Key: "k", User: "a:b", Password: "p"}, []string{"the user must have 1 to 255 bytes, without a colon and control characters"}},
	} {
		if diff := cmp.Diff(tc.want, tc.recipe.FindProblems()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestNoIssuer: a certificate is not made while its CA cannot sign it, and the reason says why.
func TestNoIssuer(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(w *world)
		want    string
	}{
		"None":   {func(w *world) { w.add("ca") }, "cannot be issued: its CA is missing"},
		"No key": {func(w *world) { w.add("ca"); w.mustMake("ca", authority()); delete(w.data("ca"), "tls.key") }, "reading the key of its CA: it is not one PEM block"},
		"Other key": {func(w *world) {
			w.add("ca")
			w.mustMake("ca", authority())
			key := w.data("ca")["tls.key"]
			w.add("ca")
			w.mustMake("ca", authority())
			w.data("ca")["tls.key"] = key
		}, "the key of its CA is not that of the CA's certificate"},
		"Wrong": {func(w *world) {
			w.add("ca")
			w.mustMake("ca", authority())
			w.set("ca", "tls.crt", w.value("ca", "tls.crt")[:100])
		}, "cannot be issued: its CA is missing"},
		"Ends": {func(w *world) { w.add("ca"); w.mustMake("ca", authority()); w.now = w.now.Add(360 * day) }, "cannot be issued: its CA ends before it would"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.prepare(w)
			w.add("s")
			write, err := w.make("s", serving())
			if err == nil || !strings.HasSuffix(err.Error(), tc.want) {
				t.Errorf("got %v, %v", write, err)
			}
			if v := w.check("s", serving()); v.IsValid() {
				t.Errorf("got %+v", v)
			}
		})
	}
}

// TestRandomFails: without randomness nothing is made.
func TestRandomFails(t *testing.T) {
	for _, r := range []recipe.Recipe{password(32), recipe.UUID{Key: "k"}} {
		if _, err := recipe.MakeValues([]recipe.Recipe{r}, recipe.Whole{}, nil, began, strings.NewReader("few")); err == nil {
			t.Errorf("%s is made of nothing", r)
		}
	}
	if _, err := recipe.MakeValues([]recipe.Recipe{password(32)}, recipe.Whole{}, nil, began, rand.Reader); err != nil {
		t.Errorf("a Secret that is not there: %v", err)
	}
}
