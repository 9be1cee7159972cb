package manager

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Options are the inputs of Run.
type Options struct {
	// Config says how to reach the API server, and as whom. Its QPS and Burst are
	// used as they are: set QPS to -1 for no limit on this side. Required.
	Config *rest.Config
	// Reads are informers and reviews that others in this process have as well, of the same Config. Nil: Run has its own.
	Reads *Reads
	// Programs are the policies to run; policy.CheckConflicts says which can. Those with Retire are
	// cleaned up after.
	Programs []*policy.Program
	// Sources are where policies come from that may change; nil: there are only Programs.
	// Not together with Programs and Retire.
	Sources *Sources
	// Retire are policies to clean up after, as controller.Options has them.
	Retire []*policy.Program
	// While runs beside the engine, if not nil; when it returns, Run stops. Its context
	// ends when Run stops for another reason.
	While func(context.Context, *controller.Controller)
	// Namespaces limits all policies to these namespaces. Empty: no limit.
	Namespaces []string
	// Concurrency is how many owners are worked on at once. 0 means 10.
	Concurrency int
	// Election says which of several replicas works. The zero Election: this one.
	Election Election
	// ProbeAddress is where /healthz and /readyz are served by HTTP to anybody, such as
	// ":8081"; empty or "0": nowhere.
	ProbeAddress string
	// PprofAddress is where profiles are served by HTTP to anybody; empty or "0":
	// nowhere.
	PprofAddress string
	// Metrics is where metrics are registered while Run runs. Nil: nowhere.
	Metrics prometheus.Registerer
	// MetricsServer says how the metrics of controller-runtime's registry are served at
	// /metrics, and the names that /readyz only counts at /policies. The zero
	// MetricsServer: not at all.
	MetricsServer MetricsServer
	// OnWatchError is told of each list or watch that fails, as informer.Options has it:
	// it must not block. Nil: nobody is.
	OnWatchError func(informer.WatchError)
	// ReturnMemory gives memory back to the system when it has become quiet after a burst of
	// work. It collects the garbage of the whole process and returns all of its free pages, so
	// it is for a program that is Ambit and nothing else: `ambit run` sets it.
	ReturnMemory bool
	// Tracer makes spans of what is done. Nil: none.
	Tracer trace.Tracer
	// Logger is for people. The zero Logger writes nothing.
	Logger logr.Logger
}

// MetricsServer says how metrics are served.
type MetricsServer struct {
	// Address is such as ":8443"; empty or "0": they are not served.
	Address string
	// Insecure: by HTTP and to anybody, not by HTTPS and to those whose token the API
	// server knows and who may get /metrics.
	Insecure bool
	// Certificates is a folder with tls.crt and tls.key, which are read again when they
	// change. Empty: a certificate is made, that nobody else has signed.
	Certificates string
	// HTTP2 allows HTTP/2, which has seen attacks that HTTP/1.1 has not.
	HTTP2 bool
}

// Election says which of several replicas works. All serve probes and metrics.
type Election struct {
	// Mode is one of Election*; empty means ElectionOff.
	Mode string
	// Namespace is where the replicas meet; for ElectionLife that of the Pod. Required
	// but for ElectionOff.
	Namespace string
	// Pod is the name of this Pod. Required for ElectionLife.
	Pod string
	// PodUID is its uid, which tells it from another one that gets its name. Empty: the uid
	// of whichever Pod has the name when ElectionLife begins.
	PodUID string
}

// The modes of Election.
const (
	// ElectionOff: this process works, whoever else does.
	ElectionOff = "off"
	// ElectionLease: who holds a Lease works. It is given back at a clean stop, and runs
	// out when its holder does not renew it.
	ElectionLease = "lease"
	// ElectionLife: who was first works until its Pod is gone. See package life.
	ElectionLife = "life"
)

// validateOptions returns the first mistake in the options.
func (o Options) validateOptions() error {
	switch mode := o.Election.Mode; {
	case o.Sources != nil && len(o.Programs)+len(o.Retire) > 0:
		return errors.New("policies come from sources, or are given; not both")
	case mode == "" || mode == ElectionOff:
	case mode != ElectionLease && mode != ElectionLife:
		return fmt.Errorf("leader election %q is none of %s, %s and %s", mode, ElectionOff, ElectionLease, ElectionLife)
	case o.Election.Namespace == "":
		return fmt.Errorf("leader election by %s needs a namespace", mode)
	case mode == ElectionLife && o.Election.Pod == "":
		return fmt.Errorf("leader election for life needs the name of the Pod that this process runs in")
	}
	return checkImpersonation(o)
}

// loggerOrDiscard is never without a sink: controller-runtime would take its own instead.
func (o Options) loggerOrDiscard() logr.Logger {
	if o.Logger.GetSink() == nil {
		return logr.New(ctrllog.NullLogSink{})
	}
	return o.Logger
}

// isOff says whether an address is none.
func isOff(address string) bool { return address == "" || address == "0" }
