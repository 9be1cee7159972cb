package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// addFilesFlag adds the repeatable -f to flags.
func addFilesFlag(flags *pflag.FlagSet, files *[]string) {
	flags.StringArrayVarP(files, "filename", "f", nil,
		"File or folder with policies (of a folder: its *.yaml and *.yml); - is stdin; may be given several times")
}

// addCRDsFlag adds the repeatable --crds to flags, where policies are compiled.
func addCRDsFlag(flags *pflag.FlagSet, crds *[]string) {
	flags.StringArrayVar(crds, "crds", nil,
		"File or folder with CustomResourceDefinitions, for the fields of their kinds and where they live; may be given several times")
}

// outputFlag is the value of -o: one of a fixed set of formats.
type outputFlag struct {
	value   *string
	allowed []string
}

var _ pflag.Value = outputFlag{}

// String implements pflag.Value.
func (f outputFlag) String() string {
	if f.value == nil {
		return ""
	}
	return *f.value
}

// Type implements pflag.Value.
func (f outputFlag) Type() string { return "format" }

// Set implements pflag.Value.
func (f outputFlag) Set(s string) error {
	if !slices.Contains(f.allowed, s) {
		return fmt.Errorf("allowed are %s", strings.Join(f.allowed, ", "))
	}
	*f.value = s
	return nil
}

// addOutputFlag adds -o with the allowed formats to flags; the present value is
// the default.
func addOutputFlag(flags *pflag.FlagSet, value *string, allowed ...string) {
	flags.VarP(outputFlag{value: value, allowed: allowed}, "output", "o",
		"Output format: "+strings.Join(allowed, ", "))
}

// Environment variables that a Pod's manifest sets: watchNamespaceVar is the one that
// operators by convention take their namespaces from, the others say where the process
// runs.
const (
	watchNamespaceVar = "WATCH_NAMESPACE"
	podNamespaceVar   = "POD_NAMESPACE"
	podNameVar        = "POD_NAME"
	podUIDVar         = "POD_UID"
)

// accountNamespaceFile is where a Pod finds the namespace of its ServiceAccount.
const accountNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// defaultNamespace is Ambit's own where nothing says so.
const defaultNamespace = "ambit-system"

// ownNamespaceDefault is what --help says of defaultOwnNamespace.
const ownNamespaceDefault = "(default: $" + podNamespaceVar + ", that of the Pod's ServiceAccount, or " + defaultNamespace + ")"

// defaultOwnNamespace is Ambit's own namespace where no flag says it.
func defaultOwnNamespace() string { return ownNamespace(os.Getenv, os.ReadFile) }

// ownNamespace is Ambit's own namespace as its surroundings say.
func ownNamespace(getenv func(string) string, readFile func(string) ([]byte, error)) string {
	if namespace := getenv(podNamespaceVar); namespace != "" {
		return namespace
	}
	if data, err := readFile(accountNamespaceFile); err == nil { // else this is no Pod
		if namespace := strings.TrimSpace(string(data)); namespace != "" {
			return namespace
		}
	}
	return defaultNamespace
}

// checkNamespaces returns the values of --namespaces, sorted, each once; or the
// usage error about the first that is not the name of a namespace.
func checkNamespaces(values []string) ([]string, error) {
	names := namesIn(strings.Join(values, ","))
	for _, name := range names {
		if err := checkNamespace("--namespaces", name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func checkNamespace(flag, name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return usageErrorf("%s: %q is not the name of a namespace: %s", flag, name, problems[0])
	}
	return nil
}

// namesIn splits a list at its commas; blanks are nothing, names come once,
// sorted.
func namesIn(list string) []string {
	var names []string
	for _, name := range strings.Split(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// indentExample indents the text of an example as cobra wants it.
func indentExample(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}
