package main

import (
	"cmp"
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

// untilStreams waits until the watches that Ambit has open at the API server, as
// its audit log shows them, are one of all Memcacheds, and one of Deployments and
// one of Pods in each of the namespaces.
func (d *demo) untilStreams(ctx context.Context, namespaces ...string) error {
	want := []string{"memcacheds everywhere"}
	for _, namespace := range namespaces {
		want = append(want, "deployments "+namespace, "pods "+namespace)
	}
	return d.untilOpen(ctx, want)
}

// untilNoStreams waits until Ambit has no watch open.
func (d *demo) untilNoStreams(ctx context.Context) error { return d.untilOpen(ctx, nil) }

// untilOpen waits until these watches are open: `resource namespace`.
func (d *demo) untilOpen(ctx context.Context, want []string) error {
	slices.Sort(want)
	var got []string
	err := wait.PollUntilContextCancel(ctx, auditInterval, true, func(context.Context) (bool, error) {
		open, err := d.control.Audit().OpenWatches(accountUser)
		if err != nil {
			return false, err
		}
		got = describe(open)
		return slices.Equal(got, want), nil
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("waiting until ambit's open watches are %q, they are %q: %w", want, got, err)
	}
	return nil
}

// describe returns what is watched where, sorted.
func describe(watches []cluster.Request) []string {
	var list []string
	for _, request := range watches {
		list = append(list, request.Resource+" "+cmp.Or(request.Namespace, "everywhere"))
	}
	slices.Sort(list)
	return list
}

// count tells what Ambit asked of the API server in all, by its audit log.
func (d *demo) count() error {
	requests, err := d.control.Audit().Since(cluster.Mark{}, accountUser)
	if err != nil {
		return err
	}
	var writes, reads, reviews, watches, refused int
	for _, r := range requests {
		switch {
		case r.IsWatchOpened():
			watches++
		case r.IsWatch():
		case r.IsRead():
			reads++
		case strings.HasSuffix(r.Resource, "reviews"):
			reviews++
		case r.IsWrite():
			writes++
		}
		if r.Code == http.StatusForbidden {
			refused++
		}
	}
	d.say("In all it opened %d watches (one that stays is opened anew every 3 to 4 s, which shows if the right is still there),", watches)
	d.say("did %d other reads and %d writes, and asked %d times what it may do; %d requests were refused.", reads, writes, reviews, refused)
	return nil
}
