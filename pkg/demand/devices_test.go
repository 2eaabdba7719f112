package demand

import (
	"strings"
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
		// want has, for each part, the amounts by class.
		want     map[ledger.Key]map[string]string
		wantOpen []string
		wantErr  string
	}{
		{name: "no claims", pod: pod(), want: map[ledger.Key]map[string]string{}},
		{name: "one claim", pod: pod("two"), want: map[ledger.Key]map[string]string{"two-uid": {"h100": "2"}}},
		{name: "the same class in several requests adds up", pod: pod("mixed"), want: map[ledger.Key]map[string]string{"mixed-uid": {"h100": "5", "a100": "3"}}},
		{name: "each claim is a part", pod: pod("two", "mixed"),
			want: map[ledger.Key]map[string]string{"two-uid": {"h100": "2"}, "mixed-uid": {"h100": "5", "a100": "3"}}},
		{name: "all devices of a class are an open number", pod: pod("two", "all"),
			want: map[ledger.Key]map[string]string{"two-uid": {"h100": "2"}, "all-uid": {}}, wantOpen: []string{"h200"}},
		{name: "sums beyond an int64 are exact", pod: pod("huge"), want: map[ledger.Key]map[string]string{"huge-uid": {"h100": "13835058055282163712"}}},
		{name: "a claim that is missing", pod: pod("two", "gone"), wantErr: "ResourceClaim ns/gone does not exist"},
		{name: "a claim that cannot be counted", pod: pod("bad"), wantErr: "ResourceClaim ns/bad: request r: its count -1 is not positive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dimensions ledger.Dimensions
			got, err := OfPod(c.pod, source, &dimensions)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Fatalf("got error %v, want %q", err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			parts := map[ledger.Key]map[string]string{}
			for _, part := range got.Demand {
				parts[part.Key] = map[string]string{}
				for _, e := range part.Amounts {
					parts[part.Key][dimensions.Dimension(e.Dimension).String()] = e.Amount.String()
				}
			}
			var open []string
			for _, o := range got.Open {
				open = append(open, dimensions.Dimension(o).String())
			}
			if diff := cmp.Diff(c.want, parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.wantOpen, open); diff != "" {
				t.Errorf("open (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfClaimIsWhatOfPodSays(t *testing.T) {
	var dimensions ledger.Dimensions
	c := claim("two", exactly("h100", 2))
	part, err := OfClaim(c, &dimensions)
	if err != nil {
		t.Fatal(err)
	}
	devices, err := OfPod(pod("two"), claims{"two": c}, &dimensions)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(devices.Demand, ledger.Demand{part}, cmp.Comparer(func(a, b ledger.Amount) bool { return a == b })); diff != "" {
		t.Errorf("OfPod and OfClaim differ:\n%s", diff)
	}
}
