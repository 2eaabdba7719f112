// SPDX-License-Identifier: Apache-2.0

package card_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/card"
)

func TestAResourceMayBeTheCardsThatItsNameAllows(t *testing.T) {
	for _, c := range []struct {
		resource, card string
		may            bool
	}{
		{"nvidia.com/gpu", "NVIDIA-H20", true},
		{"nvidia.com/gpu", "Tesla-V100-SXM2-16GB", true},
		{"nvidia.com/gpu", "Ascend-910B", false},
		{"huawei.com/Ascend910", "Ascend-910B", true},
		{"huawei.com/npu", "NVIDIA-H20", false},
		{"nvidia.com/gpu", "X100", true},
		{"example.com/gpu", "X100", true},
		{"nvidia.com/gpu", "NVIDIA-H20/mps-96g*1/2", false},
		{"nvidia.com/gpu.shared", "NVIDIA-H20/mps-96g*1/2", true},
		{"nvidia.com/gpu.shared", "NVIDIA-H20/mps-*", false},
		{"nvidia.com/gpu.shared", "NVIDIA-H20", false},
		{"nvidia.com/gpu.shared", "NVIDIA-H20/mig-1g.18gb-mixed", false},
		{"nvidia.com/mig-1g.18gb", "NVIDIA-H20/mig-1g.18gb-mixed", true},
		{"nvidia.com/mig-1g.18gb", "NVIDIA-H20/mig-1gx18gb-mixed", false},
		{"nvidia.com/mig-2g.36gb", "NVIDIA-H20/mig-1g.18gb-mixed", false},
		{"cpu", "X100", false},
	} {
		if may := card.MayBe(corev1.ResourceName(c.resource), c.card); may != c.may {
			t.Errorf("%s may be %s: %t, want %t", c.resource, c.card, may, c.may)
		}
	}
}

func TestOnlyUsualNamesLookLikeCards(t *testing.T) {
	for name, looks := range map[corev1.ResourceName]bool{
		"nvidia.com/gpu": true, "nvidia.com/gpu.shared": true, "nvidia.com/mig-1g.18gb": true, "huawei.com/Ascend910": true, "amd.com/gpu": true,
		"nvidia.com/rdma_shared_device_a": false, "cpu": false, "rdma/hca": false,
	} {
		if card.LooksLikeCards(name) != looks {
			t.Errorf("%s looks like cards: %t", name, !looks)
		}
	}
}
