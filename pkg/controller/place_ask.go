package controller

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/access"
)

// ask keeps an eye on what may be done in a place, to an extent at least. What was
// asked before stays so until it is dropped.
func (op *operator) ask(namespace string, e extent) {
	op.mu.Lock()
	before, ok := op.asked[namespace]
	enough := ok && before.complete && before.extent >= e
	op.mu.Unlock()
	if enough {
		return
	}
	op.asking.Lock()
	defer op.asking.Unlock()
	op.mu.Lock()
	if before, ok := op.asked[namespace]; ok { // perhaps by another worker, in between
		e = max(e, before.extent)
	}
	op.mu.Unlock()
	op.putLocked(namespace, e)
}

// askAnew declares anew what is asked about each place: a kind may have another resource
// than it had.
func (op *operator) askAnew() {
	op.asking.Lock()
	defer op.asking.Unlock()
	op.mu.Lock()
	extents := make(map[string]extent, len(op.asked))
	for namespace, a := range op.asked {
		extents[namespace] = a.extent
	}
	op.mu.Unlock()
	for namespace, e := range extents {
		op.putLocked(namespace, e)
	}
}

// put declares what is asked about a place, unless that is what was asked before.
func (op *operator) put(namespace string, e extent) {
	op.asking.Lock()
	defer op.asking.Unlock()
	op.putLocked(namespace, e)
}

// putLocked is put; the caller holds asking.
func (op *operator) putLocked(namespace string, e extent) {
	needs, complete := op.needs()
	op.mu.Lock()
	used := op.uses.at(namespace)
	op.mu.Unlock()
	next := &asked{extent: e, complete: complete, since: op.engine.now()}
	next.accesses, next.required = op.accesses(needs, namespace, e, used)
	op.mu.Lock()
	next.payer = op.payerLocked(namespace, e)
	before, ok := op.asked[namespace]
	if ok && slices.Equal(before.accesses, next.accesses) && before.required == next.required {
		before.extent, before.complete = e, complete
		if before.payer != next.payer {
			before.payer = next.payer
			op.engine.options.Access.Require(place{op, namespace}, access.Key{Identity: op.identity, Namespace: namespace}, before.accesses, before.payer)
		}
		op.mu.Unlock()
		return
	}
	if ok {
		next.since, next.logged, next.before = before.since, before.logged, before.answer()
	} else if known, ok := op.bequests[namespace]; ok {
		next.logged, next.before, next.told = known.logged, known.answer, known.told
	}
	op.asked[namespace] = next
	// In one step, which makes no request: what is known of accesses that are not kept may
	// be hours old, and nobody is to take it for the answer.
	op.engine.options.Access.Require(place{op, namespace}, access.Key{Identity: op.identity, Namespace: namespace}, next.accesses, next.payer)
	op.mu.Unlock()
}

// payerLocked is on whose account a place is asked about: the policy's own where owners
// are, or are looked for, else that of an owner that makes use of it. The caller holds mu.
func (op *operator) payerLocked(namespace string, e extent) access.Payer {
	payer, used := op.uses.payers[namespace]
	if e > asUsed || namespace == allNamespaces || !used {
		return access.Payer{Group: op.id}
	}
	return access.Payer{Group: op.id, Tenant: tenantOf(payer), Name: payer.Name}
}

// leave is called when the last owner in a namespace is gone: nothing more is asked
// about it than what it takes to see the next one, if it is there that one is
// looked for, and what owners elsewhere make use of there.
func (op *operator) leave(namespace string) {
	op.asking.Lock()
	defer op.asking.Unlock()
	op.leaveLocked(namespace)
}

// leaveLocked is leave; the caller holds asking. It also takes the answer in: that less
// is asked is no news to anybody, and what is still missing is reported all the same.
func (op *operator) leaveLocked(namespace string) {
	defer op.answer(namespace)
	op.mu.Lock()
	busy, candidate := op.owners.WorkingIn(namespace) > 0, slices.Contains(op.candidates, namespace)
	used := len(op.uses.places[namespace]) > 0
	op.mu.Unlock()
	switch {
	case busy: // another one has come
	case namespace == allNamespaces: // it is asked about for all
	case candidate:
		op.putLocked(namespace, toSee)
	case used:
		op.putLocked(namespace, asUsed)
	default:
		op.dropLocked(namespace)
	}
}

// drop forgets a place, but for what owners make use of there.
func (op *operator) drop(namespace string) {
	op.asking.Lock()
	defer op.asking.Unlock()
	op.mu.Lock()
	used := len(op.uses.places[namespace]) > 0
	op.mu.Unlock()
	if used {
		defer op.answer(namespace) // as in leaveLocked
		op.putLocked(namespace, asUsed)
		return
	}
	op.dropLocked(namespace)
}

// dropLocked asks nothing about a place any more; the caller holds asking.
func (op *operator) dropLocked(namespace string) {
	op.mu.Lock()
	_, ok := op.asked[namespace]
	delete(op.asked, namespace)
	op.mu.Unlock()
	if ok {
		op.engine.options.Access.Require(place{op, namespace}, access.Key{Identity: op.identity, Namespace: namespace}, nil, access.Payer{})
	}
}
