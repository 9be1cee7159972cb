package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// auditInterval is how often the audit log is looked at: it is a file, and does
// not say when it changes.
const auditInterval = 50 * time.Millisecond

// untilStreams waits until the watches that Ambit has open at the API server,
// as its audit log shows them, are exactly these: `resource namespace`, sorted,
// joined by commas.
func (d *demo) untilStreams(ctx context.Context, want string) error {
	got := ""
	err := wait.PollUntilContextCancel(ctx, auditInterval, true, func(context.Context) (bool, error) {
		open, err := d.control.Audit().OpenWatches(accountUser)
		if err != nil {
			return false, err
		}
		var streams []string
		for _, request := range open {
			streams = append(streams, request.Resource+" "+request.Namespace)
		}
		slices.Sort(streams)
		got = strings.Join(streams, ", ")
		return got == want, nil
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("waiting until ambit's open watches are %q, they are %q: %w", want, got, err)
	}
	return nil
}
