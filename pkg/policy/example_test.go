package policy_test

import (
	"fmt"

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
