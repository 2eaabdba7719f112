// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/client"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/client/clientset/versioned"
	"github.com/devicequota/devicequota/test/cluster"
)

// Kubernetes 1.33 serves v1beta2 of resource.k8s.io, and 1.32 serves v1beta1. Volcano itself reads only v1. The scheduler turns its
// feature gate off, and devicequota does everything.
var _ = DescribeTable("A cluster that serves only an older version of resource.k8s.io", func(ctx context.Context, served string) {
	versions := []string{}
	for _, v := range []string{"v1", "v1beta1", "v1beta2"} {
		versions = append(versions, fmt.Sprintf("resource.k8s.io/%s=%t", v, v == served))
	}
	old := must(cluster.Start(context.Background(), cluster.Options{
		Manifests:     []string{filepath.Join("..", "..", "config", "samples", "cluster", "nodes.yaml")},
		APIServerArgs: []string{"--runtime-config=" + strings.Join(versions, ",")},
		SchedulerArgs: []string{"--schedule-period=20ms"},
	}))
	DeferCleanup(old.Stop)
	kube := kubernetes.NewForConfigOrDie(old.Config())
	group := client.New(kube)

	must(group.DeviceClasses().Create(ctx, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}, metav1.CreateOptions{}))
	Expect(group.CurrentAPI()).To(Equal(strings.ToUpper(served[:1]) + served[1:]))
	must(group.ResourceSlices().Create(ctx, &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu-0"},
		Spec: resourcev1.ResourceSliceSpec{Driver: "gpu.example.com", NodeName: ptr.To("gpu-0"),
			Pool: resourcev1.ResourcePool{Name: "gpu-0", ResourceSliceCount: 1}, Devices: devices(4, "gpu", bytes("80Gi"))},
	}, metav1.CreateOptions{}))
	q := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
	q.Spec.Parent, q.Spec.Weight, q.Spec.DRA = "root", 1, limit("gpu", 3, "memory", "160Gi")
	must(versioned.NewForConfigOrDie(old.Config()).SchedulingV1beta1().Queues().Create(ctx, q, metav1.CreateOptions{}))

	f := &fixture{namespace: "default", kube: kube}
	for _, name := range []string{"first", "second"} {
		must(group.ResourceClaims(f.namespace).Create(ctx, &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: asking(exactly("gpu", 2)),
		}, metav1.CreateOptions{}))
	}
	f.pod(ctx, "first", "team", using("first"))
	f.expectPodRuns(ctx, "first")
	claim := must(group.ResourceClaims(f.namespace).Get(ctx, "first", metav1.GetOptions{}))
	Expect(claim.Status.Allocation.Devices.Results).To(HaveLen(2))
	Expect(claim.Status.ReservedFor).To(HaveLen(1))
	Eventually(func() map[string]float64 { return accountIn(ctx, old, "team", "allocated") }).WithContext(ctx).Should(
		Equal(map[string]float64{"gpu/count": 2, "gpu/memory": 160 << 30}))

	f.pod(ctx, "second", "team", using("second"))
	Eventually(eventsFrom).WithContext(ctx).WithArguments(ctx, f.kube, f.namespace, "reason=InsufficientScalarQuota").
		Should(ContainElement("InsufficientScalarQuota: " + insufficient("team", "gpu", 2, 4, 3)))
},
	Entry("v1beta2", "v1beta2"),
	Entry("v1beta1", "v1beta1"),
)
