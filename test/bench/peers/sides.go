package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ambit-dev/ambit/test/bench/report"
	"github.com/ambit-dev/ambit/test/bench/stage"
)

// The sides.
const (
	sideAmbit               = "ambit"
	sideKro                 = "kro"
	sideKroTuned            = "kro-tuned"
	sideMetacontroller      = "metacontroller"
	sideMetacontrollerTuned = "metacontroller-tuned"
)

// allSides returns the names of all sides in the order of the table.
func allSides() []string {
	return []string{sideAmbit, sideKro, sideKroTuned, sideMetacontroller, sideMetacontrollerTuned}
}

// unlimited is more requests a second than anybody sends.
const unlimited = "100000"

// side is one that takes part. The zero value of what it has not means that it needs none.
type side struct {
	name string
	// what is the program that it is, with its version.
	what string
	// command is the program with its arguments, but for the kubeconfig.
	command []string
	// rules are its rights.
	rules []rbacv1.PolicyRule
	// kinds are the definitions and objects that it needs.
	kinds [][]byte
	// group is that of its owners, if it makes their kind itself.
	group string
	// hooks: composite.yaml is applied too, and the webhook runs beside it.
	hooks bool
}

// absentError says why a peer cannot take part.
type absentError struct {
	peer   string
	reason error
}

func (e absentError) Error() string { return e.peer + " is left out: " + e.reason.Error() }
func (e absentError) Unwrap() error { return e.reason }

// pickSides returns the sides that the options name, and of those that cannot be had why.
func pickSides(ctx context.Context, o options) (sides []side, absent []error, err error) {
	for i, name := range o.Sides {
		if !slices.Contains(allSides(), name) {
			return nil, nil, fmt.Errorf("no side %q: there are %s", name, strings.Join(allSides(), ", "))
		}
		if slices.Contains(o.Sides[:i], name) {
			return nil, nil, fmt.Errorf("side %q is named twice", name)
		}
		s, err := newSide(ctx, o, name)
		if missing := (absentError{}); errors.As(err, &missing) {
			report.Progress("%v", err)
			if !slices.ContainsFunc(absent, func(other error) bool { return other.Error() == err.Error() }) {
				absent = append(absent, err)
			}
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		s.name = name
		sides = append(sides, s)
	}
	if len(sides) == 0 {
		return nil, nil, errors.Join(append(absent, errors.New("no side can take part"))...)
	}
	return sides, absent, nil
}

// newSide returns the side of that name, or an absentError.
func newSide(ctx context.Context, o options, name string) (side, error) {
	switch name {
	case sideKro:
		return newKro(ctx, o)
	case sideKroTuned:
		return newKro(ctx, o,
			"--dynamic-controller-concurrent-reconciles="+strconv.Itoa(o.Workers),
			"--dynamic-controller-rate-limiter-rate-limit="+unlimited, "--dynamic-controller-rate-limiter-burst-limit="+unlimited,
			"--client-qps="+unlimited, "--client-burst="+unlimited)
	case sideMetacontroller:
		return newMetacontroller(o)
	case sideMetacontrollerTuned:
		return newMetacontroller(o, "--workers="+strconv.Itoa(o.Workers), "--client-go-qps="+unlimited, "--client-go-burst="+unlimited)
	}
	return side{
		what:    "Ambit of this tree",
		command: []string{filepath.Join(o.Bin, "ambit"), "run", "-f", "policies/memcached.yaml", "--concurrency=" + strconv.Itoa(o.Workers)},
		rules:   stage.MemcachedRules(),
	}, nil
}

// newMetacontroller is metacontroller with more flags, if a binary was given.
func newMetacontroller(o options, more ...string) (side, error) {
	const peer = "metacontroller"
	if o.Metacontroller == "" || o.MetacontrollerKinds == "" {
		return side{}, absentError{peer, errors.New("no Go module proxy has it, as its module is named without a domain; -metacontroller and -metacontroller-kinds take a binary and the file with its definitions")}
	}
	if _, err := os.Stat(o.Metacontroller); err != nil {
		return side{}, absentError{peer, err}
	}
	kinds, err := os.ReadFile(o.MetacontrollerKinds)
	if err != nil {
		return side{}, absentError{peer, err}
	}
	command := []string{o.Metacontroller, "--metrics-address=0", "--health-probe-bind-address=0"}
	return side{
		what: peer, command: append(command, more...), kinds: [][]byte{kinds}, hooks: true,
		rules: append(stage.MemcachedRules(), []rbacv1.PolicyRule{
			// It puts a finalizer on an owner only with a finalize hook; its status it writes as a whole.
			stage.Rule("cache.example.com", "memcacheds", "patch", "update"),
			stage.Rule("metacontroller.k8s.io", "*", "*"),
			stage.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list", "watch"),
			stage.Rule("", "events", "create", "patch"),
			stage.Rule("", "namespaces", "get", "list", "watch"),
		}...),
	}, nil
}
