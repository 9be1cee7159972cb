package cli

import (
	"fmt"
	"strings"
)

// show writes one line of a case, and what is different below it.
func (o *testOptions) show(each outcome) {
	if each.Result == unreadable {
		fmt.Fprintf(o.ErrOut, "error: %s: %s\n", each.Case, strings.ReplaceAll(strings.TrimSpace(each.Message), "\n", "\n  "))
	}
	if o.Output != "" {
		return
	}
	switch each.Result {
	case passed:
		fmt.Fprintf(o.Out, "ok  %s\n", each.Case)
	case updated:
		fmt.Fprintf(o.Out, "updated  %s\n", each.Case)
	default:
		fmt.Fprintf(o.Out, "FAIL %s\n%s", each.Case, each.Diff)
	}
}
