package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
	"github.com/ambit-dev/ambit/pkg/internal/spelling"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// What a recipe has unless it says otherwise.
const (
	defaultRenewAt     = 0.66
	defaultPropagation = time.Hour
)

// leastRotation is the least age at which values are rotated.
const leastRotation = time.Minute

// recipeNames are the fields that say what a value is.
var recipeNames = []string{"random", "bytes", "uuid", "keyPair", "htpasswd", "ca", "certificate"}

// compileRecipe compiles one recipe; nil if it is not right.
func (c *recipeCompiler) compileRecipe(f field, child string, value v1alpha1.MadeValue, s scope) *Made {
	var said []string
	for _, name := range recipeNames {
		if f.below("", name).node != nil {
			said = append(said, name)
		}
	}
	if len(said) != 1 {
		c.At(f.node, "a made value must have exactly one of %s; has %s", strings.Join(recipeNames, ", "), cmp.Or(strings.Join(said, ", "), "none"))
		return nil
	}
	before, name := c.Count(), said[0]
	c.checkMadeKeys(f, name)
	rotation := c.compileRotation(f, name, value.Rotate)
	made := &Made{Texts: map[string]*cel.Template{}}
	at := f.below(f.what+"."+name, name)
	switch {
	case value.Random != nil:
		set, _ := recipe.CharacterSet(cmp.Or(string(value.Random.Characters), "alphanumeric"))
		made.Recipe = recipe.Random{Key: value.Key, Length: int(value.Random.Length), Characters: set, Rotation: rotation}
	case value.Bytes != nil:
		made.Recipe = recipe.Random{Key: value.Key, Length: int(value.Bytes.Length), Rotation: rotation}
	case value.UUID != nil:
		made.Recipe = recipe.UUID{Key: value.Key, Rotation: rotation}
	case value.KeyPair != nil:
		c.checkDataKey(at.below("", "publicKey"))
		made.Recipe = recipe.KeyPair{PrivateKey: value.Key, PublicKey: value.KeyPair.PublicKey, SSH: value.KeyPair.Format == v1alpha1.KeyFormatSSH,
			Algorithm: recipe.Algorithm(value.KeyPair.Algorithm), Rotation: rotation}
	case value.Htpasswd != nil:
		made.Recipe = recipe.Htpasswd{Key: value.Key, User: "user", Password: value.Htpasswd.Password}
		c.compileTexts(at, made, s, "user")
	case value.CA != nil:
		made.Recipe = c.compileCA(at, child, value.CA)
		c.compileTexts(at, made, s, "commonName")
	case value.Certificate != nil:
		made.Issuer = c.checkIssuer(at, value.Certificate.Issuer)
		made.Recipe = c.compileCertificate(at, value.Certificate)
		c.compileTexts(at, made, s, "commonName", "dnsNames", "ipAddresses")
	}
	if made.Recipe == nil || c.Count() > before {
		return nil
	}
	for _, problem := range made.Recipe.FindProblems() {
		c.At(syntax.KeyNode(f.node, name), "%s: %s", name, problem)
	}
	return made
}

// checkMadeKeys checks the keys of the Secret's data that are named in a recipe.
func (c *recipeCompiler) checkMadeKeys(f field, name string) {
	key, own := f.below("", "key"), name == "ca" || name == "certificate"
	switch {
	case own && key.node != nil:
		c.At(syntax.KeyNode(f.node, "key"), "key is not for %s: its keys are tls.crt, tls.key and ca.crt", name)
	case !own && key.node == nil:
		c.At(f.node, "key is required: where in the Secret's data the value is to stand")
	}
	c.checkDataKey(key)
	c.checkDataKey(f.below("", "rotate", "keepPrevious"))
}

// checkDataKey checks a key of a Secret's data.
func (c *recipeCompiler) checkDataKey(f field) {
	if !f.isText() {
		return
	}
	for _, problem := range validation.IsConfigMapKey(f.node.Value) {
		c.At(f.node, "%q cannot be a key of a Secret's data: %s", syntax.ShortenText(f.node.Value), withoutRegex(problem))
	}
}

func (c *recipeCompiler) compileRotation(f field, name string, spec *v1alpha1.Rotation) recipe.Rotation {
	at := f.below("", "rotate")
	if spec == nil || at.node == nil {
		return recipe.Rotation{}
	}
	if name == "ca" || name == "certificate" || name == "htpasswd" {
		why := "renewAt says when it is renewed"
		if name == "htpasswd" {
			why = "it is made anew with its password"
		}
		c.At(syntax.KeyNode(f.node, "rotate"), "rotate is not for %s: %s", name, why)
	}
	after := c.readDuration(at.below("rotate.after", "after"), 0)
	if after != 0 && after < leastRotation {
		c.At(at.below("", "after").node, "rotate.after must be at least %s", leastRotation)
	}
	return recipe.Rotation{After: after, KeepPrevious: spec.KeepPrevious}
}

// readDuration reads a text as in 2160h; otherwise is what it is if it is not there.
func (c *recipeCompiler) readDuration(f field, otherwise time.Duration) time.Duration {
	if !f.isText() {
		return otherwise
	}
	d, err := time.ParseDuration(f.node.Value)
	switch {
	case err != nil && strings.HasSuffix(f.node.Value, "d"):
		c.At(f.node, "%s must be a duration in hours, minutes or seconds, as in 2160h for 90 days; is %q", f.what, syntax.ShortenText(f.node.Value))
	case err != nil:
		c.At(f.node, "%s must be a duration, as in 2160h or 30m; is %q", f.what, syntax.ShortenText(f.node.Value))
	case d <= 0 || d%time.Second != 0:
		c.At(f.node, "%s must be whole seconds, and more than none; is %q", f.what, syntax.ShortenText(f.node.Value))
	default:
		return d
	}
	return otherwise
}

func (c *recipeCompiler) compileCA(f field, child string, spec *v1alpha1.MadeCA) recipe.Recipe {
	return recipe.CA{
		CommonName: child, Algorithm: recipe.Algorithm(spec.Algorithm), Lifetime: c.readDuration(f.below("lifetime", "lifetime"), 0),
		RenewAt: cmp.Or(spec.RenewAt, defaultRenewAt), Propagation: c.readDuration(f.below("propagation", "propagation"), defaultPropagation),
	}
}

func (c *recipeCompiler) compileCertificate(f field, spec *v1alpha1.MadeCertificate) recipe.Recipe {
	r := recipe.Certificate{
		Issuer: spec.Issuer, Algorithm: recipe.Algorithm(spec.Algorithm), Lifetime: c.readDuration(f.below("lifetime", "lifetime"), 0),
		RenewAt: cmp.Or(spec.RenewAt, defaultRenewAt),
		Server:  slices.Contains(spec.Usages, v1alpha1.UsageServer), Client: slices.Contains(spec.Usages, v1alpha1.UsageClient),
	}
	return r
}

// compileTexts compiles the texts of a recipe that may hold CEL. What holds none is put into the recipe, and so
// is a placeholder for what does.
func (c *recipeCompiler) compileTexts(f field, made *Made, s scope, names ...string) {
	for _, name := range names {
		at := f.below(f.what+"."+name, name)
		if at.node == nil || made.Recipe == nil {
			continue
		}
		var list []string
		texts := []*yaml.Node{at.node}
		if at.node.Kind == yaml.SequenceNode {
			texts = at.node.Content
		}
		isTemplate := false
		for _, n := range texts {
			text := n.Value
			if strings.Contains(text, "$") {
				isTemplate = true
				text = placeholderOf(name)
			}
			list = append(list, text)
		}
		if isTemplate {
			if t := c.compileTemplate(at, s); t != nil {
				made.Texts[name] = t
			}
		}
		made.Recipe = withTexts(made.Recipe, name, list)
	}
}

// placeholderOf is what stands for a text that is not known yet.
func placeholderOf(name string) string {
	if name == "ipAddresses" {
		return "192.0.2.1"
	}
	return "name.example"
}

// checkIssuer returns the id of a certificate's CA, if it can be one.
func (c *recipeCompiler) checkIssuer(f field, id string) string {
	at := f.below("", "issuer")
	if !at.isText() {
		return ""
	}
	children, watches := c.spec.Children, c.spec.Watches
	if i := slices.IndexFunc(children, func(o v1alpha1.Child) bool { return o.ID == id }); i >= 0 {
		isCA := slices.ContainsFunc(children[i].Make, func(m v1alpha1.MadeValue) bool { return m.CA != nil })
		switch {
		case !isCA:
			c.At(at.node, "child %q makes no ca", id)
		case children[i].ForEach != nil:
			c.At(at.node, "child %q is a list, because of forEach: a certificate has one CA", id)
		default:
			return id
		}
		return ""
	}
	if i := slices.IndexFunc(watches, func(o v1alpha1.Watch) bool { return o.ID == id }); i >= 0 {
		if watches[i].Kind != "Secret" || watches[i].APIVersion != "v1" || watches[i].Name == "" {
			c.At(at.node, "watch %q must be of kind Secret, apiVersion v1, with a name: it is the CA", id)
			return ""
		}
		return id
	}
	c.At(at.node, "there is no child or watch %q%s", syntax.ShortenText(id), spelling.Suggest(id, slices.Concat(c.symbols.children, c.symbols.watches)))
	return ""
}
