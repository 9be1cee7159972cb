package policysource

import (
	"fmt"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// actAs returns the program as the one that it may be by its origin: a policy from a
// file acts as Ambit unless it names a ServiceAccount, the others as policies in the
// cluster do (see policy.Program.InCluster). The error is that of a text that says
// another namespace than the one that it stands in.
func actAs(p *policy.Program, from Origin, own string) (*policy.Program, error) {
	if from.Kind == File {
		return p, nil
	}
	if p.Namespace != from.Namespace {
		return nil, fmt.Errorf("metadata.namespace is %q, but this is in namespace %q", p.Namespace, from.Namespace)
	}
	return p.InCluster(own), nil
}
