package policy

import (
	"cmp"
	"fmt"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// ensured compiles the objects of the policy itself.
func (c *compiler) ensured() {
	for i, spec := range c.policy.Spec.Ensure {
		what, path := "ensure."+spec.ID, fmt.Sprintf("spec.ensure[%d].template", i)
		f := c.field(what, "ensure", i)
		c.place(what, f.node)
		template := f.below(what+".template", "template")
		c.program.Ensured = append(c.program.Ensured, &Child{
			ID:             spec.ID,
			GVK:            c.gvk(template.node, path, true),
			Template:       c.template(template, scope{vars: []string{"policy"}}),
			CrossNamespace: isElsewhere(template.node),
			OnDelete:       cmp.Or(spec.OnDelete, v1alpha1.DeleteDelete),
		})
		c.checkTemplate(template.node, path)
	}
}

// protect compiles what holds back the deletion of owners.
func (c *compiler) protect() {
	if c.policy.Spec.Protect == nil {
		return
	}
	f := c.field("protect", "protect")
	c.place(f.what, f.node)
	c.program.Protect = &Protect{
		While:   c.expr(f.below("protect.while", "while"), c.everything(), wantBool),
		Message: c.expr(f.below("protect.message", "message"), c.everything(), wantString),
	}
}
