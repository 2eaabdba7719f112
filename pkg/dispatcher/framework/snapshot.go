// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Snapshot is the input of a session. It is read-only.
type Snapshot struct {
	// Now is the time of the session.
	Now time.Time
	// Queues has all queues by name. Plugins must tolerate any mistake in them.
	Queues map[string]*schedulingv1beta1.Queue
	// Limits has the limits of each queue.
	Limits map[string]QueueLimits
	// Workloads has all workloads that belong to queues.
	Workloads []*Workload
	// PriorityClasses has all PriorityClasses by name.
	PriorityClasses map[string]*schedulingv1.PriorityClass
	// Dimensions are the dimensions of all amounts.
	Dimensions *ledger.Dimensions
	// NotReady has the clusters that cannot be reached.
	NotReady map[string]bool
	// Appeared reports whether another claim or claim template than those that are given has taken the place of one of them since a time, and is not there
	// now. Given and there are sorted notes. It is nil if nobody knows.
	Appeared func(namespace string, given, there []string, since time.Time) bool
	// Left returns what a member cluster still had of a workload after a time. It is nil if the dispatcher does not look at members.
	Left func(w *Workload, cluster string, after time.Time) Left
}

// Ready reports whether Karmada can reach a cluster.
func Ready(cluster *clusterv1alpha1.Cluster) bool {
	return meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
}

// Left is what a member cluster has of a workload.
type Left struct {
	// Err says why the rest is unknown, nil if it is known.
	Err error
	// Generation is the generation on the control plane that the object in the member was made from. It is empty if the member
	// does not have the object.
	Generation string
	// Pods is the number of its pods that have not ended.
	Pods int64
	// Ending is the number of these pods that are being deleted.
	Ending int64
	// Again is when the member may be asked again. It is zero while the member is being asked: a new cycle begins at its answer.
	Again time.Time
}

// Lost is an object in a member cluster that Karmada has lost: it has neither a ResourceBinding nor a Work any more.
type Lost struct {
	Cluster, APIVersion string
	// Template is the content of the object in the member. Err is what is wrong with it.
	Template *workload.Template
	Err      error
}

// QueueLimits are the limits of a queue, without the limits of its ancestors.
type QueueLimits struct {
	Capability, Deserved, Guarantee ledger.Amounts
	// ListsCards says that the queue has a card quota.
	ListsCards bool
	// Err says why a quota of the queue cannot be read. Then nothing more is granted in the queue.
	Err error
}
