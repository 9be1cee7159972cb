package suites

import "fmt"

// verdict is what a report comes to.
type verdict struct {
	run, passed int
	skipped     int      // by a condition of their own
	madeCache   int      // cases that made a cache
	shared      bool     // a cache was made for all of them
	unheld      []string // cases of the list that failed, with the reason
	wrong       []string // what must not be, one text each
}

// judge counts the cases of a suite and holds them against the list. whole: all cases of the list
// must have been run.
func judge(r *report, listed []unheld, whole bool) verdict {
	var v verdict
	reasons := map[string]string{}
	for _, u := range listed {
		reasons[u.name] = u.reason
	}
	seen := map[string]bool{}
	for i := range r.SpecReports {
		s := &r.SpecReports[i]
		switch {
		case !s.isCase():
			v.shared = v.shared || s.madeCache()
			if s.State != "passed" && s.State != "skipped" {
				v.wrong = append(v.wrong, s.LeafNodeType+" "+s.failure())
			}
		case s.asked():
			v.add(s, reasons[s.name()])
			seen[s.name()] = true
		}
	}
	if v.madeCache == 0 && !v.shared {
		v.wrong = append(v.wrong, "no case made a cache with the constructor")
	}
	for _, reason := range r.SpecialSuiteFailureReasons {
		v.wrong = append(v.wrong, "the suite: "+reason)
	}
	if r.races > 0 {
		v.wrong = append(v.wrong, fmt.Sprintf("%d data races: -artifacts keeps the output, which has them", r.races))
	}
	if r.exit != nil && len(v.unheld)+len(v.wrong) == 0 {
		v.wrong = append(v.wrong, "no case failed, but the suite did: "+r.exit.Error())
	}
	for _, u := range listed {
		if whole && !seen[u.name] {
			v.wrong = append(v.wrong, fmt.Sprintf("there is no case %q, but the list has it", u.name))
		}
	}
	return v
}

// add counts a case that was run; reason is why it is listed, or "".
func (v *verdict) add(s *specReport, reason string) {
	v.run++
	if s.madeCache() {
		v.madeCache++
	}
	switch {
	case s.State == "skipped":
		v.skipped++
	case s.State == "passed" && reason != "":
		v.passed++
		v.wrong = append(v.wrong, fmt.Sprintf("%s\nholds: take it off the list", s.name()))
	case s.State == "passed":
		v.passed++
	case reason != "":
		v.unheld = append(v.unheld, fmt.Sprintf("%s\nlisted: %s", s.name(), reason))
	default:
		v.wrong = append(v.wrong, fmt.Sprintf("%s\n%s", s.name(), s.failure()))
	}
}

// String is the line of figures.
func (v verdict) String() string {
	made := fmt.Sprintf("%d made a cache", v.madeCache)
	if v.shared {
		made = "with one cache for all"
	}
	return fmt.Sprintf("%d cases run (%s): %d passed, %d skipped by themselves, %d of the list", v.run, made, v.passed, v.skipped, len(v.unheld))
}
