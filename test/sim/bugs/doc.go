// Command bugs shows that the plans of faults (test/sim/faultplan) see what they are to
// see: it puts one seeded bug after the other into Ambit's code, and runs plans until one
// of them fails. A bug that no plan catches is a failure.
//
//	make bugs                      # all
//	make bugs BUG=without-uid      # those whose names match
//
// A bug is a file in test/sim/testdata/bugs, whose name is the bug's:
//
//	One sentence says what the slip is, and what is promised that it breaks.
//
//	-- pkg/internal/apply/objects.go --
//	<<<<
//	the code as it is
//	====
//	the code with the bug
//	>>>>
//
// There may be more than one file, and more than one edit in a file. What is between <<<<
// and ==== has to be in the file exactly once, as whole lines: a test of this package looks
// at that without building anything. If the code has moved, copy its new lines there, and
// make the slip in them again. A sentence may go over several lines; a line that begins
// with `expects:` names the invariants of which one is to be violated, with commas between
// them, as package faultplan writes them: a plan in which only others are does not count.
// One that begins with `test:` names the test of package sim that runs the plans, with 300
// plans at most: TestMadePlans for made values, TestTimedPlans for times. Without it that is
// TestPlans.
//
// The tree is never changed: go build is told by -overlay what to read instead.
package main
