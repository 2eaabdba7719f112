// SPDX-License-Identifier: Apache-2.0

package members

import (
	"encoding/json"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// FuzzFits makes sessions of any Cluster and any ResourceBinding. None may panic.
func FuzzFits(f *testing.F) {
	for _, cluster := range []string{
		`{}`, `{"metadata":{"name":"a"},"status":{"resourceSummary":{"allocatable":{"cpu":"1e40","memory":"-5"},"allocated":{"cpu":"9e30"}}}}`,
		`{"metadata":{"name":"a"},"spec":{"taints":[{}],"secretRef":{}},"status":{"conditions":[{"type":"Ready","status":"True"}],"apiEnablements":[{"resources":[{}]}]}}`,
	} {
		for _, binding := range []string{
			`{}`, `{"spec":{"placement":{"clusterAffinity":{"labelSelector":{"matchExpressions":[{}]},"fieldSelector":{"matchExpressions":[{}]}}}}}`,
			`{"spec":{"replicas":-3,"clusters":[{"name":"a","replicas":-2},{"name":"a"},{}],"placement":{"clusterAffinities":[{}],"replicaScheduling":{"replicaSchedulingType":"Divided"}}}}`,
			`{"spec":{"clusters":[{"name":"a"}],"gracefulEvictionTasks":[{}]},"status":{"aggregatedStatus":[{},{"clusterName":"a","applied":true}]}}`,
		} {
			f.Add([]byte(cluster), []byte(binding), int64(7), int64(-1))
		}
	}
	f.Fuzz(func(t *testing.T, cluster, bound []byte, need, copies int64) {
		c, rb := &clusterv1alpha1.Cluster{}, &workv1alpha2.ResourceBinding{}
		if json.Unmarshal(cluster, c) != nil || json.Unmarshal(bound, rb) != nil {
			return
		}
		w := newWorld(t, c)
		for _, hold := range []*binding.Hold{nil, {Reason: binding.Waiting}, {Reason: binding.Growing}, {Reason: binding.Returning}} {
			job := w.workload("x", need)
			job.Binding, job.Spread.Copies = rb, copies
			w.grant(job)
			job.State.Hold = hold
			s := w.open()
			s.Fits(job)
			s.Take(job)
			s.Fits(job)
		}
	})
}
