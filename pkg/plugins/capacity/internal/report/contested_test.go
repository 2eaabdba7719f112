// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dra"
)

func TestAContestedExtendedResourceIsReportedOnceOnEachClassThatDoesNotOfferIt(t *testing.T) {
	offering := func(name string, created int64, resource string) *resourceapi.DeviceClass {
		return &resourceapi.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(created, 0)},
			Spec:       resourceapi.DeviceClassSpec{ExtendedResourceName: ptr.To(resource)},
		}
	}
	old, recent, twin := offering("old", 1, "example.com/gpu"), offering("recent", 9, "example.com/gpu"), offering("twin", 9, "example.com/gpu")
	alone := offering("alone", 1, "example.com/nic")
	catalog := func(classes ...*resourceapi.DeviceClass) *dra.Catalog { return dra.NewCatalog(classes, nil) }
	const (
		newer = "Warning ExtendedResourceContested The extended resource example.com/gpu is offered by DeviceClass recent, which is newer, and not by DeviceClass old: " +
			"pods that request example.com/gpu get devices of DeviceClass recent: remove spec.extendedResourceName from one of the classes, or change it"
		byName = "Warning ExtendedResourceContested The extended resource example.com/gpu is offered by DeviceClass recent, which is equally old and comes first by name, and not by DeviceClass twin: " +
			"pods that request example.com/gpu get devices of DeviceClass recent: remove spec.extendedResourceName from one of the classes, or change it"
	)
	recorder := record.NewFakeRecorder(10)
	r := NewReporter(recorder)
	for _, step := range []struct {
		name    string
		catalog *dra.Catalog
		want    []string
	}{
		{"before anything is read", nil, nil},
		{"names of their own", catalog(old, alone), nil},
		{"a newer class", catalog(old, recent, alone), []string{newer}},
		{"still the same", catalog(old, recent, alone), nil},
		{"one more that is equally old", catalog(old, recent, twin), []string{byName}},
		{"the winner is gone", catalog(old, alone), nil},
		{"and comes back", catalog(old, recent), []string{newer}},
	} {
		r.ContestedResources(step.catalog.Contested())
		var got []string
		for len(recorder.Events) > 0 {
			got = append(got, <-recorder.Events)
		}
		if len(got) != len(step.want) || len(got) == 1 && got[0] != step.want[0] {
			t.Errorf("%s: events %q, want %q", step.name, got, step.want)
		}
	}
}
