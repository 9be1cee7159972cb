package cel

import (
	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"
)

// newBaseEnv makes an environment with all that Kubernetes lets into expressions that are stored: a
// policy is not read by an older API server. It is what the package environment of k8s.io/apiserver
// makes for that, which comes with the feature gates and the metrics of an API server; TestBaseEnv
// holds the two to be the same. The options of that one for programs, and its estimation of costs, are
// left out: package sandbox makes the programs, and meters them.
func newBaseEnv() (*celgo.Env, error) {
	return celgo.NewEnv(
		celgo.HomogeneousAggregateLiterals(),
		celgo.EagerlyValidateDeclarations(true),
		celgo.DefaultUTCTimeZone(true),
		celgo.CrossTypeNumericComparisons(true),
		celgo.OptionalTypes(),
		celgo.ASTValidators(
			celgo.ValidateDurationLiterals(),
			celgo.ValidateTimestampLiterals(),
			celgo.ValidateRegexLiterals(),
			celgo.ValidateHomogeneousAggregateLiterals(),
		),
		ext.Lists(ext.ListsVersion(3)),
		ext.Sets(),
		ext.Strings(ext.StringsVersion(2)),
		ext.TwoVarComprehensions(),
		library.Authz(),
		library.AuthzSelectors(),
		library.CIDR(),
		library.Format(),
		library.IP(),
		library.Lists(library.ListsVersion(1)),
		library.Quantity(),
		library.Regex(),
		library.SemverLib(library.SemverVersion(1)),
		library.URLs(),
	)
}
