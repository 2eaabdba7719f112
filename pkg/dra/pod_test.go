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

// objects is a Source of what a test put there.
type objects struct {
	claims             map[string]*resourceapi.ResourceClaim
	templates, classes []string
}

func (o objects) Claim(_, name string) (*resourceapi.ResourceClaim, error) {
	if c, found := o.claims[name]; found {
		return c, nil
	}
	return nil, missing("resourceclaims", name)
}

func (o objects) ClaimTemplateExists(_, name string) error {
	return existsIn(o.templates, "resourceclaimtemplates", name)
}

func (o objects) DeviceClassExists(name string) error {
	return existsIn(o.classes, "deviceclasses", name)
}

func existsIn(names []string, resource, name string) error {
	for _, n := range names {
		if n == name {
			return nil
		}
	}
	return missing(resource, name)
}

func missing(resource, name string) error {
	return apierrors.NewNotFound(resourceapi.Resource(resource), name)
}

// pod refers to claims: "=x" to the claim named x, "x" to one made from template x under
// the name that statuses give, if they do.
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

func reservedFor(uid types.UID, c *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	c.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: "pod", UID: uid}}
	return c
}

func TestClaimOf(t *testing.T) {
	named := objects{claims: map[string]*resourceapi.ResourceClaim{"claim": claim()}}
	for _, c := range []struct {
		name    string
		pod     *corev1.Pod
		source  objects
		want    int
		wantErr string
	}{
		{name: "no claims", pod: pod(nil)},
		{name: "a named claim", pod: pod(nil, "=claim"), source: named, want: 1},
		{name: "the same claim twice", pod: pod(nil, "=claim", "=claim"), source: named, want: 1},
		{
			name: "a named claim that is missing", pod: pod(nil, "=lost"), source: named,
			wantErr: "ResourceClaim ns/lost does not exist: create it or correct the name",
		},
		{
			name: "a claim made from a template", pod: pod(map[string]string{"tmpl": "claim"}, "tmpl"),
			source: objects{claims: map[string]*resourceapi.ResourceClaim{"claim": ownedBy("pod-uid", claim())}}, want: 1,
		},
		{
			name: "a template that turned out to need no claim", pod: pod(map[string]string{"tmpl": ""}, "tmpl"),
		},
		{
			name: "a claim made from a template for somebody else", pod: pod(map[string]string{"tmpl": "claim"}, "tmpl"),
			source:  objects{claims: map[string]*resourceapi.ResourceClaim{"claim": ownedBy("stranger", claim())}},
			wantErr: "ResourceClaim ns/claim was not created for pod ns/pod (pod is not owner)",
		},
		{
			name: "a claim on its way", pod: pod(nil, "tmpl"), source: objects{templates: []string{"tmpl"}},
			wantErr: "the ResourceClaim for gpu has not been created from ResourceClaimTemplate ns/tmpl yet",
		},
		{
			name: "a template that is missing", pod: pod(nil, "lost"),
			wantErr: "ResourceClaimTemplate ns/lost does not exist: create it or correct the name",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []*resourceapi.ResourceClaim
			var err error
			for i := range c.pod.Spec.ResourceClaims {
				var of *resourceapi.ResourceClaim
				of, err = ClaimOf(c.pod, &c.pod.Spec.ResourceClaims[i], c.source)
				if err == nil && of != nil && !slices.Contains(got, of) {
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

func TestCheckClasses(t *testing.T) {
	source := objects{classes: []string{"h100"}}
	for _, c := range []struct {
		name  string
		claim *resourceapi.ResourceClaim
		want  string
	}{
		{"the class exists", claim(exactly("r", "h100", 1)), ""},
		{"the class is missing", claim(exactly("r", "h100", 1), all("s", "b200")), "ResourceClaim ns/claim: DeviceClass b200 does not exist: create it or correct the name"},
		{"an allocated claim needs its class no more", allocatedTo(claim(exactly("r", "gone", 1)), "r"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			usage, err := Of(c.claim)
			if err != nil {
				t.Fatal(err)
			}
			if got := errorText(CheckClasses(c.claim, usage, source)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
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
		{"allocated and made for the pod", ownedBy("pod-uid", given()), true},
		{"allocated in advance, reserved for nobody", given(), false},
	} {
		if got := HeldBy(pod(nil, "=claim"), c.claim); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
