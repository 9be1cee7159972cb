package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ambit-dev/ambit/test/cluster"
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

// count tells what Ambit asked of the API server in all, by its audit log.
func (d *demo) count() error {
	requests, err := d.control.Audit().Since(cluster.Mark{}, accountUser)
	if err != nil {
		return err
	}
	var writes, reads, watches, refused int
	for _, r := range requests {
		switch {
		case r.IsWatchOpened():
			watches++
		case r.IsWatch():
		case r.IsRead():
			reads++
		case r.IsWrite() && r.Resource != "selfsubjectreviews":
			writes++
		}
		if r.Code == http.StatusForbidden {
			refused++
		}
	}
	d.say("In all it opened %d watches, did %d other reads and %d writes; %d requests were refused.", watches, reads, writes, refused)
	return nil
}
