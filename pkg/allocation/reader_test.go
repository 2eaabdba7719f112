// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"errors"
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/devicequota/devicequota/pkg/readiness"
)

func TestCatalogIsMadeAnewOnlyWhenSomethingChanges(t *testing.T) {
	f := newFixture(t)
	before := f.reader.Catalog()
	if f.reader.Catalog() != before {
		t.Error("another catalog although nothing has changed")
	}
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "h100"}}
	if _, err := f.kube.ResourceV1().DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.eventually("the class is in the catalog", func() bool {
		_, found := f.reader.Catalog().Class("h100")
		return found
	})
}

func TestShutdownWaitsForTheEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	kube := fake.NewClientset()
	reader, err := NewReader(ctx, kube, readiness.NewInformers(clock.RealClock{}), podsOf(kube))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		reader.Shutdown()
		close(stopped)
	}()
	select {
	case <-stopped:
		t.Error("Shutdown returns while the context lasts")
	default:
	}
	cancel()
	<-stopped
}

func TestAReaderThatIsReadyKnowsTheDevicesInUse(t *testing.T) {
	var claims []*resourceapi.ResourceClaim
	for i := range 100 {
		claims = append(claims, given(claim(fmt.Sprint("c", i)), fmt.Sprint("gpu-", i)))
	}
	f := newFixture(t, claims...)
	for i := range claims {
		if device := fmt.Sprint("gpu-", i); !f.taken(device) {
			t.Errorf("device %s is free", device)
		}
	}
}

func TestAPermissionThatIsMissingIsNamed(t *testing.T) {
	kube, depends := fake.NewClientset(), readiness.NewInformers(clock.RealClock{})
	templates := schema.GroupResource{Group: resourceapi.GroupName, Resource: "resourceclaimtemplates"}
	kube.PrependReactor("list", templates.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(templates, "", errors.New(`cannot list resource "resourceclaimtemplates"`))
	})
	ctx, cancel := context.WithCancel(t.Context())
	reader, err := NewReader(ctx, kube, depends, podsOf(kube))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Shutdown()
	defer cancel()
	const want = `resourceclaimtemplates.resource.k8s.io cannot be read: resourceclaimtemplates.resource.k8s.io is forbidden: cannot list resource "resourceclaimtemplates": allow it in the scheduler's ClusterRole (volcano-scheduler, or devicequota-scheduler of the Helm chart), as in config/rbac/scheduler.yaml`
	f := &fixture{T: t}
	f.eventually("the permission is named", func() bool { err := depends.Err(); return err != nil && err.Error() == want })
	if reader.Ready() {
		t.Error("the reader is ready without the templates")
	}
}

// TestTheVersionThatIsServedStays: v1beta1 lacks fields that decide who gets a device. The client of Kubernetes asks for it when an object is not found, and
// stays with it if that request fails.
func TestTheVersionThatIsServedStays(t *testing.T) {
	f := newFixture(t)
	f.kube.PrependReactor("get", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetResource().Version == "v1" {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Group: resourceapi.GroupName, Resource: "resourceclaims"}, "gone")
		}
		return true, nil, apierrors.NewTooManyRequests("the API server is busy", 1)
	})
	if _, err := f.writer.get(t.Context(), claim("gone")); !apierrors.IsNotFound(err) {
		t.Errorf("the error is %v, want that the claim is not found", err)
	}
	if _, err := f.reader.api.ResourceV1().ResourceSlices().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	all := f.kube.Actions()
	if last := all[len(all)-1].GetResource(); last.Version != "v1" {
		t.Errorf("after the failure, the reader lists %s", last)
	}
}
