// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
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
	reader, err := NewReader(ctx, fake.NewClientset())
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
