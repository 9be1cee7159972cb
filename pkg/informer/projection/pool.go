package projection

import "sync"

// Pool makes Projections. Those that keep the same of their objects share parts: a policy has an
// informer in each namespace, and a template says the same in all of them. The zero Pool is ready. It is safe
// for concurrent use.
type Pool struct {
	mu    sync.Mutex // guards what is below, and form.users
	forms map[formKey]*form
}

// formKey tells what is kept. It is comparable.
type formKey struct {
	fields, manager, apiVersion, kind string
	secrets                           bool
}

// form is what Projections that keep the same have in common.
type form struct {
	pool      *Pool
	key       formKey
	projector projector
	interner  *interner
	users     int
}

// New makes a Projection. Release it when its informer has ended.
func (pool *Pool) New(c Config) *Projection {
	key := formKey{c.Fields.String(), c.Manager, c.APIVersion, c.Kind, c.Secrets}
	pool.mu.Lock()
	defer pool.mu.Unlock()
	found, ok := pool.forms[key]
	if !ok {
		found = &form{pool: pool, key: key, projector: newProjector(c), interner: newInterner()}
		if pool.forms == nil {
			pool.forms = map[formKey]*form{}
		}
		pool.forms[key] = found
	}
	found.users++
	return &Projection{form: found}
}

// Release is called once the store of the informer is empty for good. The Projection may be used all
// the same: its informer ends by itself.
func (p *Projection) Release() {
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	if p.released {
		return
	}
	p.released = true
	p.FitTo(0)
	if p.users--; p.users == 0 {
		delete(p.pool.forms, p.key)
	}
}
