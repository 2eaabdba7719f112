// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// TestJobsThatWaitAreToldOnce tests that why a job waits is an event when it changes, and again after some time.
func TestJobsThatWaitAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := record.NewFakeRecorder(20)
		r := &recorder{EventRecorder: events, said: map[types.UID]told{}}
		group := &v1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{UID: "group"}}
		other := &v1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{UID: "other"}}
		tell := func(group *v1beta1.PodGroup, message string) {
			r.Eventf(group, corev1.EventTypeWarning, "Unschedulable", message)
		}
		for range 3 {
			tell(group, "it lacks 50% of its pods")
			tell(other, "it lacks all pods")
		}
		tell(group, "no node has room")
		r.Eventf(group, corev1.EventTypeNormal, "Scheduled", "pod group is ready")
		r.Eventf(&corev1.Pod{}, corev1.EventTypeNormal, "Scheduled", "Successfully assigned %v/%v to %v", "team", "pod", "node")
		time.Sleep(repeated)
		tell(group, "no node has room")
		r.keep(map[api.JobID]*api.JobInfo{"other": {PgUID: "other"}})
		tell(group, "no node has room")
		close(events.Events)
		var got []string
		for event := range events.Events {
			got = append(got, event)
		}
		want := []string{
			"Warning Unschedulable it lacks 50% of its pods", "Warning Unschedulable it lacks all pods", "Warning Unschedulable no node has room",
			"Normal Scheduled pod group is ready", "Normal Scheduled Successfully assigned team/pod to node", "Warning Unschedulable no node has room",
			"Warning Unschedulable no node has room",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the events differ (-want +got):\n%s", diff)
		}
	})
}
