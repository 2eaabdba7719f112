// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
)

// madeMeanwhile first reads an in-memory extended claim, and then the claim created from it in the API server.
type madeMeanwhile struct {
	devices.ClaimReader
	pending, made *resourceapi.ResourceClaim
}

func (r madeMeanwhile) ExtendedClaim(*corev1.Pod) *resourceapi.ResourceClaim { return r.pending }

func (r madeMeanwhile) Allocated() ([]*resourceapi.ResourceClaim, error) {
	return []*resourceapi.ResourceClaim{r.made}, nil
}

func TestAClaimThatIsMadeWhileASessionOpensIsChargedOnce(t *testing.T) {
	f := newFixture(t).queue("q", "root")
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "h100"}, Spec: resourceapi.DeviceClassSpec{ExtendedResourceName: ptr.To(string(gpu))}}
	f.input.Catalog = dra.NewCatalog([]*resourceapi.DeviceClass{class}, nil)
	task := f.job("p", "q", "n1", "nvidia.com/gpu=2")
	pending, err := dra.ExtendedClaim(task.Pod, []corev1.ResourceName{gpu}, func(corev1.ResourceName) string { return "h100" })
	if err != nil {
		t.Fatal(err)
	}
	request := pending.Spec.Devices.Requests[0].Name
	pending.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
		{Request: request, Driver: "gpu", Pool: "n1", Device: "gpu-0"}, {Request: request, Driver: "gpu", Pool: "n1", Device: "gpu-1"},
	}}}
	made := pending.DeepCopy()
	made.Name, made.UID = "p-extended-resources-x", "made"
	made.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: task.Pod.Name, UID: task.Pod.UID}}
	f.input.Claims = madeMeanwhile{pending: pending, made: made}
	f.input.ServesClaims = true

	f.cache.Configure(demand.Options{}, demand.Serving{ByDevices: [][]corev1.ResourceName{{gpu}}, Class: func(name corev1.ResourceName) string {
		class, _ := f.input.Catalog.Extended(name)
		return class
	}})
	s := f.cache.Take(f.input)
	root, _ := s.Ledger.Queue("root")
	for _, d := range []ledger.Dimension{{Kind: ledger.DeviceCount, Name: "h100"}, {Kind: ledger.Resource, Name: string(gpu)}} {
		o, known := s.Dimensions.Known(d)
		if used := s.Ledger.Used(root, o); !known || used != ledger.Units(2) {
			t.Errorf("%s: root is charged %s, want 2", d, used)
		}
	}
}
