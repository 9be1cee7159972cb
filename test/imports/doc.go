// Package imports holds the direction of imports as rules that a test enforces:
//
//   - a package imports only packages of layers below its own (layers);
//   - a pure package does no I/O, starts no goroutine, reads no clock and logs
//     nothing (checkPurity);
//   - nothing that ships imports a package under test/;
//   - the simulated cluster imports nothing of Ambit but package access;
//   - the binary has none of the packages that were cut from it (banned).
//
// It looks at what ships: tests may import what they need. It knows nothing of
// what the packages do. A package that no layer names is a violation, so that a
// new one gets its place when it is added.
package imports
