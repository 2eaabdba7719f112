// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Template is what an object says of the pods that it makes.
type Template struct {
	// Kind, Namespace, and Name are those of the object.
	Kind, Namespace, Name string
	UID                   types.UID
	ResourceVersion       string
	// Generation grows with each change of the spec. It is zero if the kind has none.
	Generation int64
	// Queue is the queue that the object names. It is empty if the object names none.
	Queue string
	// ForVolcano says that the object is meant for Volcano, even if it names no queue: it is of a kind of Volcano's, or
	// its pods name the scheduler.
	ForVolcano bool
	// PriorityClass is the PriorityClass of the workload, empty if it has none.
	PriorityClass string
	// Group is the PodGroup in the object's namespace that its pods belong to. It is empty if they name none.
	Group string
	// Pods has the pods that one cluster runs if it gets the whole object. It is empty for a PodGroup.
	Pods []PodSet
	// Reserve is the minimum of a PodGroup, which its pods take from. It is nil for any other kind.
	Reserve corev1.ResourceList
	// CardRequest is the annotation volcano.sh/card.request of a PodGroup, empty if it has none.
	CardRequest string
	// Fallback says that the kind is unknown, so that Pods is what Karmada's interpreter found in the object.
	Fallback bool
	// RetainsReplicas says that Karmada leaves the number of replicas to the member clusters.
	RetainsReplicas bool
	// Grace is for how many seconds at most a pod may go on running after it was deleted.
	Grace int64

	// Suspended says that it makes no pods, and ends those that it has.
	Suspended bool
	// Overlaps says that new pods come while those that they take the place of still end. Those of other kinds have the same names.
	Overlaps bool
	// Surge is how many pods each cluster may run besides its replicas during an update, if the object says that as a number, and
	// SurgePercent how many for a hundred replicas, otherwise. Surged is how many of them the pods have.
	Surge, SurgePercent, Surged int64
	// Start is the number in the name of the first pod of a StatefulSet.
	Start int32
	// Starts is what decides when a CronJob that replaces its Jobs starts the next one. Each change of it may start one at once.
	Starts string

	// Replaces says that pods are replaced when their template changes, and that clusters may meanwhile make more of the former one:
	// Kubernetes scales what it has before it replaces it.
	Replaces bool
	// Halts says that clusters make pods of a former template until somebody changes the object.
	Halts bool

	// keepsTemplate says that pods stay as they were made, whatever the template becomes.
	keepsTemplate bool
	// shape is what Shape has returned.
	shape string
}

// PodSet is a number of pods that are alike.
type PodSet struct {
	// Name is that of the task or component. It is empty if there is only one.
	Name string
	// Count is how many pods there are in all. Minimum is how many the workload needs to start, at most Count.
	Count, Minimum int64
	// Template must not be changed.
	Template *corev1.PodTemplateSpec
}

// SurgeBeyond returns how many pods of a surge count besides those that Pods has, if there are some replicas or, if that is more, as many as the
// template says. If they are divided among clusters, each adds a surge that is a number.
func (t *Template) SurgeBeyond(replicas, clusters int64) int64 {
	if replicas = max(replicas, t.Unsurged()); replicas <= 0 {
		return 0
	}
	surge := clusters*t.Surge + min((replicas*t.SurgePercent+99)/100, math.MaxInt32) // no Deployment has more replicas
	return max(0, countedSurge(replicas, surge)-t.Surged)
}

// Unsurged returns how many replicas the template says, without those of a surge.
func (t *Template) Unsurged() int64 { return t.Replicas() - t.Surged }

// Replicas returns how many pods one cluster runs if it gets the whole object.
func (t *Template) Replicas() int64 {
	var replicas int64
	for i := range t.Pods {
		replicas += t.Pods[i].Count
	}
	return replicas
}
