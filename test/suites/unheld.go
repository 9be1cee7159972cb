package suites

// unheld is a case that scopedcache does not hold.
type unheld struct {
	suite  string // as in suites
	name   string // the whole text of the case, as ginkgo's report has it
	reason string
}

// maxUnheld is how many there may be.
const maxUnheld = 6

// unheldCases returns the cases that cannot hold. They are run, and must fail.
func unheldCases() []unheld {
	const (
		newInformer = "non-blocking get test as an Informer should be able to get informer for the object without blocking"
		reason      = "it sets cache.Options.NewInformer to a fake that is never synced. Informers here are Ambit's, so the option is refused by name"
	)
	return []unheld{
		{suite: "cache", name: "Informer Cache " + newInformer, reason: reason},
		{suite: "cache", name: "Multi-Namespace Informer Cache " + newInformer, reason: reason},
		{suite: "cache", name: "Informer Cache without global DeepCopy " + newInformer, reason: reason},
	}
}

// unheldOf returns those of a suite.
func unheldOf(suite string) (found []unheld) {
	for _, u := range unheldCases() {
		if u.suite == suite {
			found = append(found, u)
		}
	}
	return found
}
