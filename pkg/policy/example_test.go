package policy_test

import (
	"fmt"
	"strings"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

func ExampleCompile() {
	const text = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: web}
spec:
  owner: {apiVersion: example.com/v1, kind: App}
  children:
    - id: settings
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}"}
        data: {size: "${string(owner.spec.size)}"}
`
	documents, err := syntax.Parse("web.yaml", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(program.Name, "serves", program.Owner.GVK.Kind, "and makes", program.Children[0].GVK.Kind)
	fmt.Println(program.Place("children.settings.template.data.size"))
	// Output:
	// web serves App and makes ConfigMap
	// web.yaml:12
}

func ExampleErrors() {
	const text = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: web}
spec:
  owner:
    apiVersion: example.com/v1
    kind: App
    filter: >-
      object.spec.size > 0 &&
      obejct.spec.enabled
  varaibles: []
`
	documents, err := syntax.Parse("web.yaml", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = policy.Compile(documents[0])
	fmt.Println(err)
	// Output:
	// web.yaml:10:7: unknown variable or function "obejct" (did you mean "object"?); in scope: object
	//         obejct.spec.enabled
	//         ^
	// web.yaml:11:3: unknown field "varaibles" in spec (did you mean "variables"?)
	//     varaibles: []
	//     ^
}

func ExampleFunction() {
	functions, err := policy.NewFunctions(
		policy.Function("acme.slug", func(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }),
		policy.Function("acme.zone", func(region string, number int64) (string, error) {
			if number < 1 || number > 3 {
				return "", fmt.Errorf("a region has the zones 1 to 3, not %d", number)
			}
			return region + string(rune('a'+number-1)), nil
		}),
	)
	if err != nil {
		fmt.Println(err) // each mistake of each function
		return
	}
	const text = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: web}
spec:
  owner: {apiVersion: example.com/v1, kind: App}
  status:
    host: ${acme.slug(owner.spec.title)}.example.com
    zone: ${acme.zone(owner.spec.region, '1')}
`
	documents, err := syntax.Parse("web.yaml", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = policy.CompileWith(documents[0], policy.Options{Functions: functions})
	fmt.Println(err)
	// Output:
	// web.yaml:8:13: found no matching overload for 'acme.zone' applied to '(dyn, string)': it is acme.zone(string, int) -> string
	//       zone: ${acme.zone(owner.spec.region, '1')}
	//               ^
}
