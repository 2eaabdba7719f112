// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

// TestALateAnswerOfTheSchedulerGrantsNothing: the workload has become smaller, and its grant, since Karmada's scheduler read it.
func TestALateAnswerOfTheSchedulerGrantsNothing(t *testing.T) {
	for _, divided := range []bool{false, true} {
		t.Run(fmt.Sprintf("divided %t", divided), func(t *testing.T) {
			w := newQueueWorld(t, 1, 4, true)
			w.deploy("web", 4, "m1")
			if divided {
				w.policies[web].ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
			}
			w.detect(web)
			w.decide()
			w.see(web, true)
			w.scaleTo(deployments, "ns/web", 1)
			w.storeUpdate()
			w.detect(web)
			for range 10 {
				w.sleep(time.Second)
				w.decide()
			}
			w.deploy("other", 3, "m2")
			w.detect("ns/other-deployment")
			w.decide()
			w.schedule(web)
			for range 2 { // the first cycle notes the cluster
				w.sleep(time.Second)
				w.decide()
			}
			w.pass(60)
			if runs := w.runs(); runs != 4 {
				t.Errorf("%d cores run, want those of both workloads, 4: %s", runs, w.says())
			}
		})
	}
}
