// Package docs holds the documents of the repository to what the code says, by
// tests:
//
//   - each reason of a condition has its heading in docs/troubleshooting.md;
//   - each field of the custom resource has a description in manifests/crd;
//   - each flag of `ambit run`, each metric and each alert is in docs/operations.md, and
//     none that there is not;
//   - each relative link of a document leads to a file, and to a heading of it;
//   - each command line in a document has flags that the command knows;
//   - the program in docs/embedding.md is the example of package manager.
//
// It reads sources and documents as text, and runs no command but `--help`.
package docs
