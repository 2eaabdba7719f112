// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/dra"
)

// extended is a pod that requests a device as an extended resource, and an API server that names claims.
type extended struct {
	*fixture
	pod    *corev1.Pod
	wanted *resourceapi.ResourceClaim
}

func newExtended(t *testing.T) *extended {
	e := &extended{fixture: newFixture(t), pod: pod("p")}
	e.pod.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"example.com/gpu": resource.MustParse("1")},
	}}}
	e.kube.PrependReactor("create", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		created := action.(clienttesting.CreateAction).GetObject().(*resourceapi.ResourceClaim)
		created.Name, created.UID, created.ResourceVersion = created.GenerateName+"x", "from-the-api", "1"
		return false, nil, nil
	})
	e.createPod(e.pod.DeepCopy())
	inMemory, err := dra.ExtendedClaim(e.pod, []corev1.ResourceName{"example.com/gpu"}, func(corev1.ResourceName) string { return "any" })
	if err != nil {
		t.Fatal(err)
	}
	e.wanted = given(inMemory, "gpu-0")
	e.pending.Add(e.wanted, e.pod.UID)
	return e
}

func (e *extended) tryToReserve() error {
	_, err := e.writer.Reserve(e.Context(), e.pod, []*resourceapi.ResourceClaim{e.wanted}, "root/q")
	return err
}

// state returns the claim of the pod in the API server, or nil, and its entry in the status of the pod.
func (e *extended) state() (*resourceapi.ResourceClaim, *corev1.PodExtendedResourceClaimStatus) {
	e.Helper()
	claims, err := e.kube.ResourceV1().ResourceClaims("ns").List(e.Context(), metav1.ListOptions{})
	if err != nil {
		e.Fatal(err)
	}
	now, err := e.kube.CoreV1().Pods("ns").Get(e.Context(), "p", metav1.GetOptions{})
	if err != nil {
		e.Fatal(err)
	}
	if len(claims.Items) == 0 {
		return nil, now.Status.ExtendedResourceClaimStatus
	}
	return &claims.Items[0], now.Status.ExtendedResourceClaimStatus
}

func (e *extended) expectNothing() {
	e.Helper()
	claim, status := e.state()
	if claim != nil || status != nil || e.pending.Of(e.wanted.UID) != nil || e.pending.ExtendedOf(e.pod.UID) != nil {
		e.Errorf("claim %v, status %v, pending %v", claim, status, e.pending.Of(e.wanted.UID))
	}
	e.eventually("the device is free", func() bool { return !e.taken("gpu-0") })
}

func TestReserveCreatesTheClaimForExtendedResources(t *testing.T) {
	e := newExtended(t)
	var reserved atomic.Bool
	e.kube.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if !reserved.Load() && e.pending.ExtendedOf(e.pod.UID) != e.wanted {
			t.Errorf("the claim is not pending any more when it comes to %s %s", action.GetVerb(), action.GetResource().Resource)
		}
		return false, nil, nil
	})
	e.reserve(e.pod, e.wanted)
	reserved.Store(true)
	claim, status := e.state()
	if claim == nil || claim.Status.Allocation == nil || consumers(claim) != "p" || !slices.Contains(claim.Finalizers, resourceapi.Finalizer) {
		t.Fatalf("the claim is %+v", claim)
	}
	if got := chargerecord.Path(claim); !slices.Equal(got, []string{"q", "root"}) {
		t.Errorf("the record of the queue is %v", got)
	}
	if status == nil || status.ResourceClaimName != "p-extended-resources-x" || len(status.RequestMappings) != 1 || status.RequestMappings[0].ContainerName != "main" {
		t.Errorf("the status of the pod says %+v", status)
	}
	if e.pod.Status.ExtendedResourceClaimStatus != nil {
		t.Error("the pod of the informer was changed")
	}
	if now := e.reader.ExtendedClaim(e.pod); now == nil || now.Status.Allocation == nil || e.pending.Of(e.wanted.UID) != nil || !e.taken("gpu-0") {
		t.Errorf("the reader has %v; pending: %v", now, e.pending.Of(e.wanted.UID))
	}
	e.writer.Release(t.Context(), e.pod, []*resourceapi.ResourceClaim{e.wanted})
	e.expectNothing()
}

func TestAClaimForExtendedResourcesThatFailsIsDeleted(t *testing.T) {
	for _, c := range []struct{ name, verb, resource, subresource string }{
		{"not created", "create", "resourceclaims", ""},
		{"not allocated", "update", "resourceclaims", "status"},
		{"not named in the status of the pod", "patch", "pods", "status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newExtended(t)
			failed := false
			e.kube.PrependReactor(c.verb, c.resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
				if action.GetSubresource() != c.subresource || failed {
					return false, nil, nil
				}
				failed = true
				return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", errors.New("out of order"))
			})
			if err := e.tryToReserve(); err == nil || !strings.Contains(err.Error(), "out of order") || !strings.Contains(err.Error(), "extended resources of pod") {
				t.Errorf("error %v", err)
			}
			e.expectNothing()
		})
	}
}

func TestAnAPIServerThatDropsTheStatusOfExtendedClaims(t *testing.T) {
	e := newExtended(t)
	e.kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, e.pod.DeepCopy(), nil })
	if err := e.tryToReserve(); err == nil || !strings.Contains(err.Error(), "enable its feature gate DRAExtendedResource") {
		t.Errorf("error %v", err)
	}
	e.expectNothing()
}

func TestABoundPodKeepsItsClaimForExtendedResources(t *testing.T) {
	e := newExtended(t)
	e.reserve(e.pod, e.wanted)
	now, err := e.kube.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now.Spec.NodeName = "n1"
	if now, err = e.kube.CoreV1().Pods("ns").Update(t.Context(), now, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	e.writer.Deallocate(t.Context(), e.pod, e.reader.ExtendedClaim(e.pod))
	if claim, status := e.state(); claim == nil || status == nil {
		t.Errorf("claim %v, status %v", claim, status)
	}
	for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded} {
		now.Status.Phase = phase
		if err := e.writer.ReleaseFinished(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if claim, _ := e.state(); (claim == nil) != (phase == corev1.PodSucceeded) {
			t.Errorf("%s: claim %v", phase, claim)
		}
	}
}

func TestTheExtendedClaimOfAPodIsFoundByItsOwner(t *testing.T) {
	owned := func(name string, c *resourceapi.ResourceClaim, owner *corev1.Pod) *resourceapi.ResourceClaim {
		c.Name = name
		c.Annotations = map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"}
		c.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("Pod"))}
		return c
	}
	bare := owned("bare", claim("bare"), pod("p"))
	bare.Annotations = nil
	f := newFixture(t, bare, owned("a-forged", claim("a-forged"), pod("p")), owned("made", given(claim("made"), "gpu-0"), pod("p")), owned("other", claim("other"), pod("q")))
	for name, want := range map[string]string{"p": "made", "q": "other"} {
		if got := f.reader.ExtendedClaim(pod(name)); got == nil || got.Name != want {
			t.Errorf("pod %s has %v, want %s", name, got, want)
		}
	}
	if got := f.reader.ExtendedClaim(pod("none")); got != nil {
		t.Errorf("a pod without a claim has %v", got)
	}
}
