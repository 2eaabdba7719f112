// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// groupLabel is the label with the group of a pod.
const groupLabel = "group"

// tally is the number of pods by group. It omits empty groups.
type tally map[string]int

func (t tally) sum() int {
	sum := 0
	for _, n := range t {
		sum += n
	}
	return sum
}

// podRecord is the history of the pods of a namespace.
type podRecord struct {
	mu   sync.Mutex
	pods map[types.UID]*podHistory
	// deleted has the groups that the test has deleted.
	deleted map[string]bool
}

// podHistory is the history of a pod so far.
type podHistory struct {
	// pod is the last version of the pod.
	pod *corev1.Pod
	// nominated is the node that was last promised to the pod.
	nominated string
	// evicted says that the pod was deleted before it succeeded, but not by the test.
	evicted bool
	gone    bool
}

func (h podHistory) succeeded() bool { return h.pod.Status.Phase == corev1.PodSucceeded }

func (h podHistory) ended() bool {
	return h.gone || h.succeeded() || h.pod.Status.Phase == corev1.PodFailed
}

// holds reports whether the pod has a node, and with it devices. A terminating pod still holds them.
func (h podHistory) holds() bool { return !h.ended() && h.pod.Spec.NodeName != "" }

// runs reports whether the pod runs and is not being deleted.
func (h podHistory) runs() bool {
	return !h.gone && h.pod.Status.Phase == corev1.PodRunning && h.pod.DeletionTimestamp == nil
}

func (h podHistory) waits() bool {
	return !h.ended() && h.pod.Spec.NodeName == "" && h.pod.DeletionTimestamp == nil
}

func recordPods(namespace string) *podRecord {
	r := &podRecord{pods: map[types.UID]*podHistory{}, deleted: map[string]bool{}}
	followPods(namespace, r.see)
	return r
}

func (r *podRecord) see(pod *corev1.Pod, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.pods[pod.UID]
	if h == nil {
		h = &podHistory{}
		r.pods[pod.UID] = h
	}
	h.pod, h.gone = pod, gone
	if pod.Status.NominatedNodeName != "" {
		h.nominated = pod.Status.NominatedNodeName
	}
	// A pod without a node holds nothing: Volcano's controller may delete it and create another one.
	if (gone || pod.DeletionTimestamp != nil) && pod.Spec.NodeName != "" && !h.succeeded() && !r.deleted[pod.Labels[groupLabel]] {
		h.evicted = true
	}
}

// expectDeletion marks later deletions of pods of a group as the test's own.
func (r *podRecord) expectDeletion(group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deleted[group] = true
}

// histories returns a copy of the record.
func (r *podRecord) histories() map[types.UID]podHistory {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[types.UID]podHistory, len(r.pods))
	for uid, h := range r.pods {
		all[uid] = *h
	}
	return all
}

// count returns the pods for which a condition is true.
func (r *podRecord) count(condition func(podHistory) bool) tally {
	t := tally{}
	for h := range maps.Values(r.histories()) {
		if condition(h) {
			t[h.pod.Labels[groupLabel]]++
		}
	}
	return t
}

func (r *podRecord) evicted() tally { return r.count(func(h podHistory) bool { return h.evicted }) }

// outcome has the evicted pods so far, and the running pods.
type outcome struct{ evicted, running tally }

func (r *podRecord) outcome() outcome {
	return outcome{evicted: r.evicted(), running: r.count(podHistory.runs)}
}

// wasDeleted reports whether the test deleted a group.
func (r *podRecord) wasDeleted(group string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deleted[group]
}

// describe describes the history of each pod, for failure messages.
func (r *podRecord) describe() string {
	var lines []string
	for uid, h := range r.histories() {
		by := "nobody"
		for _, c := range h.pod.Status.Conditions {
			if c.Type == corev1.DisruptionTarget {
				by = c.Reason
			}
		}
		lines = append(lines, fmt.Sprintf("%s %s, created %s: phase %s, node %q, promised %q, gone %t, evicted %t by %s",
			h.pod.Name, uid, h.pod.CreationTimestamp.Format(time.TimeOnly), h.pod.Status.Phase, h.pod.Spec.NodeName, h.nominated, h.gone, h.evicted, by))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
