// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// reservedBy has claims of any name, reserved by pods of the job (ours) and other pods.
type reservedBy struct {
	claims
	ours, others int
}

func (r reservedBy) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	if name == "missing" {
		return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), name)
	}
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
	for i := range r.ours + r.others {
		uid := types.UID(fmt.Sprint("p", i))
		if i >= r.ours {
			uid = types.UID(fmt.Sprint("other", i))
		}
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{UID: uid})
	}
	return claim, nil
}

const tooMany = "ResourceClaim ns/c: %d pods of the job's minimum use it%s, but at most 256 pods can share a claim: use a ResourceClaimTemplate or several claims, or lower minAvailable"

func TestCheckSharersOfJob(t *testing.T) {
	for _, c := range []struct {
		name string
		job  func() error
		want string
	}{
		{name: "256 pods can share a claim", job: func() error { return CheckSharersOfJob(job(256, task("", 256, -1, "=c")), reservedBy{}, nil) }},
		{
			name: "257 pods cannot", job: func() error { return CheckSharersOfJob(job(257, task("", 257, -1, "=c")), reservedBy{}, nil) },
			want: fmt.Sprintf(tooMany, 257, ""),
		},
		{name: "256 of 300 pods are enough", job: func() error { return CheckSharersOfJob(job(256, task("", 300, -1, "=c")), reservedBy{}, nil) }},
		{name: "each pod has its own claim", job: func() error { return CheckSharersOfJob(job(300, task("", 300, -1, "template")), reservedBy{}, nil) }},
		{
			name: "two tasks share it",
			job: func() error {
				return CheckSharersOfJob(job(300, task("", 200, -1, "=c"), task("", 100, -1, "=c", "=c")), reservedBy{}, nil)
			},
			want: fmt.Sprintf(tooMany, 300, ""),
		},
		{
			name: "a task that does not use it can be in the minimum instead",
			job: func() error {
				return CheckSharersOfJob(job(300, task("", 300, -1, "=c"), task("", 44, -1)), reservedBy{}, nil)
			},
		},
		{
			name: "other pods use it already", job: func() error { return CheckSharersOfJob(job(200, task("", 200, -1, "=c")), reservedBy{others: 57}, nil) },
			want: fmt.Sprintf(tooMany, 200, ", besides 57 other pods"),
		},
		{
			name: "pods of the job have reserved it already",
			job: func() error {
				return CheckSharersOfJob(job(200, task("", 200, -1, "=c")), reservedBy{ours: 100, others: 56}, sharing(reservedBy{}, 100, 0))
			},
		},
		{name: "the claim does not exist", job: func() error { return CheckSharersOfJob(job(300, task("", 300, -1, "=missing")), reservedBy{}, nil) }},
	} {
		t.Run(c.name, func(t *testing.T) { expectError(t, c.job(), c.want) })
	}
}

// sharing makes pods that share a claim, and pods without one.
func sharing(reserved reservedBy, users, rest int) []JobPod {
	object, _ := reserved.Claim("ns", "c")
	claim := &Claim{Object: object}
	pods := make([]JobPod, users+rest)
	for i := range pods {
		pods[i].Pod = &Pod{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint("p", i))}}}
		if i < users {
			pods[i].Claims = []*Claim{claim}
		}
	}
	return pods
}

func TestCheckSharersOfPods(t *testing.T) {
	for _, c := range []struct {
		name        string
		reserved    reservedBy
		users, rest int
		least       int
		want        string
	}{
		{name: "256 pods can share a claim", users: 256, least: 256},
		{name: "257 pods cannot", users: 257, least: 257, want: fmt.Sprintf(tooMany, 257, "")},
		{name: "the minimum is smaller", users: 257, least: 256},
		{name: "pods without the claim are in the minimum, too", users: 257, rest: 1, least: 257},
		{name: "some pods of the job have reserved it", reserved: reservedBy{ours: 100}, users: 256, least: 256},
		{
			name: "other pods have reserved it", reserved: reservedBy{ours: 100, others: 1}, users: 256, least: 256,
			want: fmt.Sprintf(tooMany, 256, ", besides 1 other pods"),
		},
		{name: "a claim that is full with pods of the job", reserved: reservedBy{ours: 256}, users: 256, least: 256},
	} {
		t.Run(c.name, func(t *testing.T) {
			expectError(t, CheckSharersOfPods(sharing(c.reserved, c.users, c.rest), c.least), c.want)
		})
	}
}

func expectError(t *testing.T, err error, want string) {
	t.Helper()
	if got := fmt.Sprint(err); err != nil && got != want || err == nil && want != "" {
		t.Errorf("the error is %q, want %q", got, want)
	}
}

// TestPodsAreListedOnceForAllClaims matters because users create thousands of pods and claims.
func TestPodsAreListedOnceForAllClaims(t *testing.T) {
	const size = 200
	pods := make([]JobPod, size)
	for i := range pods {
		pods[i].Pod = &Pod{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}}}
		object := claim(fmt.Sprint(i), exactly("h100", 1))
		object.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{UID: "other"}}
		pods[i].Claims = []*Claim{{Object: object}}
	}
	if work := testing.AllocsPerRun(1, func() { _ = CheckSharersOfPods(pods, size) }); work > size {
		t.Errorf("%.0f allocations for %d claims", work, size)
	}
}
