// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

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
		c.group("of-"+queue, queue, 1, nil)
		c.pod("of-"+queue, "of-"+queue, func(pod *corev1.Pod) {
			pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "shared", ResourceClaimName: ptr.To("shared")}}
		})
	}
	c.turn()
	c.expectPlaces("of-none@ of-team@n1")
	c.turn()
	c.expectPlaces("of-none@n1 of-team@n1")
	joiner, _ := c.pods.get("of-none")
	if claims := chargerecord.ClaimsOf(joiner); len(claims) != 1 || !slices.Equal(chargerecord.Path(claims[0]), []string{"team", "root"}) {
		c.fail("the record of the pod that has joined says of its claims %v", joiner.Annotations[chargerecord.ClaimsAnnotation])
	}
	first, _ := c.pods.get("of-team")
	c.deletePod(first)
	c.single("more", "team", "h100")
	c.turn()
	c.expectPlaces("more@ of-none@n1")
	c.restart()
	c.turn()
	c.expectPlaces("more@ of-none@n1")
	c.deleteClaim(c.claim("shared")) // under the pod that has joined it
	c.turn()
	c.restart()
	c.turn()
	c.expectPlaces("more@ of-none@n1")
	c.deletePod(joiner)
	c.turn()
	c.expectPlaces("more@n1")
}
