package demand

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// claims is a Source of claims by name; there is every template and class.
type claims map[string]*resourceapi.ResourceClaim

func (cs claims) Claim(_, name string) (*resourceapi.ResourceClaim, error) {
	if c, found := cs[name]; found {
		return c, nil
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), name)
}

func (claims) ClaimTemplateExists(string, string) error { return nil }
func (claims) DeviceClassExists(string) error           { return nil }

func claim(name string, requests ...resourceapi.ExactDeviceRequest) *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name + "-uid")}}
	for _, r := range requests {
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, resourceapi.DeviceRequest{Name: "r", Exactly: &r})
	}
	return c
}

func exactly(class string, count int64) resourceapi.ExactDeviceRequest {
	return resourceapi.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count}
}

func all(class string) resourceapi.ExactDeviceRequest {
	return resourceapi.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeAll}
}

func pod(names ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"}}
	for _, name := range names {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimName: ptr.To(name)})
	}
	return p
}

func TestOfPod(t *testing.T) {
	source := claims{
		"two":   claim("two", exactly("h100", 2)),
		"mixed": claim("mixed", exactly("h100", 1), exactly("a100", 3), exactly("h100", 4)),
		"all":   claim("all", all("h200")),
		"huge":  claim("huge", exactly("h100", 1<<62), exactly("h100", 1<<62), exactly("h100", 1<<62)),
		"bad":   claim("bad", exactly("h100", -1)),
	}
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		// want has, for each claim, the amounts by class.
		want     map[string]map[string]string
		wantOpen []string
		wantErr  string
	}{
		{name: "no claims", pod: pod()},
		{name: "one claim", pod: pod("two"), want: map[string]map[string]string{"two": {"h100": "2"}}},
		{name: "the same claim twice", pod: pod("two", "two"), want: map[string]map[string]string{"two": {"h100": "2"}}},
		{name: "the same class in several requests adds up", pod: pod("mixed"), want: map[string]map[string]string{"mixed": {"h100": "5", "a100": "3"}}},
		{name: "each claim is a part", pod: pod("two", "mixed"),
			want: map[string]map[string]string{"two": {"h100": "2"}, "mixed": {"h100": "5", "a100": "3"}}},
		{name: "all devices of a class are an open number", pod: pod("two", "all"),
			want: map[string]map[string]string{"two": {"h100": "2"}, "all": {}}, wantOpen: []string{"h200"}},
		{name: "sums beyond an int64 are exact", pod: pod("huge"), want: map[string]map[string]string{"huge": {"h100": "13835058055282163712"}}},
		{name: "a claim that is missing", pod: pod("gone", "two"), want: map[string]map[string]string{"two": {"h100": "2"}},
			wantErr: "ResourceClaim ns/gone does not exist: create it or correct the name"},
		{name: "a claim that cannot be counted", pod: pod("bad", "two"), want: map[string]map[string]string{"two": {"h100": "2"}},
			wantErr: "ResourceClaim ns/bad: request r: its count -1 is not positive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dimensions ledger.Dimensions
			memory := NewClaims(&dimensions)
			memory.Begin()
			counted, err := OfPod(c.pod, source, memory)
			if (err != nil || c.wantErr != "") && (err == nil || err.Error() != c.wantErr) {
				t.Errorf("error %v, want %q", err, c.wantErr)
			}
			var got map[string]map[string]string
			var open []string
			for _, claim := range counted {
				if got == nil {
					got = map[string]map[string]string{}
				}
				got[claim.Object.Name] = map[string]string{}
				for _, e := range claim.Part.Amounts {
					got[claim.Object.Name][dimensions.Dimension(e.Dimension).String()] = e.Amount.String()
				}
				for _, o := range claim.Open {
					open = append(open, dimensions.Dimension(o).String())
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.wantOpen, open); diff != "" {
				t.Errorf("open (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClaimsAreRememberedAndFrozenForARound(t *testing.T) {
	var dimensions ledger.Dimensions
	memory := NewClaims(&dimensions)
	before, after := claim("c", exactly("h100", 2)), claim("c", exactly("h100", 3))

	memory.Begin()
	first := memory.Of(before)
	if again := memory.Of(after); again != first || again.Part.Amounts.Of(0) != ledger.Units(2) {
		t.Fatalf("a claim that changes within a round gives another answer: %v", again.Part.Amounts)
	}
	memory.Forget()
	memory.Begin()
	changed := memory.Of(after)
	if changed.Part != first.Part || changed.Part.Amounts.Of(0) != ledger.Units(3) {
		t.Fatalf("a claim that changed between rounds: %v", changed.Part.Amounts)
	}
	memory.Begin()
	memory.Of(claim("c", exactly("h100", -1)))
	if changed.Err == nil || len(changed.Part.Amounts) > 0 {
		t.Fatalf("a claim that became uncountable: %v, %v", changed.Part.Amounts, changed.Err)
	}
	memory.Begin()
	memory.Forget()
	for c := range memory.All {
		t.Fatalf("claim %s is still remembered", c.Object.Name)
	}
}
