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
	return nil
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
