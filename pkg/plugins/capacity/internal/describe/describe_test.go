// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

func TestAmountsOfAnySizeAreToldExactly(t *testing.T) {
	for _, d := range []ledger.Dimension{{Kind: ledger.Resource, Name: "cpu"}, {Kind: ledger.DeviceCapacity, Name: "h100", Capacity: "memory"}} {
		for _, written := range []string{"0", "1n", "100m", "1.5", "80Gi", "9E", "8Ei", "9223372036854775808", "1e19", "1e21", "1000E", "123456789012345678901", "1e28"} {
			decimal := ptr.To(resource.MustParse(written)).AsDec()
			amount, err := ledger.FromDecimal(decimal.UnscaledBig(), int32(decimal.Scale()))
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(Quantity(d, amount))
			if err != nil {
				t.Fatal(err)
			}
			var read resource.Quantity
			if err := json.Unmarshal(data, &read); err != nil || read.Cmp(resource.MustParse(written)) != 0 {
				t.Errorf("%s of %s is told as %s, %v", written, d, data, err)
			}
		}
	}
}

func TestDevicesAndCardsComeBeforeResources(t *testing.T) {
	var dimensions []v1alpha1.Dimension
	for _, d := range []ledger.Dimension{
		{Kind: ledger.Resource, Name: "cpu"}, {Kind: ledger.DeviceCapacity, Name: "h100", Capacity: "memory"}, {Kind: ledger.DeviceCount, Name: "h100"},
		{Kind: ledger.DeviceCount, Name: "a100"}, {Kind: ledger.Card, Name: "NVIDIA-H100"},
	} {
		dimensions = append(dimensions, Dimension(d))
	}
	slices.SortFunc(dimensions, CompareDimensions)
	var names []string
	for _, d := range dimensions {
		names = append(names, d.String())
	}
	if want := []string{"NVIDIA-H100", "a100", "h100", "h100/memory", "cpu"}; !slices.Equal(names, want) {
		t.Errorf("the order is %v, want %v", names, want)
	}
}

func TestTheVisibilityAPIHasAllKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Form[v1alpha1.Dimension]{
		Write: func(d ledger.Dimension) (v1alpha1.Dimension, error) { return Dimension(d), nil },
		Read: func(d v1alpha1.Dimension) (ledger.Dimension, error) {
			return ledger.ParseKey(ledger.Key{Kind: string(d.Kind), Name: d.Name, Capacity: d.Capacity})
		},
	})
	for kind, want := range map[ledger.Kind]v1alpha1.Kind{
		ledger.Resource: v1alpha1.Resource, ledger.Card: v1alpha1.Card, ledger.DeviceCount: v1alpha1.Device, ledger.DeviceCapacity: v1alpha1.DeviceCapacity,
	} {
		if got := Dimension(ledger.Dimension{Kind: kind}).Kind; got != want {
			t.Errorf("the API calls %s %s, want %s", kind, got, want)
		}
	}
}

func TestStrandedWorkloadsAreThoseThatWait(t *testing.T) {
	withoutQueue := func(name string, phase schedulingv1beta1.PodGroupPhase, pods ...*corev1.Pod) report.Outsider {
		group := &schedulingv1beta1.PodGroup{Status: schedulingv1beta1.PodGroupStatus{Phase: phase}}
		group.Name, group.Spec.Queue = name, "gone"
		return report.Outsider{Group: group, Pods: pods}
	}
	s := Session{Snapshot: &snapshot.Snapshot{}}
	described := map[string]string{}
	for _, w := range s.Workloads(nil, []report.Outsider{
		withoutQueue("new", ""), withoutQueue("pending", schedulingv1beta1.PodGroupPending), withoutQueue("inqueue", schedulingv1beta1.PodGroupInqueue, &corev1.Pod{}),
		withoutQueue("grows", schedulingv1beta1.PodGroupRunning, &corev1.Pod{}), withoutQueue("runs", schedulingv1beta1.PodGroupRunning), withoutQueue("completed", schedulingv1beta1.PodGroupCompleted),
	}) {
		described[w.Name] = fmt.Sprint(w.Queue, w.Phase, w.Pods, w.Waits.Reason)
	}
	// PodGroups that need no more pods do not wait.
	want := map[string]string{
		"new": "gonemap[]QueueNotFound", "pending": "gonePendingmap[]QueueNotFound",
		"inqueue": "goneInqueuemap[Pending:1]QueueNotFound", "grows": "goneRunningmap[Pending:1]QueueNotFound",
	}
	if !maps.Equal(described, want) {
		t.Errorf("the workloads are %v, want %v", described, want)
	}
}

func TestHoldersThatHaveHeldLongestComeFirst(t *testing.T) {
	holder := func(namespace, name string, since *metav1.Time) v1alpha1.Holder {
		return v1alpha1.Holder{Object: v1alpha1.Object{Namespace: namespace, Name: name}, Since: since}
	}
	old, young := ptr.To(metav1.Unix(1, 0)), ptr.To(metav1.Unix(2, 0))
	holders := []v1alpha1.Holder{
		holder("a", "unknown", nil), holder("b", "young", young), holder("b", "old", old), holder("a", "old", old), holder("a", "also-old", old), holder("b", "unknown", nil),
	}
	slices.SortFunc(holders, compareHolders)
	var names []string
	for _, h := range holders {
		names = append(names, h.Namespace+"/"+h.Name)
	}
	if got, want := strings.Join(names, " "), "a/also-old a/old b/old b/young a/unknown b/unknown"; got != want {
		t.Errorf("the order is %s, want %s", got, want)
	}
}
