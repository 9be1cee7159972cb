package cli

import (
	"cmp"
	"fmt"
	"os"

	"github.com/ambit-dev/ambit/pkg/internal/rbac"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// own is Ambit's own namespace, for an Ambit that runs as a subject: where a
// ServiceAccount is, there it runs.
func (o *rightsOptions) own(subject rbac.Subject) string {
	return cmp.Or(o.OwnNamespace, subject.Namespace, ownNamespace(os.Getenv, os.ReadFile))
}

// applied returns the programs as they run in the cluster, and says on stderr what of
// that is taken to be so: a file does not say what becomes of it. A policy that says another
// namespace than Ambit's own is taken as applied to that one, as nothing else can be
// meant by it but by mistake.
func (o *rightsOptions) applied(programs []*policy.Program, own string) []*policy.Program {
	applied := make([]*policy.Program, 0, len(programs))
	for _, program := range programs {
		as := program.InCluster(own)
		applied = append(applied, as)
		switch {
		case program.Namespace == "":
			o.note("policy %q has no metadata.namespace: it is taken to act as Ambit, in a file of `ambit run -f` or in namespace %q; write the namespace into it if it is applied to another one",
				program.Name, own)
		case as.Identity() != program.Identity() || as.Hash != program.Hash:
			o.note("policy %q is taken as applied to namespace %q: it acts as %s, for owners in %s; a file of `ambit run -f` is not limited so: for that say --own-namespace %s",
				program.Name, program.Namespace, as.Identity(), ownersOf(program), program.Namespace)
		}
	}
	return applied
}

// ownersOf says where a policy of another namespace than Ambit's own has its owners.
func ownersOf(program *policy.Program) string {
	if program.HasScope() {
		return "its scope"
	}
	return "that namespace"
}

// note says on stderr what is taken to be so.
func (o *rightsOptions) note(format string, args ...any) {
	fmt.Fprintf(o.ErrOut, "note: "+format+"\n", args...)
}
