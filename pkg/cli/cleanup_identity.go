package cli

import (
	"fmt"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// actors returns the programs as Ambit would run them in the cluster: a policy of another
// namespace than Ambit's own acts as a ServiceAccount of its namespace, and has the scope of
// it. With AsCaller all act as the caller instead, where their files say. It says on stderr
// as whom each acts that does not act as the caller.
func (o *cleanupOptions) actors(programs []*policy.Program) []*policy.Program {
	acting := make([]*policy.Program, len(programs))
	for i, program := range programs {
		if o.AsCaller {
			as := *program
			as.ServiceAccount = ""
			acting[i] = &as
			continue
		}
		acting[i] = program.InCluster(o.Namespace)
		if account := acting[i].Identity(); account != "" {
			fmt.Fprintf(o.ErrOut, "policy %q acts as %s, as it would in the cluster; with --as-caller as you\n", program.Name, account)
		}
	}
	return acting
}
