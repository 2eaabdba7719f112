// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"slices"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	karmadafake "github.com/karmada-io/karmada/pkg/generated/clientset/versioned/fake"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	discoveryfake "k8s.io/client-go/discovery/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	volcanofake "volcano.sh/apis/pkg/client/clientset/versioned/fake"

	queuefake "github.com/devicequota/devicequota/pkg/client/clientset/versioned/fake"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/cache"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
)

// TestAClaimThatIsReplacedDuringAGrantAndGoneAgainGivesNothingMore: a member may have allocated its devices by then, also if the object on the control
// plane was deleted with --cascade=orphan. The user may also make the workload name none any more, or delete it, before the next cycle.
func TestAClaimThatIsReplacedDuringAGrantAndGoneAgainGivesNothingMore(t *testing.T) {
	ctx := t.Context()
	for name, then := range map[string]func(kube *kubefake.Clientset) error{
		"nothing else": func(*kubefake.Clientset) error { return nil },
		"it names none any more": func(kube *kubefake.Clientset) error {
			_, err := kube.AppsV1().Deployments("ns").Update(ctx, deploymentNaming(), metav1.UpdateOptions{})
			return err
		},
		"it is deleted, and what runs stays": func(kube *kubefake.Clientset) error {
			return kube.AppsV1().Deployments("ns").Delete(ctx, "web", metav1.DeleteOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			granted, other := claimOf(1), claimOf(8)
			rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-deployment", UID: "rb", ResourceVersion: "5"}}
			rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns", Name: "web", UID: "web"}
			rb.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1", Replicas: 1}}
			now := metav1.NewTime(time.Now().Add(-time.Second))
			grant := &binding.Grant{Queue: "team", Time: now, Decided: now, Clusters: []string{"m1"}, Grace: 30, Given: []string{binding.ClaimNote(granted)}}
			metav1.SetMetaDataAnnotation(&rb.ObjectMeta, binding.GrantAnnotation, grant.Annotation())
			kube := kubefake.NewSimpleClientset(granted, deploymentNaming("claim"), &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "h100"}})
			kube.Discovery().(*discoveryfake.FakeDiscovery).Resources = []*metav1.APIResourceList{
				{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Kind: "Deployment"}}},
				{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{{Kind: "DeviceClass"}, {Kind: "ResourceClaim"}, {Kind: "ResourceClaimTemplate"}}},
			}
			f := newFixture(t, "")
			c, err := cache.New(&cache.Clients{
				Kubernetes: kube, Karmada: karmadafake.NewSimpleClientset(rb), Volcano: volcanofake.NewSimpleClientset(),
				Queues: queuefake.NewSimpleClientset(), Metadata: metadatafake.NewSimpleMetadataClient(runtime.NewScheme()),
			}, f.config)
			if err != nil {
				t.Fatal(err)
			}
			running, stop := context.WithCancel(ctx)
			stopped := make(chan error)
			go func() { stopped <- c.Run(running) }()
			defer func() { stop(); <-stopped }()
			if err := c.WaitForSync(ctx); err != nil {
				t.Fatal(err)
			}
			claims := kube.ResourceV1().ResourceClaims("ns")
			_ = claims.Delete(ctx, "claim", metav1.DeleteOptions{})
			_, err = claims.Create(ctx, other, metav1.CreateOptions{})
			_ = claims.Delete(ctx, "claim", metav1.DeleteOptions{})
			if err != nil || then(kube) != nil {
				t.Fatal("the user could not do that")
			}
			memory := newMemory()
			takenBack := func(context.Context) (bool, error) {
				snapshot, err := c.Snapshot(time.Now())
				if err != nil {
					return false, err
				}
				cycle := newCycle(f.config, framework.Open(f.config, snapshot), memory)
				cycle.reconcileAll()
				return slices.ContainsFunc(cycle.ends, func(d decision) bool { return d.Reason == report.TakenBack(d.Workload, &binding.Requeue{}).Reason }), nil
			}
			if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 5*time.Second, true, takenBack); err != nil {
				t.Errorf("it keeps its grant: %v", err)
			}
		})
	}
}

func claimOf(devices int64) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "claim"}}
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: "h100", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: devices,
	}}}
	return claim
}

// deploymentNaming returns a Deployment whose pod names claims.
func deploymentNaming(claims ...string) *appsv1.Deployment {
	one := int32(1)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"}, Spec: appsv1.DeploymentSpec{Replicas: &one, Template: podsOf("team", 1)}}
	for _, claim := range claims {
		d.Spec.Template.Spec.ResourceClaims = append(d.Spec.Template.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
	}
	return d
}
