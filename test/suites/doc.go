// Package suites runs controller-runtime's own tests of caches against Ambit's scopedcache: its
// suites for caches, sources, controllers, builders and the consistent client, of the version in
// go.mod, each with a kube-apiserver and an etcd of its own from bin/.
//
// Nothing of controller-runtime is in this repository. A run
//
//  1. copies the module from the module cache to a temporary folder, and writes a go.mod beside it
//     that is Ambit's own with a replacement: all else has the versions that Ambit ships with. The
//     checksums are Ambit's and those of controller-runtime, so that ginkgo and gomega are checked
//     and need not be in Ambit's go.mod (module.go);
//  2. puts the constructor of package constructor in place of cache.New, and of what manager.New
//     makes, in each test file that has one. A suite without one fails (rewrite.go);
//  3. builds each suite's tests and runs the cases of the files that were changed, or all of them
//     where the file that sets the suite up was (suite.go);
//  4. reads ginkgo's report: each case must pass, but for those that unheld.go lists with a reason,
//     which must fail: a case that holds has to leave the list (report.go, verdict.go).
//
// All of it takes a minute or two; the first run with the race detector builds for three more. To look at
// some of them, with the constructor of controller-runtime for comparison:
//
//	go test ./test/suites -v -run TestSuites/cache
//	go test ./test/suites -v -run TestSuites/cache -cases 'by label' -constructor controller-runtime
//	go test ./test/suites -run TestSuites/cache -artifacts -outputdir DIR
//
// The last keeps ginkgo's whole output and report. With -race the suites run with the race
// detector as well.
package suites
