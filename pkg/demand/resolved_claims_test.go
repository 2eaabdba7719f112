// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dra"
)

// desk counts the claims that are read. Some are lost.
type desk struct {
	claims
	reads int
	lost  []*resourceapi.ResourceClaim
}

func (d *desk) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	d.reads++
	return d.claims.Claim(namespace, name)
}

func (d *desk) LostClaims(types.UID) []*resourceapi.ResourceClaim { return d.lost }

func TestClaimsAreReadOnceForAllPodsUntilOneChanges(t *testing.T) {
	source := &desk{claims: claims{"a": claim("a", exactly("a100", 1)), "b": claim("b", exactly("a100", 2))}}
	first, second := pod("a", "b"), pod("b")
	var lastFirst, lastSecond resolved
	published := catalog()
	dimensions, counted := scale()
	round := func() string {
		source.reads = 0
		counted.Begin(published)
		defer counted.Forget()
		said := ""
		for _, p := range []struct {
			claims []*Claim
			err    error
		}{result(counted.ofPod(first, source, &lastFirst)), result(counted.ofPod(second, source, &lastSecond))} {
			for _, c := range p.claims {
				said += text(dimensions, c.Part.Amounts()) + " "
			}
			if p.err != nil {
				said += "error "
			}
		}
		return fmt.Sprint(said, "reads=", source.reads)
	}
	deleted := source.claims["b"].DeepCopy()
	deleted.DeletionTimestamp = &metav1.Time{}
	for _, step := range []struct {
		name   string
		change func()
		want   string
	}{
		{"the pods are new", func() {}, "a100:1 a100:2 a100:2 reads=3"},
		{"nothing has changed", func() {}, "a100:1 a100:2 a100:2 reads=2"},
		{"a claim is replaced", func() { source.claims["a"] = claim("a", exactly("a100", 5)) }, "a100:5 a100:2 a100:2 reads=4"},
		{"a claim is gone", func() { delete(source.claims, "b") }, "a100:5 error error reads=5"},
		{"it is still gone", func() {}, "a100:5 error error reads=3"},
		{"another one is gone, too", func() { delete(source.claims, "a") }, "error error reads=5"},
		{"nothing else is looked for", func() {}, "error error reads=2"},
		{"it is back", func() { source.claims["a"] = claim("a", exactly("a100", 5)) }, "a100:5 error error reads=4"},
		{"it is lost, as its devices are still used", func() { source.lost = []*resourceapi.ResourceClaim{claim("b", exactly("a100", 2))} }, "a100:5 a100:2 a100:2 reads=1"},
		{"it is created again", func() { source.lost, source.claims["b"] = nil, claim("b", exactly("a100", 3)) }, "a100:5 a100:3 a100:3 reads=5"},
		{"it is being deleted", func() { source.claims["b"] = deleted }, "a100:5 a100:2 error a100:2 error reads=5"},
		{"it is still being deleted", func() {}, "a100:5 a100:2 error a100:2 error reads=2"},
		{"its class is gone", func() { published = dra.NewCatalog(nil, nil) }, "a100:5 a100:2 error a100:2 error reads=3"},
	} {
		step.change()
		if got := round(); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}

func result(claims []*Claim, err error) (r struct {
	claims []*Claim
	err    error
}) {
	r.claims, r.err = claims, err
	return r
}

func TestAClaimKnowsItsPodsHoweverManyThereAre(t *testing.T) {
	for _, users := range []int{1, manyUsers, manyUsers + 1, 256} {
		object := claim("c", exactly("h100", 1))
		for i := range users {
			object.Status.ReservedFor = append(object.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", UID: types.UID(fmt.Sprint(i))})
		}
		first, last, other := pod(), pod(), pod()
		first.UID, last.UID, other.UID = "0", types.UID(fmt.Sprint(users-1)), types.UID(fmt.Sprint(users))
		_, counted := scale()
		if counted.Of(object).HeldBy(first) {
			t.Errorf("of %d pods, the first holds a claim that is not allocated", users)
		}
		object = object.DeepCopy()
		object.Status.Allocation = &resourceapi.AllocationResult{}
		counted.Begin(catalog())
		if c := counted.Of(object); !c.HeldBy(first) || !c.HeldBy(last) || c.HeldBy(other) {
			t.Errorf("of %d pods, the first holds it: %t, the last: %t, another: %t", users, c.HeldBy(first), c.HeldBy(last), c.HeldBy(other))
		}
	}
}

// shelf has one template, as an informer has it.
type shelf struct {
	claims
	template *resourceapi.ResourceClaimTemplate
}

func (s shelf) ClaimTemplate(string, string) (*resourceapi.ResourceClaimTemplate, error) {
	return s.template, nil
}

// TestATemplateIsCountedOnceForAllPodsThatAwaitItsClaims: Kubernetes' controller makes some claims per second, and a pod names thousands.
func TestATemplateIsCountedOnceForAllPodsThatAwaitItsClaims(t *testing.T) {
	template := &resourceapi.ResourceClaimTemplate{}
	for range 32 {
		template.Spec.Spec.Devices.Requests = append(template.Spec.Spec.Devices.Requests, firstAvailable(exactly("h100", 2), exactly("a100", 1), exactly("h100", 1)))
	}
	waiting := pod()
	for i := range maxClaims {
		waiting.Spec.ResourceClaims = append(waiting.Spec.ResourceClaims, corev1.PodResourceClaim{Name: fmt.Sprint(i), ResourceClaimTemplateName: ptr.To("any")})
	}
	_, counted := scale()
	once := testing.AllocsPerRun(1, func() { _, _, _ = counted.countTemplate("any", template) })
	most := once + 20*maxClaims
	if got := testing.AllocsPerRun(1, func() { counted.resolve(&resolved{}, waiting, shelf{template: template}) }); got > most {
		t.Errorf("%.0f allocations for %d claims, want at most %.0f: %.0f for the template, and some for each claim", got, maxClaims, most, once)
	}
}

// TestAPodThatWaitsHasNotTooManyClaims also checks that those of a pod with a node count.
func TestAPodThatWaitsHasNotTooManyClaims(t *testing.T) {
	source, p := claims{}, pod()
	for i := range maxClaims + 1 {
		name := fmt.Sprint("claim-", i)
		source[name] = claim(name, exactly("h100", 1))
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimName: ptr.To(name)})
	}
	const want = "it has 65 ResourceClaims, and a pod can have at most 64: request more devices in one claim"
	_, counted := scale()
	if found, err := counted.ofPod(p, source, &resolved{}); len(found) > 0 || err == nil || err.Error() != want {
		t.Errorf("%d claims count, %v", len(found), err)
	}
	p.Status.Phase = corev1.PodRunning
	if found, err := counted.ofPod(p, source, &resolved{}); len(found) != maxClaims+1 || err != nil {
		t.Errorf("with a node, %d claims count, %v", len(found), err)
	}
	p.Status.Phase, p.Spec.ResourceClaims = corev1.PodPending, p.Spec.ResourceClaims[1:]
	if found, err := counted.ofPod(p, source, &resolved{}); len(found) != maxClaims || err != nil {
		t.Errorf("of as many as a pod can have, %d claims count, %v", len(found), err)
	}
}
