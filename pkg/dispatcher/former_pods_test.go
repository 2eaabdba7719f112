// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/admission"
)

// TestMorePodsCountAsThoseOfTheFormerTemplate: Kubernetes scales a Deployment before it replaces pods. An update to more and smaller pods
// therefore makes more of the large pods first, and forever if the Deployment is paused.
func TestMorePodsCountAsThoseOfTheFormerTemplate(t *testing.T) {
	w := newQueueWorld(t, 1, 8, true)
	w.sendTo("ns/web-deployment", "m1")
	become := func(replicas int32, each, granted int64, grows bool) {
		t.Helper()
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
		d.APIVersion, d.Kind = "apps/v1", "Deployment"
		d.Spec = appsv1.DeploymentSpec{Replicas: ptr.To(replicas), Template: podsOf("c", each)}
		if before := w.store[deployments]["ns/web"]; before != nil {
			d.UID, d.ResourceVersion = before.GetUID(), before.GetResourceVersion()
			if response := w.admit("user", admission.WorkloadsPath, "UPDATE", before, d); !response.Allowed {
				t.Fatal(response.Result)
			}
		}
		w.put(deployments, d)
		w.settled()
		w.sleep(2 * grace * time.Second) // pods end
		w.settled()
		state := w.stateOf(w.binding("ns/web-deployment"))
		if got := coresGranted(state.Grant); got != granted || (state.Hold != nil) != grows {
			t.Errorf("with %d pods of %d cores, %d cores are granted, and the hold is %+v; want %d, held %v", replicas, each, got, state.Hold, granted, grows)
		}
		if state.Hold != nil && state.Hold.Reason != binding.Growing {
			t.Errorf("the hold is %+v", state.Hold)
		}
	}
	become(1, 4, 4, false)
	become(4, 1, 4, true) // 16 cores would run
	become(4, 2, 4, true) // also in several steps
	become(1, 4, 4, false)
	become(1, 1, 1, false)
	become(4, 1, 4, false) // there are no large pods any more
	become(2, 2, 4, false)
	become(5, 1, 4, true)
	become(2, 2, 4, false)
}
