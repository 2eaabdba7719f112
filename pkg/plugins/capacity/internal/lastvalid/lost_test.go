// SPDX-License-Identifier: Apache-2.0

package lastvalid

import (
	"testing"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/problems"
)

const (
	missing            = problems.QuotaFieldMissingReason
	unconfirmedRemoval = problems.QuotaRemovalUnconfirmedReason
	restored           = "Normal QuotaRestored The scheduler restored the queue's spec.dra, which was lost while the Queue CRD in the cluster did not have the field"
)

// withQuota is a cluster whose queue allows 8 devices, in spec.dra and in its annotation.
func withQuota(t *testing.T) *fixture {
	f := newFixture(t)
	f.setDevices(8)
	f.expectSettled("at first", "h100=8")
	return f
}

// upgrade replaces the CRD by one without spec.dra. Sessions read queues without it before a probe notices.
func (f *fixture) upgrade() {
	f.stock = true
	f.expect("right after the upgrade", "h100=8")
	f.settle()
	f.probe(f.Context())
	f.expect("after the upgrade", "h100=8", missing)
}

// repair restores the right CRD. The next probe notices.
func (f *fixture) repair() {
	f.stock = false
	f.probe(f.Context())
	f.settle()
}

func TestAQuotaThatIsOnlyHiddenHoldsAndIsNotWritten(t *testing.T) {
	f := withQuota(t)
	f.upgrade()
	f.expectStored("after the upgrade", 8)
	generation := f.stored().Generation
	f.repair()
	f.expect("after the repair", "h100=8")
	if f.stored().Generation != generation {
		t.Error("the spec of the queue was written")
	}
	f.expectEvents("after the repair")
}

func TestACRDWithoutTheFieldIsReportedBeforeTheQueueIsReadAnew(t *testing.T) {
	f := withQuota(t)
	f.stock = true
	f.probe(t.Context())
	if _, found := f.again(); found[problems.Problem{Queue: "q", Reason: missing}] == "" {
		t.Errorf("problems %v", found)
	}
}

func TestAQuotaThatIsLostHoldsUntilItIsRestored(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(*fixture)
	}{
		{"the status is written", func(f *fixture) { f.upgrade(); f.writeStatus() }},
		{"another field of the spec is written", func(f *fixture) { f.upgrade(); f.setParent("other") }},
		{"the status is written before anybody looks", func(f *fixture) { f.stock = true; f.writeStatus() }},
		{"the spec is written between a probe and the next session", func(f *fixture) {
			f.stock = true
			f.probe(f.Context())
			f.setParent("other")
		}},
		{"the right CRD is back before a probe notices", func(f *fixture) {
			f.stock = true
			f.writeStatus()
			f.stock = false
		}},
		{"the scheduler restarts", func(f *fixture) { f.upgrade(); f.writeStatus(); f.restart() }},
		{"the scheduler restarts after the spec is written", func(f *fixture) { f.upgrade(); f.setParent("other"); f.restart(); f.settle() }},
		{"the first patch conflicts", func(f *fixture) { f.upgrade(); f.writeStatus(); f.conflicts = 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := withQuota(t)
			c.lose(f)
			if f.stock {
				f.expectSettled("while it is lost", "h100=8", missing)
			}
			f.expectStored("while it is lost", -1)
			f.repair()
			if f.stored().Spec.DRA == nil {
				// The write had a conflict, and is retried after a while.
				name, _ := f.work.Get()
				f.writeQueue(t.Context(), name)
				f.work.Done(name)
			}
			f.expectStored("after the repair", 8)
			f.expectEvents("after the repair", restored)
			f.expectSettled("after the repair", "h100=8")
			f.removeDevices()
			f.expectSettled("after a removal later on", "")
		})
	}
}

func TestAQuotaThatIsSetAgainIsNotOverwritten(t *testing.T) {
	f := withQuota(t)
	f.upgrade()
	f.writeStatus()
	f.session()
	f.stock = false
	f.probe(t.Context())
	f.session() // asks for the restoration
	f.setDevices(3)
	f.background()
	f.expectSettled("after the repair", "h100=3")
	f.expectStored("after the repair", 3)
	f.expectEvents("after the repair")
}

func TestARemovalOnPurposeIsBelievedWhenTheAPIServerConfirmsIt(t *testing.T) {
	f := withQuota(t)
	f.removeDevices()
	f.expect("before a probe", "h100=8")
	f.unreachable = true
	f.expectSettled("while the API server does not answer", "h100=8", unconfirmedRemoval)
	f.unreachable = false
	f.expectSettled("after a probe", "")
	f.expectLastValid("after a probe", "")
	f.expectStored("after a probe", -1)
}

func TestARemovalWhileNoSchedulerRanIsNotBelieved(t *testing.T) {
	f := withQuota(t)
	f.removeDevices()
	f.restart()
	f.expectSettled("after the restart", "h100=8", unconfirmedRemoval)
	f.expectStored("after the restart", -1)
	f.annotated(schedulingv1beta1.LastValidQuotaAnnotation, "")
	f.expectSettled("after the annotation was deleted", "")
}

func TestAnEmptyQuotaDropsTheLastValidOne(t *testing.T) {
	f := withQuota(t)
	f.edit(func(q *schedulingv1beta1.Queue) { q.Spec.DRA = &schedulingv1beta1.DRAQuota{} })
	f.expectSettled("with an empty spec.dra", "")
	f.expectLastValid("with an empty spec.dra", "")
	f.stock = true
	f.probe(t.Context())
	f.expectSettled("after the upgrade", "")
}

func TestAQueueWithoutAQuotaIsNotRestricted(t *testing.T) {
	f := newFixture(t)
	f.stock = true
	f.probe(t.Context())
	f.expectSettled("under a CRD without spec.dra", "")
	if len(f.server.Actions()) != 0 {
		t.Errorf("requests %v", f.server.Actions())
	}
}

func TestALastValidQuotaThatCannotBeReadRefusesDevices(t *testing.T) {
	f := withQuota(t)
	f.upgrade()
	f.writeStatus()
	f.annotated(schedulingv1beta1.LastValidQuotaAnnotation, `{"dra": 8}`)
	f.restart()
	f.expect("after the restart", "refused", problems.QuotaNotReadReason)
	f.annotated(schedulingv1beta1.LastValidQuotaAnnotation, "")
	f.expect("after the annotation was deleted", "")
}

func TestAQueueThatIsCreatedAgainStartsAnew(t *testing.T) {
	f := withQuota(t)
	f.edit(func(q *schedulingv1beta1.Queue) { q.UID, q.Annotations, q.Spec.DRA = "2", nil, nil })
	f.check(f.read.Add(f.served()))
	if _, err := f.Of("q", "1", f.dimensions); err == nil {
		t.Error("the session has the old queue, and gets quotas of the new one")
	}
	quotas, err := f.Of("q", "2", f.dimensions)
	if err != nil || len(quotas.Devices.Capability) > 0 {
		t.Errorf("quotas %v, error %v", quotas, err)
	}
	f.check(f.read.Delete(f.served()))
	f.Forget(0)
	if len(f.known) > 0 {
		t.Error("a queue that is gone is remembered")
	}
}

func TestAQuotaThatCannotBeWrittenHoldsAndIsReported(t *testing.T) {
	f := newFixture(t)
	f.forbidden = true
	f.setDevices(8)
	f.session()
	f.background()
	f.expect("without permission", "h100=8", problems.QuotaNotSavedReason)
	f.forbidden = false
	f.work.Add("q")
	f.background()
	f.expect("with permission", "h100=8")
	f.expectLastValid("with permission", `{"uid":"1","generation":2,"dra":{"capability":{"h100":{"count":8}}}}`)
}

// TestAQueueThatIsCreatedWithTheAnnotationOfAnotherOne: this happens with an export of a queue without spec.dra.
func TestAQueueThatIsCreatedWithTheAnnotationOfAnotherOne(t *testing.T) {
	f := withQuota(t)
	f.annotated(schedulingv1beta1.LastValidQuotaAnnotation, `{"uid":"another","generation":2,"dra":{"capability":{"h100":{"count":8}}}}`)
	f.edit(func(q *schedulingv1beta1.Queue) { q.Spec.DRA, q.Generation = nil, 1 }) // then, the generation is 2
	f.restart()
	f.expectSettled("when the API server serves the field", "h100=8", problems.QuotaRemovalUnconfirmedReason)
	f.expectStored("nothing is restored", -1)
}
