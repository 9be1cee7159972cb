// Package timing answers questions about time at one moment, and says when the answers change.
//
// A plan must not depend on the clock: made twice from the same inputs it is the same, byte for byte.
// So the time of a plan is one of its inputs, a whole second, and nothing gives it away. What may be
// asked are questions whose answer changes rarely, and at an instant that is known: whether an instant
// has been reached, and which runs of a schedule come last and next. Each question that is asked notes
// that instant on the Clock. The earliest of them is its Wake: from the time of the Clock until then
// all the answers stay the same.
//
// # Schedules
//
// A Schedule is a text of five fields in a time zone, as that of a CronJob of Kubernetes, and read by
// the same library. Its runs are exactly the minutes whose wall clock in that zone matches the fields.
// So a run at a wall clock that is left out when clocks go forward does not take place on that day, and one
// at a wall clock that comes twice when they go back takes place twice. That is what Kubernetes does,
// but for zones that go back by other than whole hours, where its library misses runs.
//
// # Zones
//
// The rules of zones are those of the machine if it has them, and else those that the program was built
// with, so that each name is known everywhere. A zone is read once. That is the only input or output of
// the package, and its result does not change while the process lives.
package timing
