// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// objects is a ClaimReader of a test's claims and templates.
type objects struct {
	claims    map[string]*resourceapi.ResourceClaim
	templates []string
}

func (o objects) Claim(_, name string) (*resourceapi.ResourceClaim, error) {
	if c, found := o.claims[name]; found {
		return c, nil
	}
	return nil, missing("resourceclaims", name)
}

func (o objects) ClaimTemplate(_, name string) (*resourceapi.ResourceClaimTemplate, error) {
	if slices.Contains(o.templates, name) {
		return &resourceapi.ResourceClaimTemplate{}, nil
	}
	return nil, missing("resourceclaimtemplates", name)
}

func (o objects) LostClaims(types.UID) []*resourceapi.ResourceClaim { return nil }

func (o objects) ExtendedClaim(pod *corev1.Pod) *resourceapi.ResourceClaim {
	for _, c := range o.claims {
		if IsExtended(c) && metav1.IsControlledBy(c, pod) {
			return c
		}
	}
	return nil
}

func missing(resource, name string) error {
	return apierrors.NewNotFound(resourceapi.Resource(resource), name)
}

// pod returns a pod that refers to claims: "=x" refers to the claim named x, "x" to a claim from template x. statuses contains
// the names of claims created from templates. An empty name means that no claim is needed.
func pod(statuses map[string]string, refs ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "pod-uid"}}
	for _, ref := range refs {
		podClaim := corev1.PodResourceClaim{Name: "gpu", ResourceClaimTemplateName: ptr.To(ref)}
		if ref[0] == '=' {
			podClaim = corev1.PodResourceClaim{Name: "gpu", ResourceClaimName: ptr.To(ref[1:])}
		} else if name, made := statuses[ref]; made {
			status := corev1.PodResourceClaimStatus{Name: "gpu"}
			if name != "" {
				status.ResourceClaimName = ptr.To(name)
			}
			p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, status)
		}
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, podClaim)
	}
	return p
}

func ownedBy(uid types.UID, c *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "pod", UID: uid, Controller: ptr.To(true)}}
	return c
}

func extended(c *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, resourceapi.ExtendedResourceClaimAnnotation, "true")
	return c
}

func reservedFor(uid types.UID, c *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	c.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: "pod", UID: uid}}
	return c
}

func TestClaimOf(t *testing.T) {
	named := objects{claims: map[string]*resourceapi.ResourceClaim{"claim": claim()}}
	for _, c := range []struct {
		name    string
		pod     *corev1.Pod
		claims  objects
		want    int
		wantErr string
	}{
		{name: "no claims", pod: pod(nil)},
		{name: "a named claim", pod: pod(nil, "=claim"), claims: named, want: 1},
		{name: "the same claim twice", pod: pod(nil, "=claim", "=claim"), claims: named, want: 1},
		{
			name: "a named claim that does not exist", pod: pod(nil, "=lost"), claims: named,
			wantErr: "ResourceClaim ns/lost does not exist: create it or correct the name",
		},
		{
			name: "a claim from a template", pod: pod(map[string]string{"tmpl": "claim"}, "tmpl"),
			claims: objects{claims: map[string]*resourceapi.ResourceClaim{"claim": ownedBy("pod-uid", claim())}}, want: 1,
		},
		{
			name: "a template from which no claim is needed", pod: pod(map[string]string{"tmpl": ""}, "tmpl"),
		},
		{
			name: "a claim from a template that belongs to another pod", pod: pod(map[string]string{"tmpl": "claim"}, "tmpl"),
			claims:  objects{claims: map[string]*resourceapi.ResourceClaim{"claim": ownedBy("stranger", claim())}},
			wantErr: "ResourceClaim ns/claim has the name of this pod's claim but belongs to another pod: delete that claim or this pod: ResourceClaim ns/claim was not created for pod ns/pod (pod is not owner)",
		},
		{
			name: "a claim that is being deleted", pod: pod(nil, "=claim"),
			claims: objects{claims: map[string]*resourceapi.ResourceClaim{"claim": deleted(claim())}}, want: 1,
			wantErr: "ResourceClaim ns/claim is being deleted: wait until it is gone and create it again, or use another one",
		},
		{
			name: "a claim that is being deleted while the pod uses its devices", pod: pod(nil, "=claim"),
			claims: objects{claims: map[string]*resourceapi.ResourceClaim{
				"claim": deleted(reservedFor("pod-uid", allocatedTo(claim(exactly("r", "h100", 1)), "r"))),
			}}, want: 1,
		},
		{
			name: "a claim for the extended resources of another pod", pod: pod(nil, "=claim"),
			claims: objects{claims: map[string]*resourceapi.ResourceClaim{"claim": ownedBy("stranger", extended(allocatedTo(claim(exactly("r", "h100", 1)), "r")))}}, want: 1,
			wantErr: "ResourceClaim ns/claim is for the extended resources of pod pod: use another one",
		},
		{
			name: "such a claim that the pod uses already", pod: pod(nil, "=claim"),
			claims: objects{claims: map[string]*resourceapi.ResourceClaim{
				"claim": ownedBy("stranger", extended(reservedFor("pod-uid", allocatedTo(claim(exactly("r", "h100", 1)), "r")))),
			}}, want: 1,
		},
		{
			name: "a claim of which its own pod says that it is for extended resources", pod: pod(nil, "=claim"),
			claims: objects{claims: map[string]*resourceapi.ResourceClaim{"claim": ownedBy("pod-uid", extended(allocatedTo(claim(exactly("r", "h100", 1)), "r")))}}, want: 1,
		},
		{
			name: "a claim without devices of which somebody says that it is for another pod", pod: pod(nil, "=claim"),
			claims: objects{claims: map[string]*resourceapi.ResourceClaim{"claim": ownedBy("stranger", extended(claim()))}}, want: 1,
		},
		{
			name: "a claim that has not been created yet", pod: pod(nil, "tmpl"), claims: objects{templates: []string{"tmpl"}},
			wantErr: "the ResourceClaim for gpu has not been created from ResourceClaimTemplate ns/tmpl yet",
		},
		{
			name: "a template that does not exist", pod: pod(nil, "lost"),
			wantErr: "ResourceClaimTemplate ns/lost does not exist: create it or correct the name",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []*resourceapi.ResourceClaim
			var err error
			for i := range c.pod.Spec.ResourceClaims {
				var of *resourceapi.ResourceClaim
				of, err = ClaimOf(c.pod, &c.pod.Spec.ResourceClaims[i], c.claims)
				if of != nil && !slices.Contains(got, of) {
					got = append(got, of)
				}
			}
			if message := errorText(err); message != c.wantErr {
				t.Errorf("error %q, want %q", message, c.wantErr)
			}
			if len(got) != c.want {
				t.Errorf("%d claims, want %d", len(got), c.want)
			}
		})
	}
}

func deleted(c *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	c.DeletionTimestamp = ptr.To(metav1.Now())
	return c
}

func TestCheck(t *testing.T) {
	lost := allocatedTo(claim(exactly("r", "h100", 1)), "r")
	lost.Status.Allocation.Devices.Results[0].Driver = "lost"
	for _, c := range []struct {
		name  string
		claim *resourceapi.ResourceClaim
		want  string
	}{
		{"the class exists", claim(exactly("r", "h100", 1)), ""},
		{"the class does not exist", claim(exactly("r", "h100", 1), all("s", "gone")), "ResourceClaim ns/claim: DeviceClass gone does not exist: create it or correct the name"},
		{
			"the class of an alternative does not exist", claim(firstAvailable("r", exactly("a", "h100", 1), exactly("b", "gone", 1))),
			"ResourceClaim ns/claim: DeviceClass gone does not exist: create it or correct the name",
		},
		{"an allocated claim no longer needs its class", allocatedTo(claim(exactly("r", "gone", 1)), "r"), ""},
		{
			"the driver of an allocated claim is gone", lost,
			"ResourceClaim ns/claim holds device lost/pool/dev, but driver lost no longer publishes ResourceSlices: start the driver again or delete the claim",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			usage, err := Requested(&c.claim.Spec)
			if err != nil {
				t.Fatal(err)
			}
			if got := errorText(Check(c.claim, &usage, published())); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPlaceOf(t *testing.T) {
	for _, c := range []struct {
		consumers []types.UID
		want      int
	}{
		{nil, 0}, {[]types.UID{"a", "b"}, 2}, {[]types.UID{"pod-uid", "b"}, 0}, {[]types.UID{"a", "b", "pod-uid"}, 2},
	} {
		shared := claim()
		for _, uid := range c.consumers {
			shared.Status.ReservedFor = append(shared.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{UID: uid})
		}
		if got := PlaceOf(pod(nil), shared); got != c.want {
			t.Errorf("among %v: place %d, want %d", c.consumers, got, c.want)
		}
	}
}

func TestHeldBy(t *testing.T) {
	asked := func() *resourceapi.ResourceClaim { return claim(exactly("r", "h100", 1)) }
	given := func() *resourceapi.ResourceClaim { return allocatedTo(asked(), "r") }
	for _, c := range []struct {
		name  string
		claim *resourceapi.ResourceClaim
		want  bool
	}{
		{"not allocated", ownedBy("pod-uid", asked()), false},
		{"reserved for the pod", reservedFor("pod-uid", given()), true},
		{"reserved for another pod", reservedFor("stranger", given()), false},
		{"allocated, and owned by the pod, which users can write", ownedBy("pod-uid", given()), false},
		{"allocated in advance, not reserved", given(), false},
	} {
		if got := HeldBy(pod(nil, "=claim"), c.claim); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
