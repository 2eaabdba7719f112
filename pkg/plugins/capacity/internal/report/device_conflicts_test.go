// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/devicequota/devicequota/pkg/dra"
)

func TestAConflictIsReportedOnceOnEachClaim(t *testing.T) {
	recorder := record.NewFakeRecorder(10)
	r := NewReporter(recorder)
	conflict := dra.Conflict{Device: dra.DeviceID{Driver: "driver", Pool: "pool", Device: "gpu-0"}}
	for _, name := range []string{"a", "b"} {
		conflict.Claims = append(conflict.Claims, &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}})
	}
	for _, step := range []struct {
		name      string
		conflicts []dra.Conflict
		events    int
	}{
		{"at first", nil, 0},
		{"a new conflict", []dra.Conflict{conflict}, 2},
		{"the same conflict", []dra.Conflict{conflict}, 0},
		{"once it is over", nil, 0},
		{"the same conflict again", []dra.Conflict{conflict}, 2},
	} {
		r.DeviceConflicts(step.conflicts)
		if got := testutil.ToFloat64(devicesAllocatedTwice); got != float64(len(step.conflicts)) {
			t.Errorf("%s: the metric is %v", step.name, got)
		}
		if len(recorder.Events) != step.events {
			t.Errorf("%s: %d events, want %d", step.name, len(recorder.Events), step.events)
		}
		for range step.events {
			const want = "Warning DeviceAllocatedTwice The device driver/pool/gpu-0 is allocated to ResourceClaims ns/a and ns/b at the same time: " +
				"let only one scheduler allocate the devices of a node, and delete the pods of all but one of the claims"
			if got := <-recorder.Events; got != want {
				t.Errorf("%s: event %q, want %q", step.name, got, want)
			}
		}
	}
}
