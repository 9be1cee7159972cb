// Package listwatch makes the list and watch requests of informers.
//
// A ListWatcher runs one client-go Reflector, for one epoch of an informer, and every
// request of the Reflector goes through it:
//
//   - It takes a slot before it opens a list or a watch, for a Factory lets only a few be
//     opened at a time.
//   - It reads every answer (Classify). A final one ends the epoch. A transient one is kept
//     from the Reflector and tried again in place, after a wait that grows with the failures
//     in a row, so that a watch resumes where it was, without a list.
//   - While the Factory reauthorizes, it asks for watches of 3 or 4 seconds: the API server
//     looks at rights when a watch is opened, never again. Watches that were opened for
//     longer, because they bring a list or are from before, it ends itself, never within a
//     second of their list. The Reflector takes both for timeouts and opens the next watch
//     where it was. All ends are planned with one schedule, which holds the ceiling.
//
// What the answers mean for the informer's state and store is decided by the Epoch that it
// tells of them.
package listwatch
