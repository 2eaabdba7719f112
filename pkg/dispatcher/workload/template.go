// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Template describes the pods that an object makes.
type Template struct {
	// Kind, Namespace, and Name identify the object.
	Kind, Namespace, Name string
	UID                   types.UID
	ResourceVersion       string
	// Generation grows with each change of the spec. It is zero if the kind has none.
	Generation int64
	// Queue is the queue that the object names, empty if it names none.
	Queue string
	// ForVolcano says that the object is meant for Volcano even without a queue: it is a Volcano kind, or its pods name the scheduler.
	ForVolcano bool
	// PriorityClass is the PriorityClass of the workload, empty if it has none.
	PriorityClass string
	// Group is the PodGroup that its pods name, in the object's namespace. It is empty if they name none.
	Group string
	// Pods has the pods that one cluster runs if it gets the whole object. It is empty for a PodGroup.
	Pods []PodSet
	// Tasks has the names of the tasks of a Volcano Job, also if there are no Pods because of an error.
	Tasks []string
	// Reserve is the minimum of a PodGroup. Its pods use it. It is nil for other kinds.
	Reserve corev1.ResourceList
	// CardRequest is the annotation volcano.sh/card.request of a PodGroup, empty if it has none.
	CardRequest string
	// Fallback says that the kind is unknown. Then Pods is what Karmada's interpreter found in the object.
	Fallback bool
	// RetainsReplicas says that Karmada leaves the number of replicas to the member clusters.
	RetainsReplicas bool
	// Grace is the longest time in seconds that a deleted pod may go on running.
	Grace int64

	// Suspended says that the object makes no pods, and ends its existing ones.
	Suspended bool
	// Overlaps says that new pods may start while the pods that they replace still end. Pods of other kinds reuse the same names.
	Overlaps bool
	// Surge is the number of additional pods in each cluster during an update, if the object states a number. SurgePercent is the
	// number for a hundred replicas, if it states a percentage. Surged is the part of the surge that Pods includes.
	Surge, SurgePercent, Surged int64
	// Start is the ordinal of the first pod of a StatefulSet.
	Start int32
	// Starts identifies the schedule of a CronJob that replaces its Jobs. Each change of it may start a Job at once.
	Starts string

	// Replaces says that clusters replace pods when the template changes. Meanwhile, they may make more pods of the former one:
	// Kubernetes scales existing pods before it replaces them.
	Replaces bool
	// Halts says that clusters make pods of a former template until a user changes the object.
	Halts bool
	// OnDelete says that clusters do not note when all pods of a StatefulSet have been replaced. If it gets a partition later, they make pods
	// of the former template.
	OnDelete bool

	// keepsTemplate says that existing pods do not follow changes of the template.
	keepsTemplate bool
	// shape caches the result of Shape.
	shape string
}

// PodSet is a number of identical pods.
type PodSet struct {
	// Name is the name of the task or component. It is empty if there is only one.
	Name string
	// Count is the number of pods. Minimum is how many of them the workload needs to start.
	Count, Minimum int64
	// Template must not be changed.
	Template *corev1.PodTemplateSpec
}

// SurgeBeyond returns how many pods of a surge count beyond the surge in Pods. It uses the larger of replicas and the template's
// replicas. If they are divided among clusters, each cluster adds a surge that is a number.
func (t *Template) SurgeBeyond(replicas, clusters int64) int64 {
	if replicas = max(replicas, t.Unsurged()); replicas <= 0 {
		return 0
	}
	surge := clusters*t.Surge + min(percentOf(replicas, t.SurgePercent), math.MaxInt32) // no Deployment has more replicas
	return max(0, countedSurge(replicas, surge)-t.Surged)
}

// Unsurged returns the replicas of the template, without the surge.
func (t *Template) Unsurged() int64 { return t.Replicas() - t.Surged }

// Effort says how much there is to count, in parts of pods.
func (t *Template) Effort() int {
	effort := 0
	for i := range t.Pods {
		effort++
		if pods := t.Pods[i].Template; pods != nil {
			effort += len(pods.Spec.Containers) + len(pods.Spec.InitContainers) + len(pods.Spec.ResourceClaims)
		}
	}
	return effort
}

// Replicas returns how many pods one cluster runs if it gets the whole object.
func (t *Template) Replicas() int64 {
	var replicas int64
	for i := range t.Pods {
		replicas += t.Pods[i].Count
	}
	return replicas
}
