package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// The files of a case, and of the folders above it.
const (
	caseOwner    = "owner.yaml"
	caseObserved = "observed.yaml"
	observedDir  = "observed"
	casePlan     = "plan.txt"
	caseStatus   = "status.yaml"
	casePolicy   = "policy.yaml"
	caseSettings = "test.yaml"
)

// testCase is one golden test.
type testCase struct {
	// Name is its folder, with slashes.
	Name string
	// Dir is its folder; Root is the one that was given and found it.
	Dir, Root string
}

// settings are what a test.yaml says.
type settings struct {
	// Policy is a file or folder with policies, relative to the test.yaml.
	Policy string `json:"policy"`
	// CRDs are files and folders with CustomResourceDefinitions, relative to it.
	CRDs []string `json:"crds"`
	// Now is the time of which expressions ask, and Later are others at which the plan is looked at as well.
	Now   string   `json:"now"`
	Later []string `json:"later"`
}

// findCases returns the cases at and below the folders whose names match, by name,
// each once. That there is none is a usage error.
func findCases(folders []string, wanted *regexp.Regexp) ([]testCase, error) {
	var cases []testCase
	for _, root := range folders {
		found, err := casesBelow(filepath.Clean(root))
		if err != nil {
			return nil, usageErrorf("looking for tests: %w", err)
		}
		cases = append(cases, found...)
	}
	slices.SortFunc(cases, func(a, b testCase) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Root, b.Root))
	})
	cases = slices.CompactFunc(cases, func(a, b testCase) bool { return a.Name == b.Name })
	all := len(cases)
	cases = slices.DeleteFunc(cases, func(c testCase) bool { return !wanted.MatchString(c.Name) })
	switch {
	case all == 0:
		return nil, usageErrorf("no test in %s: a test is a folder with an %s", strings.Join(folders, ", "), caseOwner)
	case len(cases) == 0:
		return nil, usageErrorf("none of %s has a name that matches %q", pluralize(all, "test"), wanted)
	}
	return cases, nil
}

// casesBelow returns the cases at and below a folder.
func casesBelow(root string) ([]testCase, error) {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, cmp.Or(err, fmt.Errorf("%s is not a folder", root))
	}
	var cases []testCase
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && isNoCase(path):
			return fs.SkipDir
		case !entry.IsDir() && entry.Name() == caseOwner:
			dir := filepath.Dir(path)
			cases = append(cases, testCase{Name: filepath.ToSlash(dir), Dir: dir, Root: root})
		}
		return nil
	})
	return cases, err
}

// isNoCase says of a folder that no case is looked for in it: it is hidden, or
// holds what a case observes.
func isNoCase(dir string) bool {
	if strings.HasPrefix(filepath.Base(dir), ".") {
		return true
	}
	return filepath.Base(dir) == observedDir && mayExist(filepath.Join(filepath.Dir(dir), caseOwner))
}

// readSettings returns what the nearest folder with a policy says, in a test.yaml or by a policy.yaml,
// its paths as they are seen from here. The times are those of the nearest test.yaml that has them.
func (c testCase) readSettings() (settings, error) {
	var times settings
	for dir := c.Dir; ; dir = filepath.Dir(dir) {
		found := settings{}
		if path := filepath.Join(dir, casePolicy); mayExist(path) {
			found.Policy = path
		}
		if path := filepath.Join(dir, caseSettings); mayExist(path) {
			read, err := readSettings(path)
			if err != nil {
				return settings{}, err
			}
			read.Policy = cmp.Or(read.Policy, found.Policy)
			found = read
		}
		if times.Now == "" && len(times.Later) == 0 {
			times = found
		}
		if found.Policy != "" {
			found.Now, found.Later = times.Now, times.Later
			return found, nil
		}
		if dir == c.Root || dir == filepath.Dir(dir) {
			return settings{}, fmt.Errorf("there is no %s and no %s in its folder or one above it, up to %s", casePolicy, caseSettings, c.Root)
		}
	}
}

func readSettings(path string) (settings, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return settings{}, err
	}
	var s settings
	if err := yaml.UnmarshalStrict(data, &s); err != nil {
		return settings{}, fmt.Errorf("reading %s: %w", path, err)
	}
	from := func(p string) string { return filepath.Join(filepath.Dir(path), filepath.FromSlash(p)) }
	if s.Policy != "" {
		s.Policy = from(s.Policy)
	}
	for i := range s.CRDs {
		s.CRDs[i] = from(s.CRDs[i])
	}
	return s, nil
}

// observedPaths are the files and folders with what is in the cluster.
func (c testCase) observedPaths() []string {
	var found []string
	for _, name := range []string{caseObserved, observedDir} {
		if path := filepath.Join(c.Dir, name); mayExist(path) {
			found = append(found, path)
		}
	}
	return found
}

// mayExist is also true for what cannot be looked at: reading it will say why.
func mayExist(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
