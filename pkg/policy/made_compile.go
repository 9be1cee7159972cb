package policy

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
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

// compileMade compiles the recipes of a child, f, whose objects' expressions see what s says.
func (c *policyCompiler) compileMade(f field, spec v1alpha1.Child, out *Child, s scope) {
	if f.below("", "make").node == nil {
		return
	}
	c.checkMadeModes(f, out)
	for i, value := range spec.Make {
		at := f.below(fmt.Sprintf("%s.make[%d]", f.what, i), "make", i)
		if at.node == nil || at.node.Kind != yaml.MappingNode {
			continue
		}
		c.notePlace(at.what, at.node)
		if made := c.compileRecipe(at, spec.ID, value, s); made != nil {
			made.What = at.what
			out.Make = append(out.Make, made)
		}
	}
	c.checkMadeTogether(f, out)
}

// checkMadeModes refuses what does not go with made values.
func (c *policyCompiler) checkMadeModes(f field, out *Child) {
	refuse := func(why string) { c.At(syntax.KeyNode(f.node, "make"), "make %s", why) }
	template := f.below("", "template").node
	switch {
	case out.GVK != schema.GroupVersionKind{Version: "v1", Kind: "Secret"} && !out.GVK.Empty():
		refuse("is for a child of kind Secret, apiVersion v1")
	case out.Existing == v1alpha1.ExistingMerge:
		refuse("does not go with existing: Merge, which never makes an object")
	case out.Apply != v1alpha1.ApplyApply:
		refuse("goes with apply: Apply only")
	}
	if n := syntax.LookupNode(template, "immutable"); n != nil && n.Value != "false" {
		c.At(syntax.KeyNode(template, "immutable"), "an immutable Secret could never be written again: its values are made, and renewed")
	}
	for _, name := range []string{"data", "stringData"} {
		n := syntax.LookupNode(template, name)
		if n != nil && n.Kind != yaml.MappingNode {
			c.At(n, "%s must be a mapping here: make sets other keys of it", name)
		}
	}
}

// recipeNames are the fields that say what a value is.
var recipeNames = []string{"random", "bytes", "uuid", "keyPair", "htpasswd", "ca", "certificate"}

// compileRecipe compiles one recipe; nil if it is not right.
func (c *policyCompiler) compileRecipe(f field, child string, value v1alpha1.MadeValue, s scope) *Made {
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
	for _, problem := range made.Recipe.Problems() {
		c.At(syntax.KeyNode(f.node, name), "%s: %s", name, problem)
	}
	return made
}

// checkMadeKeys checks the keys of the Secret's data that are named in a recipe.
func (c *policyCompiler) checkMadeKeys(f field, name string) {
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
func (c *policyCompiler) checkDataKey(f field) {
	if !f.isText() {
		return
	}
	for _, problem := range validation.IsConfigMapKey(f.node.Value) {
		c.At(f.node, "%q cannot be a key of a Secret's data: %s", syntax.ShortenText(f.node.Value), withoutRegex(problem))
	}
}

func (c *policyCompiler) compileRotation(f field, name string, spec *v1alpha1.Rotation) recipe.Rotation {
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
func (c *policyCompiler) readDuration(f field, otherwise time.Duration) time.Duration {
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

func (c *policyCompiler) compileCA(f field, child string, spec *v1alpha1.MadeCA) recipe.Recipe {
	return recipe.CA{
		CommonName: child, Algorithm: recipe.Algorithm(spec.Algorithm), Lifetime: c.readDuration(f.below("lifetime", "lifetime"), 0),
		RenewAt: cmp.Or(spec.RenewAt, defaultRenewAt), Propagation: c.readDuration(f.below("propagation", "propagation"), defaultPropagation),
	}
}

func (c *policyCompiler) compileCertificate(f field, spec *v1alpha1.MadeCertificate) recipe.Recipe {
	r := recipe.Certificate{
		Issuer: spec.Issuer, Algorithm: recipe.Algorithm(spec.Algorithm), Lifetime: c.readDuration(f.below("lifetime", "lifetime"), 0),
		RenewAt: cmp.Or(spec.RenewAt, defaultRenewAt),
		Server:  slices.Contains(spec.Usages, v1alpha1.UsageServer), Client: slices.Contains(spec.Usages, v1alpha1.UsageClient),
	}
	return r
}

// compileTexts compiles the texts of a recipe that may hold CEL. What holds none is put into the recipe, and so
// is a placeholder for what does.
func (c *policyCompiler) compileTexts(f field, made *Made, s scope, names ...string) {
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
func (c *policyCompiler) checkIssuer(f field, id string) string {
	at := f.below("", "issuer")
	if !at.isText() {
		return ""
	}
	children, watches := c.policy.Spec.Children, c.policy.Spec.Watches
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

// checkMadeTogether checks the recipes of one child beside each other and its template.
func (c *policyCompiler) checkMadeTogether(f field, out *Child) {
	var recipes []recipe.Recipe
	keys := map[string]bool{}
	for _, m := range out.Make {
		recipes = append(recipes, m.Recipe)
		for _, key := range slices.Concat(recipe.AllPrivateKeys(m.Recipe), m.Recipe.PublicKeys()) {
			if keys[key] {
				c.At(syntax.KeyNode(f.node, "make"), "two made values have the key %q", key)
			}
			keys[key] = true
		}
	}
	for _, m := range out.Make {
		if h, ok := m.Recipe.(recipe.Htpasswd); ok {
			for _, problem := range h.ProblemsAmong(recipes) {
				c.At(syntax.KeyNode(f.node, "make"), "htpasswd: %s", problem)
			}
		}
	}
	for _, name := range []string{"data", "stringData"} {
		syntax.EachPair(mappingOr(f.below("", "template", name).node), func(key, _ *yaml.Node) {
			if keys[key.Value] {
				c.At(key, "%s.%s is made: the template must not set it", name, key.Value)
			}
		})
	}
}

// mappingOr is a mapping, empty for what is none.
func mappingOr(n *yaml.Node) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return &yaml.Node{Kind: yaml.MappingNode}
	}
	return n
}

// finishMade says to each CA how long its certificates live, and checks that it is replaced in time. A CA whose Secret may be read
// by others issues certificates for this policy alone: its key can be read by nobody else's expressions.
func (c *policyCompiler) finishMade() {
	longest := map[string]time.Duration{}
	for _, child := range c.program.Children {
		for _, m := range child.Make {
			if r, ok := m.Recipe.(recipe.Certificate); ok {
				longest[m.Issuer] = max(longest[m.Issuer], r.Lifetime)
			}
		}
	}
	for _, child := range c.program.Children {
		for i, m := range child.Make {
			r, ok := m.Recipe.(recipe.CA)
			if !ok || longest[child.ID] == 0 {
				continue
			}
			r.LeafLifetime = longest[child.ID]
			m.Recipe = r
			for _, problem := range r.Problems() {
				k := slices.IndexFunc(c.policy.Spec.Children, func(s v1alpha1.Child) bool { return s.ID == child.ID })
				c.At(syntax.KeyNode(c.specField("", "children", k, "make", i).node, "ca"), "ca: %s", problem)
			}
		}
	}
}

// madePrivateKeys are the keys that no expression may read, by child: read from the document, since expressions are compiled before
// all children are.
func (c *policyCompiler) madePrivateKeys() map[string][]string {
	keys := map[string][]string{}
	for _, child := range c.policy.Spec.Children {
		for _, m := range child.Make {
			if m.CA != nil {
				keys[child.ID] = append(keys[child.ID], "tls.key", "next.key")
			}
			if m.Certificate != nil {
				keys[child.ID] = append(keys[child.ID], "tls.key")
			}
			if m.Key != "" {
				keys[child.ID] = append(keys[child.ID], m.Key)
			}
			if m.Rotate != nil && m.Rotate.KeepPrevious != "" {
				keys[child.ID] = append(keys[child.ID], m.Rotate.KeepPrevious)
			}
		}
	}
	return keys
}

// refusePrivate refuses what reads a made value of a child that is private, or all that its Secret has.
func (c *expressionCompiler) refusePrivate(n *yaml.Node, reads map[string]*fields.Set, s scope) {
	for _, name := range slices.Sorted(maps.Keys(reads)) {
		if of, set := c.readOf(name, reads[name], s); set != nil {
			c.refusePrivateOf(n, of, set)
		}
	}
}

func (c *expressionCompiler) refusePrivateOf(n *yaml.Node, child string, set *fields.Set) {
	for _, key := range c.private[child] {
		if !set.Touches("data", key) {
			continue
		}
		message := fmt.Sprintf("data[%q] of child %q is made and private: no expression can read it; name the Secret and the key where it is needed, as in secretKeyRef", key, child)
		if !set.Names("data", key) {
			message = fmt.Sprintf("the data of child %q has made values that are private: read single keys of it that are not, as in data['ca.crt']", child)
		}
		if at, offset := findText(n, regexp.MustCompile(`\b`+regexp.QuoteMeta(child)+`\b`)); at != nil {
			c.In(at, offset, "%s", message)
			return
		}
		c.At(n, "%s", message)
		return
	}
}

// refuseElementPrivate is refusePrivate for what is read of objects as elements of forEach, which is known at the end.
func (c *policyCompiler) refuseElementPrivate() {
	if c.Count() > 0 {
		return // it may have been said
	}
	for i, child := range c.program.Children {
		if set := c.reads[child.ID]; set != nil {
			c.refusePrivateOf(c.specField("", "children", i).node, child.ID, set)
		}
	}
}

// addMadeFields adds the fields that recipes check to those that are kept of a child and of issuers.
func (c *policyCompiler) addMadeFields() {
	for _, child := range c.program.Children {
		if len(child.Make) == 0 {
			continue
		}
		child.Fields.Add(v1alpha1.AnnotationMade).Add("metadata", "creationTimestamp")
		for _, annotation := range []string{v1alpha1.AnnotationMade, v1alpha1.AnnotationRotate} {
			child.Fields.Add("metadata", "annotations", annotation)
		}
		for _, key := range child.publicKeys() {
			child.Fields.Add("data", key)
		}
		i := slices.IndexFunc(c.policy.Spec.Children, func(s v1alpha1.Child) bool { return s.ID == child.ID })
		plain := c.specField("", "children", i, "template", "stringData").node
		syntax.EachPair(mappingOr(plain), func(key, _ *yaml.Node) { child.Fields.Add("data", key.Value) }) // as the API server has it
		for _, m := range child.Make {
			if i := slices.IndexFunc(c.program.Watches, func(w *Watch) bool { return w.ID == m.Issuer }); i >= 0 {
				c.program.Watches[i].Fields.Add("data", "tls.crt").Add("data", "ca.crt")
			}
		}
	}
}
