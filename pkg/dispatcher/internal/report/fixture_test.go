// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

var (
	cpu    = ledger.Dimension{Kind: ledger.Resource, Name: "cpu"}
	memory = ledger.Dimension{Kind: ledger.Resource, Name: "memory"}
	gpu    = ledger.Dimension{Kind: ledger.Resource, Name: "nvidia.com/gpu"}
	h100   = ledger.Dimension{Kind: ledger.DeviceCount, Name: "h100"}
	h200   = ledger.Dimension{Kind: ledger.Card, Name: "NVIDIA-H200"}
	bytes  = ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "h100", Capacity: "memory"}
)

// noon is the time in messages.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// job returns a held Job in namespace ns.
func job(name, queue string) *framework.Workload {
	return &framework.Workload{
		Binding: &workv1alpha2.ResourceBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name + "-job", UID: types.UID(name)},
			Spec: workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{
				APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Name: name, UID: types.UID("template-" + name),
			}},
		},
		State: binding.State{Hold: &binding.Hold{Reason: binding.Waiting}}, Queue: queue,
	}
}

// granted returns a Job with a grant.
func granted(name, queue string, amounts ...binding.Amount) *framework.Workload {
	w := job(name, queue)
	w.State.Hold, w.State.Grant = nil, &binding.Grant{Queue: queue, Amounts: amounts}
	return w
}

func units(d ledger.Dimension, n int64) binding.Amount {
	return binding.Amount{Dimension: d, Amount: ledger.Units(n)}
}
