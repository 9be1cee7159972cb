package v1alpha1

import "slices"

// Types of the conditions that Ambit sets on owners. They follow kstatus:
// Reconciling and Stalled are present only while they are True.
const (
	// ConditionReady is True when every child of the owner exists as the policy
	// describes it and is ready, and nothing is refused.
	ConditionReady = "Ready"
	// ConditionReconciling is True from the first pass until the owner is Ready
	// or Stalled.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when what blocks the owner will not mend by
	// waiting: somebody has to act.
	ConditionStalled = "Stalled"
	// ConditionPermitted is False when something that the owner needs is refused
	// by the API server for want of a right, else True.
	ConditionPermitted = "Permitted"
)

// Types of the conditions of a policy, beside Ready, Permitted and Stalled, which mean
// for a policy what they mean for an owner.
const (
	// ConditionValid is True when the policy as it is written now compiles.
	ConditionValid = "Valid"
)

// reservedConditions are the condition types that a policy may not define.
var reservedConditions = []string{ConditionReady, ConditionReconciling, ConditionStalled, ConditionPermitted}

// IsReservedCondition says whether Ambit itself sets conditions of this type.
func IsReservedCondition(t string) bool {
	return slices.Contains(reservedConditions, t)
}

// Reasons of conditions on owners.
const (
	// ReasonReady: everything exists and is ready (Ready=True).
	ReasonReady = "Ready"
	// ReasonProgressing: children were applied and are not ready yet
	// (Ready=False, Reconciling=True).
	ReasonProgressing = "Progressing"
	// ReasonChildFailed: the status of a child says that it will not become ready before somebody
	// acts, such as that of a Job that has failed (Ready=False, Stalled=True).
	ReasonChildFailed = "ChildFailed"
	// ReasonSyncing: a watch that the owner needs has not delivered its first
	// list yet (Ready=False, Reconciling=True).
	ReasonSyncing = "Syncing"
	// ReasonUnavailable: the API server cannot be reached or answers with errors
	// that pass by themselves (Ready=False, Reconciling=True).
	ReasonUnavailable = "Unavailable"
	// ReasonForbidden: a right is missing (Permitted=False, Stalled=True).
	ReasonForbidden = "Forbidden"
	// ReasonUnauthenticated: the API server does not accept the identity
	// (Permitted=False, Stalled=True).
	ReasonUnauthenticated = "Unauthenticated"
	// ReasonPermitted: nothing that the owner needs is refused (Permitted=True).
	ReasonPermitted = "Permitted"
	// ReasonKindMissing: the API server does not serve the kind of a child or a
	// watch, or that of the owners, which is said of the policy (Stalled=True).
	ReasonKindMissing = "KindMissing"
	// ReasonInvalid: the API server refuses a watch or an object as invalid
	// (Stalled=True).
	ReasonInvalid = "Invalid"
	// ReasonNameConflict: an object of the wanted name exists and is not ours; it
	// is left as it is (Stalled=True).
	ReasonNameConflict = "NameConflict"
	// ReasonImpersonationRefused: Ambit may not act as the ServiceAccount that the
	// policy names. Nothing can be written as it, so this is in the log and in the
	// metrics, and no owner's status says it.
	ReasonImpersonationRefused = "ImpersonationRefused"
	// ReasonServiceAccountMissing: the ServiceAccount that the policy names does not
	// exist. It is said where ReasonImpersonationRefused is.
	ReasonServiceAccountMissing = "ServiceAccountMissing"
	// ReasonQuotaExceeded: a write would exceed a ResourceQuota (Stalled=True).
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonEscalationRefused: the API server refuses to let the identity write a
	// Role or a binding that has more rights than the identity itself
	// (Stalled=True).
	ReasonEscalationRefused = "EscalationRefused"
	// ReasonAdmissionDenied: admission refuses a write: a webhook, a
	// ValidatingAdmissionPolicy or a plugin of the API server, such as pod security
	// (Stalled=True).
	ReasonAdmissionDenied = "AdmissionDenied"
	// ReasonNamespaceTerminating: the namespace is being deleted, nothing can be
	// made in it (Ready=False, Reconciling=True).
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonExpressionFailed: an expression of the policy failed for this owner
	// (Stalled=True).
	ReasonExpressionFailed = "ExpressionFailed"
	// ReasonFieldConflict: another manager has fields that a child is to merge into its
	// object (Stalled=True).
	ReasonFieldConflict = "FieldConflict"
	// ReasonContested: another writer undoes what is written to a child, or takes the owner's
	// annotation or finalizer back, again and again, so that it is written more and more rarely
	// (Stalled=True).
	ReasonContested = "Contested"
	// ReasonUnstable: the policy reads the status that it writes, and that does not come to
	// rest: 10 writes in a row have each led to another (Stalled=True).
	ReasonUnstable = "Unstable"
	// ReasonLabelsRemoved: a child was made and is ours, and something removes the labels by
	// which it is watched, so that it cannot be kept; or somebody did of one that is never
	// written again (Stalled=True).
	ReasonLabelsRemoved = "LabelsRemoved"
	// ReasonOtherPolicy: another policy has a record of children on the owner, and this one waits
	// until that one has cleaned up (Reconciling=True; Stalled=True if that takes longer than
	// a moment).
	ReasonOtherPolicy = "OtherPolicy"
	// ReasonProtected: the owner is being deleted, and the policy's protect holds it
	// back (Ready=False).
	ReasonProtected = "Protected"
	// ReasonLimitExceeded: an expression was stopped at its limit of cost, time or
	// memory, or the owner has too many or too large children (Stalled=True).
	ReasonLimitExceeded = "LimitExceeded"
	// ReasonQuarantined: so many owners of the policy ran into limits that the policy
	// as a whole is held back for a while. It is said of the policy.
	ReasonQuarantined = "Quarantined"
	// ReasonDeleting: the owner or a child is being deleted (Ready=False).
	ReasonDeleting = "Deleting"
)

// Reasons of conditions on policies. ReasonInvalid, ReasonForbidden, ReasonSyncing,
// ReasonDeleting and what stops a policy as a whole are said of policies too.
const (
	// ReasonValid: the policy compiles (Valid=True).
	ReasonValid = "Valid"
	// ReasonServing: the owners of the policy are being served (Ready=True).
	ReasonServing = "Serving"
	// ReasonSuspended: the policy does no work because it says so itself (Ready=True).
	ReasonSuspended = "Suspended"
	// ReasonRetiring: the policy says spec.retire, and is being cleaned up after
	// (Ready=False).
	ReasonRetiring = "Retiring"
	// ReasonRetired: the policy says spec.retire, and all that it made is cleaned up
	// (Ready=True).
	ReasonRetired = "Retired"
	// ReasonTextMissing: the file of the policy has no more text of it, or is not there.
	// Its owners are not worked on, and what it made stays (Ready=False, Stalled=True).
	ReasonTextMissing = "TextMissing"
	// ReasonStarting: the policy is about to be run (Ready=False).
	ReasonStarting = "Starting"
	// ReasonDuplicate: a policy of the same namespace and name stands elsewhere as well, so that this
	// one is not run (Ready=False, Stalled=True).
	ReasonDuplicate = "Duplicate"
	// ReasonOwnersTaken: another policy may serve the same owners, so that this one is not
	// run (Ready=False, Stalled=True).
	ReasonOwnersTaken = "OwnersTaken"
	// ReasonOutOfScope: the namespaces of the policy's scope and those that Ambit is limited
	// to have none in common, so that nothing is served (Ready=False, Stalled=True).
	ReasonOutOfScope = "OutOfScope"
)

// IsAccountReason reports whether a reason says that nobody may act as the ServiceAccount
// of a policy: nothing is done for that policy until somebody mends it.
func IsAccountReason(reason string) bool {
	return reason == ReasonServiceAccountMissing || reason == ReasonImpersonationRefused
}
