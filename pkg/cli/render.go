package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// renderOptions are the flags of `ambit render`.
type renderOptions struct {
	genericiooptions.IOStreams
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
	// Output is yaml, json or plan.
	Output string
}

func newRender(streams genericiooptions.IOStreams) *cobra.Command {
	o := &renderOptions{IOStreams: streams, Output: "yaml"}
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
  - an owner without metadata.uid gets the uid ` + placeholderUID + `.

Which kinds have namespaces is known of Kubernetes' own; of others --crds says it,
else they are taken to have them. Expressions are checked as by ` + "`ambit validate --crds`" + `.

Times are left out of the conditions. Exit code 1 when the owner would be Stalled.`,
		Example: example(`
# What a new owner gets
ambit render -f policies/memcached.yaml --owner owner.yaml

# The status once Deployment and Pods are there
kubectl get deployments,pods -o yaml > observed.yaml
ambit render -f policies/memcached.yaml --owner owner.yaml --observed observed.yaml

# What would be done, and why
ambit render -f policies/memcached.yaml --owner owner.yaml -o plan`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.Run(cmd.Context()) },
	}
	flags := cmd.Flags()
	addFilesFlag(flags, &o.Files)
	flags.StringVar(&o.Owner, "owner", "", "File with the owner; - is stdin")
	flags.StringArrayVar(&o.Observed, "observed", nil, "File or folder with what is in the cluster; may be given several times")
	flags.StringArrayVar(&o.CRDs, "crds", nil, crdsUsage)
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "Namespace of the owner, where its file does not say")
	addOutputFlag(flags, &o.Output, "yaml", "json", "plan")
	return cmd
}

// Run prints the children and the owner's status.
func (o *renderOptions) Run(ctx context.Context) error {
	sources, err := readPolicies(o.Files, o.In)
	if err != nil {
		return err
	}
	known, err := readDefinitions(o.CRDs, o.In)
	if err != nil {
		return err
	}
	programs, err := compile(sources, known.schemas).valid(o.ErrOut)
	if err != nil {
		return err
	}
	if o.Owner == "" {
		return usageErrorf("no owner was given: use --owner FILE")
	}
	owner, err := readOwner(o.Owner, o.Namespace, o.In)
	if err != nil {
		return err
	}
	program, err := choose(programs, owner)
	if err != nil {
		return err
	}
	observed, err := readObserved(o.Observed, o.In)
	if err != nil {
		return err
	}
	r := pass{program: program, owner: owner, observed: observed, kinds: known.kinds}.run(ctx)
	if r.alone != "" {
		fmt.Fprintf(o.ErrOut, "policy %q leaves this owner alone: %s\n", program.Name, r.alone)
		return nil
	}
	if err := o.print(r); err != nil {
		return err
	}
	return stalled(r.plan)
}

// readOwner reads the one owner in a file, made complete.
func readOwner(path, namespace string, stdin io.Reader) (*unstructured.Unstructured, error) {
	f, err := readFile(path, stdin)
	if err != nil {
		return nil, err
	}
	objects, err := readObjects([]file{f})
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, usageErrorf("%s holds %s, must be one: the owner", f.name, plural(len(objects), "object"))
	}
	return completeOwner(objects[0], namespace), nil
}

// readObserved reads what is in the cluster.
func readObserved(names []string, stdin io.Reader) ([]*unstructured.Unstructured, error) {
	files, err := readFiles(names, stdin)
	if err != nil {
		return nil, err
	}
	return readObjects(files)
}

// choose returns the one policy for the owner's kind.
func choose(programs []*policy.Program, owner *unstructured.Unstructured) (*policy.Program, error) {
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
		owner.GetKind(), owner.GetAPIVersion(), strings.Join(names, ", "))
}

// stalled returns the error of a plan that will not come to its end by waiting.
func stalled(p *plan.Plan) error {
	for _, c := range p.Conditions {
		if c.Type == v1alpha1.ConditionStalled {
			return &exitError{code: exitFindings, err: errors.New(c.Reason + ": " + c.Message)}
		}
	}
	return nil
}
