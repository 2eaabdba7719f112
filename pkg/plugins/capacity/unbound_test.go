// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// meanwhile is a user who does something while a pod is being bound.
type meanwhile func() error

func (m meanwhile) PreBind(context.Context, *schedulercache.BindContext) error   { return m() }
func (m meanwhile) PreBindRollBack(context.Context, *schedulercache.BindContext) {}

// expectAfter lets a pod of queue a be bound, and then expects that a pod of queue b takes its place.
func (c *fuzzCluster) expectAfter(t *testing.T, act meanwhile, another func()) {
	t.Helper()
	c.scheduler.preBinders["volumes"] = act
	c.session()
	delete(c.scheduler.preBinders, "volumes")
	another()
	for range 5 {
		c.session()
	}
	if !strings.Contains(c.places(), "q@n") {
		t.Errorf("q waits although nothing runs: %s", c.places())
	}
}

// linger deletes a pod that has a finalizer.
func (c *fuzzCluster) linger(name string) {
	pod, _ := c.pods.get(name)
	pod = pod.DeepCopy()
	pod.Finalizers, pod.DeletionTimestamp = []string{"example.com/mine"}, &metav1.Time{Time: c.clock.Now()}
	c.putPod(pod)
}

// TestADeletedPodThatWasNotBoundKeepsNoCards: it never runs, however long its finalizer keeps it.
func TestADeletedPodThatWasNotBoundKeepsNoCards(t *testing.T) {
	c := newCalmCluster(t)
	c.queue("org", "root", schedulingv1beta1.DRAQuota{}, nil)
	org, _ := c.queues.get("org")
	org = org.DeepCopy()
	org.Annotations = map[string]string{schedulingv1beta1.CardQuotaAnnotation: `{"H100": 8}`}
	c.putQueue(org)
	c.queue("a", "org", schedulingv1beta1.DRAQuota{}, nil)
	c.queue("b", "org", schedulingv1beta1.DRAQuota{}, nil)
	for _, name := range []string{"n1", "n2"} {
		c.node(name, 16)
		node, _ := c.nodes.get(name)
		node = node.DeepCopy()
		node.Labels = map[string]string{"nvidia.com/gpu.product": "H100"}
		c.putNode(node)
	}
	pod := func(name, group, queue string) {
		c.group(group, queue, 1, nil)
		c.pod(name, group, func(p *corev1.Pod) { p.Spec = gpuPod(name, "", 8, "").Spec; p.Spec.SchedulerName = "volcano" })
	}
	pod("p", "g", "a")
	c.expectAfter(t, func() error { c.linger("p"); return nil }, func() { pod("q", "h", "b") })
}

// TestAPodWhoseBindingCannotBePreparedIsNotCharged also if its PodGroup is deleted meanwhile, so that it is in no job.
func TestAPodWhoseBindingCannotBePreparedIsNotCharged(t *testing.T) {
	for name, deletes := range map[string]bool{"it goes on waiting": false, "it is deleted, and has a finalizer": true} {
		t.Run(name, func(t *testing.T) {
			c := newCalmCluster(t)
			c.queue("org", "root", schedulingv1beta1.DRAQuota{}, func(s *schedulingv1beta1.QueueSpec) { s.Capability = cpu(1) })
			c.queue("a", "org", schedulingv1beta1.DRAQuota{}, nil)
			c.queue("b", "org", schedulingv1beta1.DRAQuota{}, nil)
			c.node("n1", 16)
			c.single("g", "a")
			c.expectAfter(t, func() error {
				if group, found := c.groups.get("g"); found {
					c.deleteGroup(group)
				}
				if deletes {
					c.linger("g")
				}
				return errors.New("its volume is gone")
			}, func() { c.single("q", "b") })
		})
	}
}
