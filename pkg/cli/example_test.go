package cli_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/cli"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// runAcme is all that `ambit` is, with functions that policies may call.
func runAcme(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	return cli.Main(ctx, args, streams, cli.WithFunctions(
		policy.Function("acme.slug", func(title string) string {
			return strings.ToLower(strings.ReplaceAll(title, " ", "-"))
		}),
		policy.Function("acme.zone", func(region string, number int64) (string, error) {
			if number < 1 || number > 3 {
				return "", fmt.Errorf("a region has the zones 1 to 3, not %d", number)
			}
			return region + string(rune('a'+number-1)), nil
		}),
	))
}

func ExampleWithFunctions() {
	const policies = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: web}
spec:
  owner: {apiVersion: example.com/v1, kind: App}
  status:
    host: ${acme.slug(owner.spec.title)}.example.com
    zone: ${acme.zone(owner.spec.region)}
`
	streams := genericiooptions.IOStreams{In: strings.NewReader(policies), Out: os.Stdout, ErrOut: os.Stdout}
	code := runAcme(context.Background(), []string{"acme", "validate", "-f", "-"}, streams) // a main gives os.Args
	fmt.Println("exit code", code)
	// Output:
	// <stdin>:8:13: found no matching overload for 'acme.zone' applied to '(dyn)': it is acme.zone(string, int) -> string
	//       zone: ${acme.zone(owner.spec.region)}
	//               ^
	// 1 mistake
	// exit code 1
}
