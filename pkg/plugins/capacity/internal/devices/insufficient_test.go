// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// alien is a pod of another scheduler.
func alien(name string) *corev1.Pod {
	pod := podObject(name)
	pod.Spec.SchedulerName = "default-scheduler"
	return pod
}

func TestInsufficient(t *testing.T) {
	const free = "No node has enough free devices of h100; the quota of the queue allows them."
	for _, c := range []struct {
		name    string
		request resourceapi.DeviceRequest
		// others are claims of other pods. Claims of pods that begin with "mine" are charged to a queue.
		others []*resourceapi.ResourceClaim
		pods   []*corev1.Pod
		want   string
	}{
		{name: "nobody holds devices", request: exactly("h100", 1), want: free},
		{
			name: "devices that queues are charged for are not mentioned", request: exactly("h100", 1), want: free,
			others: []*resourceapi.ResourceClaim{usedBy(on("n1", claim("mine-gpu", exactly("h100", 1)), "h100-0"), "mine")},
		},
		{
			name: "devices of a pod of another scheduler", request: exactly("h100", 1), pods: []*corev1.Pod{alien("alien")},
			others: []*resourceapi.ResourceClaim{usedBy(on("n1", claim("x", exactly("h100", 2)), "h100-0", "h100-1"), "alien")},
			want:   free + " Devices that are held by no known queue, and charged to queue <root>: 2 of h100 by pod ns/alien of default-scheduler",
		},
		{
			name: "devices of a pod that is gone", request: exactly("h100", 1),
			others: []*resourceapi.ResourceClaim{usedBy(on("n1", claim("x", exactly("h100", 1)), "h100-0"), "gone")},
			want:   free + " Devices that are held by no known queue, and charged to queue <root>: 1 of h100 by pod ns/gone",
		},
		{
			name: "devices that nobody uses", request: exactly("h100", 1),
			others: []*resourceapi.ResourceClaim{on("n1", claim("x", exactly("h100", 1)), "h100-0")},
			want:   free + " Devices that are held by no known queue, and charged to queue <root>: 1 of h100 by ResourceClaim ns/x, which nobody uses",
		},
		{
			name: "devices of other classes are not mentioned", request: exactly("h100", 1), want: free,
			others: []*resourceapi.ResourceClaim{on("n1", claim("x", exactly("a100", 1)), "a100-0")},
		},
		{
			name: "at most five are listed", request: exactly("h100", 1),
			others: []*resourceapi.ResourceClaim{
				usedBy(on("n1", claim("t", exactly("h100", 1)), "h100-0"), "t"), usedBy(on("n1", claim("u", exactly("h100", 1)), "h100-1"), "u"),
				usedBy(on("n1", claim("v", exactly("h100", 1)), "h100-2"), "v"), usedBy(on("n1", claim("w", exactly("h100", 1)), "h100-3"), "w"),
				usedBy(on("n1", claim("x", exactly("h100", 1)), "h100-4"), "x"), usedBy(on("n1", claim("y", exactly("h100", 1)), "h100-5"), "y"),
			},
			want: free + " Devices that are held by no known queue, and charged to queue <root>: 1 of h100 by pod ns/t, 1 of h100 by pod ns/u, 1 of h100 by pod ns/v, 1 of h100 by pod ns/w, 1 of h100 by pod ns/x, and 1 more",
		},
		{
			name: "all classes of a choice", request: firstOf("h100", "a100"),
			want: "No node has enough free devices of a100, h100; the quota of the queue allows them.",
		},
		{
			name: "a capacity that no device has", request: sized("h100", "bandwidth", "1T"),
			want: "ResourceClaim ns/c asks for a capacity bandwidth, which no device has: correct the name",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, cluster{devices: map[string]string{"n1": "h100 a100"}, claims: append(c.others, claim("c", c.request))})
			for _, pod := range c.pods {
				f.try(f.pods.Add(pod))
			}
			mine := f.pod("mine", "q", "mine-gpu")
			f.try(f.books.Charge(mine.Queue, "mine", mine.Demand))
			if got := f.session.Insufficient(f.preFilter(f.pod("p", "q", "c")), false).Message(); got != c.want {
				t.Errorf("got\n%s, want\n%s", got, c.want)
			}
		})
	}
}

// TestAChargedClaimThatChangesStaysCharged: the claim is then a new object, but the same claim.
func TestAChargedClaimThatChangesStaysCharged(t *testing.T) {
	f := newFixture(t, cluster{
		devices: map[string]string{"n1": "h100"},
		claims:  []*resourceapi.ResourceClaim{usedBy(on("n1", claim("mine-gpu", exactly("h100", 1)), "h100-0"), "mine"), claim("c", exactly("h100", 1))},
	})
	mine := f.pod("mine", "q", "mine-gpu")
	f.try(f.books.Charge(mine.Queue, "mine", mine.Demand))
	changed := f.claim("mine-gpu").DeepCopy()
	changed.Labels = map[string]string{"changed": "yes"}
	_, err := f.kube.ResourceV1().ResourceClaims("ns").Update(t.Context(), changed, metav1.UpdateOptions{})
	f.try(err)
	f.eventually("the reader has the change", func() bool {
		now, err := f.cache.Claim("ns", "mine-gpu")
		return err == nil && now.Labels["changed"] == "yes"
	})
	if got, want := f.session.Insufficient(f.preFilter(f.pod("p", "q", "c")), false).Message(), "No node has enough free devices of h100; the quota of the queue allows them."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
