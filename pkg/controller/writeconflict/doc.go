// Package writeconflict remembers which writes do not stand, and decides how long the next one waits,
// so that Ambit and another writer, who want different things, do not answer each other without a
// pause. It does no I/O, reads no clock and logs nothing: what time it is, and how a wait grows, is
// given to it.
//
// A write is contested if what it wrote does not stand any more when the next one is due. Each kind
// of write has a type of its own, whose comment says what contested means for it:
//
//	Children  the objects of the children of an owner, each a Child
//	Metadata  the record and the finalizer of an owner
//	Feedback  a status that the policy itself reads, and so changes again
//	Backoff   the wait of all of them, and, alone, that of a status that others write over
//
// The calls for one write are, in this order: whether it is contested, how long it has to wait, and,
// once the API server has answered, that it was written. A conflict that has gone on for a while is
// reported once (NeedsReport, MarkReported); from then on it is a problem of the owner, until Over
// has passed since the last write (EndIfOver).
//
// All of it may be lost: what is contested then is found out again, after a few writes.
//
// Zero values are ready. Nothing here is safe for concurrent use: it belongs to the one worker that
// has the owner.
package writeconflict
