// SPDX-License-Identifier: Apache-2.0

package binding

// Annotations and the finalizer that the dispatcher writes to ResourceBindings. Users do not write them: the admission
// webhook puts back what others change.
const (
	// HoldAnnotation says what the dispatcher has suspended, and why: see Hold. A suspension without the annotation is
	// somebody else's, and the dispatcher never lifts it.
	HoldAnnotation = "volcano.sh/hold"
	// GrantAnnotation is what the binding was granted: see Grant. It is charged until nothing of the binding can run any
	// more.
	GrantAnnotation = "volcano.sh/granted"
	// RequeueAnnotation says how often the binding was granted room in vain, and until when it is not tried again: see
	// Requeue.
	RequeueAnnotation = "volcano.sh/requeued"
	// ChangeAnnotation says which version of the workload is being replaced by one that needs more: see Change.
	ChangeAnnotation = "volcano.sh/changing"
	// Finalizer keeps a binding that was granted something until its Works are gone. Otherwise a Work in a cluster that
	// cannot be reached outlives its binding, and its pods run uncharged.
	Finalizer = "volcano.sh/charged"
)
