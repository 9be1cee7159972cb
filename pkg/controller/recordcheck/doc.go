// Package recordcheck finds out, by reading objects by their names, what of an owner's record may
// change. It sends no request itself, reads no clock and logs nothing: what it needs is handed to it
// (Objects, Check.Now).
//
// The record, the owner's annotation ambit.dev/children, is all that leads to some objects. Before an
// entry is dropped because its object is taken for gone, or is given a uid, the object is read by its
// name: streams do not show one that has lost its labels, nor one whose create was accepted while its
// answer was lost, and may be behind another process.
//
// A check reads each object at most once in a reconcile (Answers), and only so many in a row (Reads):
// who writes the owner chooses what its record names. Entries come out of it in one of four ways.
//
//   - The change is confirmed.
//   - An object that was to be gone is there. Nothing of the record may be written then
//     (Result.IsBlocked): the next plan has to know first. One that says itself that it is left behind is
//     not in the way.
//   - An object that was to be gone cannot be read, or a uid is not confirmed: the entry stays as it is
//     (Result.Stay), and the rest may be written.
//   - There are too many to be read in a row: the entry stays, and the owner is looked at again
//     (Result.Again).
package recordcheck
