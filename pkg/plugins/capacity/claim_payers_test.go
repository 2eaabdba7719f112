// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/chargerecord"
)

// TestPodsThatJoinAClaimMoveNoCharge: a pod of a queue without device quota waits with the pod that gets the claim, joins the claim, and outlives
// the other pod. The records say for which queue the claim got its devices. A scheduler without memory follows them.
func TestPodsThatJoinAClaimMoveNoCharge(t *testing.T) {
	c := newCalmCluster(t, "h100")
	upTo := func(n int64) schedulingv1beta1.DRAQuota {
		return schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{"h100": {Count: n}}}
	}
	c.queue("team", "root", upTo(1), nil)
	c.queue("above", "root", upTo(0), nil)
	c.queue("none", "above", schedulingv1beta1.DRAQuota{}, nil)
	c.node("n1", 8, "h100", "h100", "h100")
	c.put("resourceclaims", &resourcev1.ResourceClaim{ObjectMeta: c.meta("shared", "ns"), Spec: oneOf("h100")})
	for _, queue := range []string{"none", "team"} {
		c.only("of-"+queue, queue, func(pod *corev1.Pod) {
			pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "shared", ResourceClaimName: ptr.To("shared")}}
		})
	}
	c.expectTurn("of-none@ of-team@n1")
	c.expectTurn("of-none@n1 of-team@n1")
	joiner, _ := c.pods.get("of-none")
	if claims := chargerecord.ClaimsOf(joiner); len(claims) != 1 || !slices.Equal(chargerecord.Path(claims[0]), []string{"team", "root"}) {
		c.fail("the record of the pod that has joined says of its claims %v", joiner.Annotations[chargerecord.ClaimsAnnotation])
	}
	c.deletePod(c.pods.named("of-team"))
	c.single("more", "team", "h100")
	c.expectTurn("more@ of-none@n1")
	c.restart()
	c.expectTurn("more@ of-none@n1")
	c.deleteClaim(c.claim("shared")) // under the pod that has joined it
	c.turn()
	c.restart()
	c.expectTurn("more@ of-none@n1")
	c.deletePod(joiner)
	c.expectTurn("more@n1")
}

// TestAClaimThatJobsShareIsElasticOnce: the jobs have no minimum, so that all they hold is elastic, and share a claim of four devices.
func TestAClaimThatJobsShareIsElasticOnce(t *testing.T) {
	for _, jobs := range []int{1, 4} {
		s := newFixture(64).queue("root", "", nil).queue("q", "root", nil).queue("other", "root", nil).stocked(4)
		s.withDevices(map[string]schedulingv1beta1.DRAQuota{"root": {Capability: counts(4)}, "q": {Capability: counts(4)}})
		user := s.holding(0, 4, newPod("u-0", "n1", cpu(1)))
		claim := s.ResourceClaims[len(s.ResourceClaims)-1]
		for i := range jobs {
			if i > 0 {
				user = newPod(fmt.Sprint("u-", i), "n1", cpu(1))
				user.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim.Name}}
				claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: user.Name, UID: user.UID})
			}
			s.job(fmt.Sprint("j-", i), "q", running, nil, user)
			s.group().MinMember = 0
		}
		s.job("fits", "q", pending, cpu(1), s.claimed(4, newPod("fits", "", cpu(1))))
		s.job("more", "q", pending, cpu(1), s.claimed(5, newPod("more", "", cpu(1))))
		s.job("elsewhere", "other", pending, cpu(1), s.claimed(5, newPod("elsewhere", "", cpu(1))))
		ssn := s.act(t)
		for name, want := range map[string]scheduling.PodGroupPhase{"fits": inqueue, "more": pending, "elsewhere": pending} {
			if phase := phaseOf(ssn, name); phase != string(want) {
				t.Errorf("with %d jobs, job %s is %s, want %s", jobs, name, phase, want)
			}
		}
	}
}

// TestABoundPodIsChargedBeforeTheWatchTellsThatItsClaimIsAllocated: another process of the scheduler has bound it. Claims and pods are
// watched separately.
func TestABoundPodIsChargedBeforeTheWatchTellsThatItsClaimIsAllocated(t *testing.T) {
	in := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: time.Now().Add(d)} }
	for _, c := range []struct {
		name, want string
		ends       *metav1.Time
	}{
		{"it runs", "bound:Running next:Pending", nil},
		{"it is deleted", "bound:Releasing next:Pipelined", in(30 * time.Second)},
		{"it is deleted and ends late", "bound:Releasing next:Pending", in(time.Hour)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(2)
			s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(1)}})
			bound := chargerecord.OnPod(s.holding(0, 1, newPod("bound", "n1", cpu(1))), "root/q", "")
			claim := s.ResourceClaims[0]
			chargerecord.SetClaims(bound, []*resourcev1.ResourceClaim{claim})
			claim.Status, bound.DeletionTimestamp = resourcev1.ResourceClaimStatus{}, c.ends
			s.job("bound", "q", running, nil, bound)
			s.job("next", "q", inqueue, nil, s.claimed(1, newPod("next", "", cpu(1))))
			expectStatuses(t, s.act(t), c.want)
		})
	}
}
