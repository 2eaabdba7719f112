// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/test/cluster"
	"github.com/devicequota/devicequota/test/cluster/proxy"
)

// watched are the resources whose events are late or held back.
var watched = []string{"pods", "resourceclaims", "resourceslices", "queues", "nodes", "podgroups", "resourceclaimtemplates"}

// longestHold limits how long a watch is held back.
const longestHold = time.Minute

// act does what users, nodes, and networks do at random.
func (k *disturbedSoak) act(ctx context.Context, duration time.Duration) {
	if k.unfinished(ctx) < disturbedCrowd {
		for range 1 + k.random.IntN(3) {
			k.added++
			k.add(ctx, k.random, fmt.Sprint(k.added))
		}
	}
	for _, a := range []struct {
		// every is the mean number of steps between two such acts.
		every int
		do    func()
	}{
		{8, func() { k.addCards(ctx) }},
		{5, func() { k.lend(ctx) }},
		{10, func() { k.deleteSome(ctx, k.random) }},
		{8, func() { k.startChange(ctx, k.changed(k.random)) }},
		{20, func() { k.loseNode(ctx) }},
		{12, func() { k.holdBack(min(longestHold, duration/5)) }},
		{10, func() { k.proxy.Set(k.faults()) }},
		{60, func() { k.restart(ctx) }},
		{25, func() { k.sweep(ctx) }},
	} {
		if k.random.IntN(a.every) == 0 {
			a.do()
		}
	}
}

func (k *disturbedSoak) addCards(ctx context.Context) {
	k.added++
	k.cardJob(ctx, fmt.Sprint("cards-", k.added), k.cardQueue, cardTask{names: h100, pods: 1 + k.random.IntN(2), runFor: "300ms"})
}

// lend adds pods that have most devices until the queue that deserves some of them takes these back. When the view is right again, the last of them must
// end in time, so it adds none while others are left.
func (k *disturbedSoak) lend(ctx context.Context) {
	const suffix = "-lent"
	left := must(kube.CoreV1().Pods(k.namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase!=Succeeded"})).Items
	if slices.ContainsFunc(left, func(pod corev1.Pod) bool { return strings.HasSuffix(pod.Name, suffix) }) {
		return
	}
	for range 4 {
		k.added++
		k.run(ctx, "c", fmt.Sprint(k.added, suffix), 20*time.Second, fromTemplate("big"))
	}
}

// faults returns random faults. In most cases, claims are later than pods, slices later than claims, and queues later than all.
func (k *disturbedSoak) faults() proxy.Faults {
	lag := map[string]time.Duration{}
	order := watched[:4]
	if k.random.IntN(3) == 0 {
		order = []string{watched[3], watched[2], watched[1], watched[0]}
	}
	for i, resource := range order {
		lag[resource] = time.Duration(1+i*k.random.IntN(500)) * time.Millisecond
	}
	few := func() float64 { return []float64{0.03, 0.1, 0.2, 0.3}[k.random.IntN(4)] }
	return proxy.Faults{Lag: lag, Drop: few(), Refuse: few(), Lose: few()}
}

func (k *disturbedSoak) holdBack(longest time.Duration) {
	resource := watched[k.random.IntN(len(watched))]
	release := k.proxy.Hold(resource)
	k.releases = append(k.releases, release)
	time.AfterFunc(time.Duration(k.random.Int64N(int64(longest))), release)
}

// loseNode deletes a node, with its slice and its pods, as the controllers of a cloud do. If a node is gone, it comes back instead.
func (k *disturbedSoak) loseNode(ctx context.Context) {
	if k.gone != "" {
		k.bringBack(ctx)
		return
	}
	k.gone = fmt.Sprint("n", k.random.IntN(3))
	node := k.name(k.gone)
	Expect(kube.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{})).To(Succeed())
	Expect(kube.ResourceV1().ResourceSlices().Delete(ctx, node, metav1.DeleteOptions{})).To(Succeed())
	// kwok would renew this lease for the next node of the name, until the garbage collector deletes it, and leave the pods of then alone.
	Expect(ignoreNotFound(kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(ctx, node, metav1.DeleteOptions{}))).To(Succeed())
	k.deletePodsOn(ctx, node)
}

// bringBack adds the node again. No pod was bound to it in the meantime that still exists.
func (k *disturbedSoak) bringBack(ctx context.Context) {
	k.deletePodsOn(ctx, k.name(k.gone))
	k.addNode(ctx, k.gone)
	k.gone = ""
}

func (k *disturbedSoak) deletePodsOn(ctx context.Context, node string) {
	Expect(kube.CoreV1().Pods(k.namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)},
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})).To(Succeed())
}

// restart kills the scheduler. It starts without refusals, because a process that cannot start ends, and nothing starts it again here.
func (k *disturbedSoak) restart(ctx context.Context) {
	Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
	k.proxy.Set(proxy.Faults{})
	Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
	if k.change != nil {
		k.change.shown = 0
	}
}

// sweep deletes finished pods and jobs, so that a long soak does not slow down.
func (k *disturbedSoak) sweep(ctx context.Context) {
	Expect(kube.CoreV1().Pods(k.namespace).DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{FieldSelector: "status.phase=Succeeded", LabelSelector: "!" + batchv1alpha1.JobNameKey})).To(Succeed())
	deleteCompletedJobs(ctx, k.namespace)
	k.releases = k.releases[max(0, len(k.releases)-100):]
}

func deleteCompletedJobs(ctx context.Context, namespace string) {
	GinkgoHelper()
	for _, job := range must(vc.BatchV1alpha1().Jobs(namespace).List(ctx, metav1.ListOptions{})).Items {
		if job.Status.State.Phase == batchv1alpha1.Completed {
			Expect(ignoreNotFound(vc.BatchV1alpha1().Jobs(namespace).Delete(ctx, job.Name, metav1.DeleteOptions{}))).To(Succeed())
		}
	}
}

// cardHolders counts the cards of pods that have a node and have not ended.
type cardHolders struct {
	*findings
	pods map[string]bool
}

func watchCards(namespace string) *cardHolders {
	w := &cardHolders{findings: &findings{}, pods: map[string]bool{}}
	followPods(namespace, func(pod *corev1.Pod, gone bool) {
		if _, asks := pod.Spec.Containers[0].Resources.Requests[gpus]; !asks {
			return
		}
		ended := gone || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.pods, string(pod.UID))
		if pod.Spec.NodeName != "" && !ended {
			w.pods[string(pod.UID)] = true
		}
		if len(w.pods) > disturbedCards {
			w.found = append(w.found, fmt.Sprintf("with pod %s, %d cards are used, more than %d", pod.Name, len(w.pods), disturbedCards))
		}
	})
	return w
}

// evictedPods has the pods that the scheduler evicts.
type evictedPods struct {
	mu   sync.Mutex
	pods map[types.UID]bool
}

func watchEvicted(namespace string) *evictedPods {
	w := &evictedPods{pods: map[types.UID]bool{}}
	followPods(namespace, func(pod *corev1.Pod, _ bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget }) {
			w.pods[pod.UID] = true
		}
	})
	return w
}

func (w *evictedPods) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.pods)
}
