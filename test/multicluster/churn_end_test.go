// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// settle waits until no workload waits that fits, and the status of the queues matches the running pods. It deletes objects in the
// members that Karmada has lost, as the event says. It returns what is still wrong after a time.
func (c *churn) settle(ctx context.Context, within time.Duration) (wrong []string) {
	GinkgoHelper()
	c.removeChangedJobs(ctx)
	for until := time.Now().Add(within); time.Now().Before(until); pause(ctx, time.Second) {
		c.deleteLost(ctx)
		if wrong = c.unsettled(ctx); len(wrong) == 0 {
			return nil
		}
	}
	return wrong
}

// removeChangedJobs deletes Volcano Jobs with changed pods. They stay charged for both templates, because running pods keep the former
// one, and new pods use the new one.
func (c *churn) removeChangedJobs(ctx context.Context) {
	GinkgoHelper()
	for name, w := range c.workloads {
		if w.kind == "Volcano Job" && w.changed {
			delete(c.workloads, name)
			c.Eventually(func() error { return c.drop(ctx, w) }).WithContext(ctx).Should(Succeed())
		}
	}
}

// unsettled lists workloads that wait although they fit, and queues with a status that differs from the pods in the members.
func (c *churn) unsettled(ctx context.Context) []string {
	GinkgoHelper()
	changes, err := record.ordered(c.namespace)
	c.Expect(err).NotTo(HaveOccurred())
	r, _ := replayed(changes) // its findings fail the spec later
	pods := c.running(ctx)
	runs := r.running(pods)
	bindings, err := karmada.WorkV1alpha2().ResourceBindings(c.namespace).List(ctx, metav1.ListOptions{})
	c.Expect(err).NotTo(HaveOccurred())
	for i := range bindings.Items {
		b := &bindings.Items[i]
		r.charge(runs, r.queueOfGrant(b), r.surplus(b, pods))
	}
	wrong := c.misreported(ctx, runs)
	for i := range bindings.Items {
		if b := &bindings.Items[i]; isHeld(b) && b.DeletionTimestamp == nil && r.fits(b, pods, runs) {
			wrong = append(wrong, fmt.Sprintf("%s %s waits, although it fits", b.Spec.Resource.Kind, b.Spec.Resource.Name))
		}
	}
	return wrong
}

// running returns the pods in all members that have not ended.
func (c *churn) running(ctx context.Context) alive {
	GinkgoHelper()
	all := alive{}
	for _, member := range members {
		l, err := list(ctx, member.kube)
		c.Expect(err).NotTo(HaveOccurred())
		for uid, pod := range l.pods[c.namespace] {
			all[uid] = pod
		}
	}
	return all
}

// misreported lists queues with a status that differs from the running pods.
func (c *churn) misreported(ctx context.Context, runs map[string]tally) []string {
	GinkgoHelper()
	var wrong []string
	for _, name := range append([]string{c.parent}, c.queues...) {
		queue, err := hub.queues.SchedulingV1beta1().Queues().Get(ctx, name, metav1.GetOptions{})
		c.Expect(err).NotTo(HaveOccurred())
		if got, want := queue.Status.Allocated.Cpu().MilliValue(), runs[name]["cpu"]; got != want {
			wrong = append(wrong, fmt.Sprintf("queue %s reports cpu %d, and %d run", name, got, want))
		}
	}
	return wrong
}

// fits reports whether a held binding would fit its queue and the queues above it, in addition to the running pods.
func (r *replay) fits(binding *workv1alpha2.ResourceBinding, pods alive, runs map[string]tally) bool {
	object := r.templates[binding.Spec.Resource.UID].object
	more := tally{}
	more.add(r.asked(binding), 1)
	more.add(r.own(binding, pods), -1)
	more.add(r.surplus(binding, pods), -1)
	path := map[string]tally{}
	r.charge(path, queueOf(object), more)
	for queue, amount := range path {
		for dimension, n := range amount {
			if limit, limited := r.limits[queue][dimension]; limited && n > 0 && runs[queue][dimension]+n > limit {
				return false
			}
		}
	}
	return object != nil
}

// own returns what the pods of a workload use.
func (r *replay) own(binding *workv1alpha2.ResourceBinding, pods alive) tally {
	sum := tally{}
	for _, pod := range pods {
		if pod.Labels[workloadLabel] == binding.Spec.Resource.Name {
			sum.add(r.running(alive{pod.UID: pod})[r.queueOfPod(pod)], 1)
		}
	}
	return sum
}

// queueOfGrant returns the queue that is charged for a binding.
func (r *replay) queueOfGrant(binding *workv1alpha2.ResourceBinding) string {
	return r.release(binding.Labels[workv1alpha2.ResourceBindingPermanentIDLabel]).queue
}

// surplus returns what a workload stays charged for in addition to its pods while it waits for room to grow: it had shrunk just before, see the limits in
// docs/multicluster.md.
func (r *replay) surplus(binding *workv1alpha2.ResourceBinding, pods alive) tally {
	sum := tally{}
	if hold := binding.Annotations["volcano.sh/hold"]; !strings.Contains(hold, `"reason":"Growing"`) || !strings.Contains(hold, `"ends":true`) {
		return sum
	}
	own := r.own(binding, pods)
	for dimension, n := range r.release(binding.Labels[workv1alpha2.ResourceBindingPermanentIDLabel]).charged {
		if over := n - own[dimension]; over > 0 {
			sum[dimension] = over
		}
	}
	return sum
}
