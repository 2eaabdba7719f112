// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const retainReplicas = "resourcetemplate.karmada.io/retain-replicas"

// TestReplicasThatClustersRetainCountBesideThoseThatOthersGet: a cluster with the label keeps its replicas when Karmada gives a part of them to another
// cluster, which makes new ones. Users write the label and the policy.
func TestReplicasThatClustersRetainCountBesideThoseThatOthersGet(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newQueueWorld(t, seed, 4, true)
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "keeps", Labels: map[string]string{retainReplicas: "true"}}}
			d.APIVersion, d.Kind = "apps/v1", "Deployment"
			d.Spec = appsv1.DeploymentSpec{Replicas: ptr.To[int32](4), Template: podsOf("c", 1)}
			to := func(clusters ...string) {
				w.policies["ns/keeps-deployment"] = &policyv1alpha1.Placement{
					ClusterAffinity:   &policyv1alpha1.ClusterAffinity{ClusterNames: clusters},
					ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided},
				}
			}
			to("m1")
			w.put(deployments, d)
			w.settled()
			to("m1", "m2")
			w.settled()
			if rb, runs := w.binding("ns/keeps-deployment"), w.runs(); runs > 4 {
				t.Errorf("%d cores run, and the queue may have 4: %v %v", runs, rb.Spec.Clusters, rb.Annotations)
			}
		})
	}
}
