package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/manifests"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/simulate"
)

// renderOptions are the flags of `ambit render`.
type renderOptions struct {
	commandEnv
	// Files are the values of -f.
	Files []string
	// Owner is the file that holds the owner.
	Owner string
	// Observed are files and folders with what is in the cluster.
	Observed []string
	// CRDs are the values of --crds.
	CRDs []string
	// Namespace is that of the owner if its file does not say.
	Namespace string
	// At is the time of which expressions ask; empty: now. Until is up to when wakes are listed; empty: none are.
	At, Until string
	// Output is yaml, json or plan.
	Output string
}

func newRenderCommand(env commandEnv) *cobra.Command {
	o := &renderOptions{commandEnv: env, Output: "yaml"}
	cmd := &cobra.Command{
		Use:   "render -f POLICY --owner FILE [--observed FILE|FOLDER]",
		Short: "Print what would be made for an owner, and its new status, without a cluster",
		Long: `Print the children that a policy wants for an owner, then the owner with its new
status, as in one pass of ` + "`ambit run`" + `. Opens no socket.

--observed is what the pass sees in the cluster: the children that are there and
the objects that the policy watches, as kubectl prints them. So that such files
can be short:

  - an object without a namespace is in the owner's, if its kind has namespaces;
  - an object of the kind of a child that has neither metadata.uid nor
    metadata.ownerReferences counts as made by Ambit for this owner, and the owner
    as having the record of it (annotation ` + v1alpha1.AnnotationChildren + `), where one is needed;
  - an object that fields were merged into has them in metadata.managedFields;
  - an owner without metadata.uid gets the uid ` + simulate.PlaceholderUID + `.

Which kinds have namespaces is known of Kubernetes' own; of others --crds says it,
else they are taken to have them. Expressions are checked as by ` + "`ambit validate --crds`" + `.

Expressions that ask the time are answered as of --at. With --until the times up to
then are listed at which the result changes by itself, with what is different at each,
as long as nothing is done and nobody changes anything.

Times are left out of the conditions. Exit code 1 when the owner would be Stalled.`,
		Example: indentExample(`
# What a new owner gets
ambit render -f policies/memcached.yaml --owner owner.yaml

# The status once Deployment and Pods are there
kubectl get deployments,pods -o yaml > observed.yaml
ambit render -f policies/memcached.yaml --owner owner.yaml --observed observed.yaml

# What a schedule comes to in the first week of December
ambit render -f policies/cron-job.yaml --owner owner.yaml --at 2026-12-01T00:00:00Z --until 2026-12-08T00:00:00Z

# What would be done, and why
ambit render -f policies/memcached.yaml --owner owner.yaml -o plan`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.Run(cmd.Context()) },
	}
	flags := cmd.Flags()
	addFilesFlag(flags, &o.Files)
	flags.StringVar(&o.Owner, "owner", "", "File with the owner; - is stdin")
	flags.StringArrayVar(&o.Observed, "observed", nil, "File or folder with what is in the cluster; may be given several times")
	addCRDsFlag(flags, &o.CRDs)
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "Namespace of the owner, where its file does not say")
	flags.StringVar(&o.At, "at", "", "Time of which expressions ask, as in 2026-11-27T03:00:00Z; default now")
	flags.StringVar(&o.Until, "until", "", "List the times until then at which the result changes by itself")
	addOutputFlag(flags, &o.Output, "yaml", "json", "plan")
	return cmd
}

// Run prints the children and the owner's status.
func (o *renderOptions) Run(ctx context.Context) error {
	policies, err := manifests.LoadPolicies(o.Files, o.CRDs, defaultOwnNamespace(), o.Functions, o.In)
	if err != nil {
		return err
	}
	if _, err := validPrograms(policies, o.ErrOut); err != nil {
		return err
	}
	if o.Owner == "" {
		return usageErrorf("no owner was given: use --owner FILE")
	}
	owner, err := manifests.ReadObject(o.Owner, "the owner", o.In)
	if err != nil {
		return err
	}
	if owner.GetNamespace() == "" {
		owner.SetNamespace(o.Namespace)
	}
	program, err := programFor(owner, policies.Programs)
	if err != nil {
		return err
	}
	observed, err := manifests.ReadObjects(o.Observed, o.In)
	if err != nil {
		return err
	}
	times, err := o.readTimes()
	if err != nil {
		return err
	}
	in := simulationOf(program, owner, observed, policies.Kinds)
	in.Now = times.at
	result := simulate.Reconcile(ctx, in)
	if result.LeftAlone != "" {
		fmt.Fprintf(o.ErrOut, "policy %q leaves this owner alone: %s\n", program.Name, result.LeftAlone)
		return nil
	}
	if !times.until.IsZero() {
		return printWakes(ctx, o.Out, in, times.until)
	}
	if err := o.printResult(result); err != nil {
		return err
	}
	return stalledError(result.Plan)
}

// programFor returns the one policy for the owner's kind.
func programFor(owner *unstructured.Unstructured, programs []*policy.Program) (*policy.Program, error) {
	var found []*policy.Program
	var names []string
	for _, program := range programs {
		if program.Owner.GVK == owner.GroupVersionKind() {
			found = append(found, program)
			names = append(names, program.Name)
		}
	}
	switch len(found) {
	case 0:
		return nil, usageErrorf("no policy is for owners of kind %s in %s", owner.GetKind(), owner.GetAPIVersion())
	case 1:
		return found[0], nil
	}
	return nil, usageErrorf("more than one policy is for owners of kind %s in %s: %s: give one of them",
		owner.GetKind(), owner.GetAPIVersion(), joinNames(names))
}

// simulationOf returns what a reconcile of an owner from a file is simulated with. The owner is in namespace
// default if nothing says where, as for kubectl.
func simulationOf(program *policy.Program, owner *unstructured.Unstructured, observed []*unstructured.Unstructured, kinds manifests.Kinds) simulate.Input {
	if owner.GetNamespace() == "" && kinds.IsSurelyNamespaced(owner.GroupVersionKind()) {
		owner.SetNamespace("default")
	}
	return simulate.Input{Program: program, Owner: owner, Observed: observed, IsNamespaced: kinds.IsNamespaced}
}

// printResult writes the result in the format that was asked for.
func (o *renderOptions) printResult(result simulate.Result) error {
	if o.Output == "plan" {
		_, err := fmt.Fprint(o.Out, result.PlanText())
		return err
	}
	var objects []any
	for _, object := range append(result.DesiredObjects(), result.Owner()) {
		objects = append(objects, object.Object)
	}
	return printObjects(o.Out, o.Output, objects)
}

// stalledError returns the error of a plan that will not come to its end by waiting.
func stalledError(p *plan.Plan) error {
	for _, c := range p.Conditions {
		if c.Type == v1alpha1.ConditionStalled {
			return &exitError{code: exitFindings, err: errors.New(c.Reason + ": " + c.Message)}
		}
	}
	return nil
}
