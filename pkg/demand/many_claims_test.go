// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

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
