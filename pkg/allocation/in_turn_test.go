// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"fmt"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/devicequota/devicequota/pkg/readiness"
)

// TestSlicesGrowWhileClassesChange: Kubernetes' tracker of taints, which hears about both at the same time, panicked.
func TestSlicesGrowWhileClassesChange(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRADeviceTaints, true)
	slice := func(devices int) *resourceapi.ResourceSlice {
		s := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: resourceapi.ResourceSliceSpec{
			Driver: "driver", Pool: resourceapi.ResourcePool{Name: "n1", ResourceSliceCount: 1}}}
		for i := range devices {
			s.Spec.Devices = append(s.Spec.Devices, resourceapi.Device{Name: fmt.Sprint("gpu-", i)})
		}
		return s
	}
	class := func(version int) *resourceapi.DeviceClass {
		return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu", Labels: map[string]string{"version": fmt.Sprint(version)}}}
	}
	kube := fake.NewClientset(slice(1), class(0))
	ctx, cancel := context.WithCancel(t.Context())
	pods := informers.NewSharedInformerFactory(kube, 0)
	r, err := NewReader(ctx, kube, &readiness.Informers{}, pods.Core().V1().Pods())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Shutdown()
	defer cancel()
	pods.Start(ctx.Done())
	err = wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return watches(kube, "resourceslices") > 0 && watches(kube, "deviceclasses") > 0, nil
	})
	if err != nil {
		t.Fatalf("slices and classes are not watched: %v", err)
	}
	devices := func() int {
		found, err := r.published.ListPatchedResourceSlices()
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			return 0
		}
		return len(found[0].Spec.Devices)
	}
	for i := range 500 {
		want := 1 + i%2*7
		if _, err := kube.ResourceV1().ResourceSlices().Update(ctx, slice(want), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := kube.ResourceV1().DeviceClasses().Update(ctx, class(i), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if i%20 == 19 {
			err := wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return devices() == want, nil })
			if err != nil {
				t.Fatalf("the reader has %d devices, want %d", devices(), want)
			}
		}
	}
}
