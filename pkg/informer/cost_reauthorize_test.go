package informer

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkVerify is what it costs this process to open idle watches again and
// again, beside what they cost anyway: CPU in percent of one core. The audit log
// says that nothing is listed.
func BenchmarkVerify(b *testing.B) {
	for _, streams := range []int{0, 200, 600} {
		for _, on := range []bool{false, true} {
			if streams > 0 || !on {
				b.Run(fmt.Sprintf("streams=%d/on=%t", streams, on), func(b *testing.B) { benchVerify(b, streams, on) })
			}
		}
	}
}

func benchVerify(b *testing.B, streams int, on bool) {
	const settling, measured = 15 * time.Second, 30 * time.Second
	config := control.Cluster(b).Admin()
	config.UserAgent = b.Name()
	s := NewSet(Options{Clients: shared(b, config), Reauthorize: on})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- s.Start(ctx) }()
	synced := make(chan Event, 10*streams)
	needs := make([]Interest, streams)
	for i := range needs {
		needs[i] = configMapsIn("default")
		needs[i].Key.LabelSelector = fmt.Sprint("owner=", i)
	}
	s.Require(&forwarder{synced}, needs)
	for range needs {
		<-synced
	}
	for b.Loop() {
		<-time.After(settling)
		mark, before, reopened := control.Cluster(b).Audit().Mark(), cpu(b), s.CountReopened()
		<-time.After(measured)
		b.ReportMetric(100*(cpu(b)-before).Seconds()/measured.Seconds(), "cpu-%")
		b.ReportMetric(float64(s.CountReopened()-reopened)/measured.Seconds(), "reopens/s")
		requests, err := control.Cluster(b).Audit().Since(mark, "")
		if err != nil {
			b.Fatal(err)
		}
		lists := 0
		for _, r := range requests {
			if r.UserAgent == b.Name() && (r.Verb == "list" || strings.Contains(r.URI, "sendInitialEvents") && r.IsWatchOpened()) {
				lists++
			}
		}
		b.ReportMetric(float64(lists), "lists")
	}
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// cpu is what this process has used.
func cpu(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
