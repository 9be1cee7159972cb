// Package uninstall finds what policies have left in a cluster, and removes it.
//
// # The scan
//
// A Scan lists kinds and reads the metadata of each object: the finalizer and the record of
// an owner, the labels, annotations and field managers of a child. It answers two questions
// with the same findings:
//
//   - Scan.FindLeftovers: what would be stuck or left behind if Ambit were gone. It covers
//     the kinds of the given policies and those that the records of owners name, or every
//     kind that the cluster serves. What garbage collection takes is not a finding.
//   - Scan.FindRemaining: what a cleanup has still to remove of one policy. What garbage
//     collection would take counts, for a cleanup deletes it as well.
//
// Labels alone prove nothing, as other controllers copy them. What cannot be listed is
// reported and never taken for absent.
//
// # A cleanup
//
//  1. The caller asks Cleanup.ReconcilePolicies and Cleanup.ConfigMaps whether the cluster
//     still has a policy: whoever serves it would make everything anew.
//  2. Cleanup.Run runs a controller that only retires the policies, until it reports that
//     nothing is left, until nothing comes of waiting, or until the time is over.
//  3. If something is left, Run returns what is in the way as the controller reports it,
//     then what Scan.FindRemaining finds beside that.
//  4. If nothing is left, Run takes the finalizer off the ReconcilePolicies that are being
//     deleted. That comes last, so that the policy is known until its work is undone.
//
// Each step may be repeated after a crash.
//
// The package prints nothing and knows no flags: package cli does that.
package uninstall
