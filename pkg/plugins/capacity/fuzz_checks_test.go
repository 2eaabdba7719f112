// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// groupQueue returns the queue of a pod's PodGroup. It is empty if the PodGroup or the queue is missing, or if the queue is misplaced.
func (c *fuzzCluster) groupQueue(pod *corev1.Pod) string {
	group, exists := c.groups.get(pod.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey])
	if !exists || c.path(group.Spec.Queue) == nil {
		return ""
	}
	return group.Spec.Queue
}

// queueOf returns the queue that a pod is charged to. It is empty if the PodGroup or the queue is missing, the queue is misplaced, or the pod
// waits for another scheduler, and if the queue in which a pod without a record got its node is gone.
func (c *fuzzCluster) queueOf(pod *corev1.Pod) string {
	queue := c.groupQueue(pod)
	if queue == "" || !seesPod(pod) {
		return ""
	}
	if charged := c.charged[pod.UID]; charged != "" {
		// It stays charged to the queue in which it got its node, or to the lowest one above.
		for _, name := range append([]string{charged}, chargerecord.Path(pod)...) {
			if name == "root" || c.path(name) != nil { // root exists even without its object
				return name
			}
		}
		if chargerecord.Path(pod) == nil {
			return "" // only the scheduler knows what was above it
		}
	}
	return queue
}

// noteRunning notes the queue of pods that a session finds with a node and that are not noted yet. It is the queue of the record, or
// the queue of the PodGroup.
func (c *fuzzCluster) noteRunning() {
	for _, pod := range c.pods {
		queue := c.groupQueue(pod)
		runs := pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending
		if c.charged[pod.UID] != "" || pod.Spec.NodeName == "" || !runs || queue == "" {
			continue
		}
		if path := chargerecord.Path(pod); path != nil {
			queue = path[0]
		}
		c.charged[pod.UID] = queue
	}
}

// noteDecided notes the queues of pods that a session is about to bind.
func (c *fuzzCluster) noteDecided(placed []*schedulercache.BindContext) {
	for _, one := range placed {
		c.charged[one.TaskInfo.Pod.UID] = c.groupQueue(one.TaskInfo.Pod)
	}
}

// hasMoved reports whether a running pod without a record has a PodGroup that is now in another queue, or has left its PodGroup. Only a
// process that knows the old queue charges it.
func (c *fuzzCluster) hasMoved() bool {
	for _, pod := range c.pods {
		if charged := c.charged[pod.UID]; pod.Spec.NodeName != "" && chargerecord.Path(pod) == nil && charged != "" && charged != c.groupQueue(pod) {
			return true
		}
	}
	return false
}

// checkHolders fails if the payments of all holders differ from the charges of the queues, including what releasing pods still hold.
func (c *fuzzCluster) checkHolders(when string) {
	s := opened.snapshot
	sums := map[ledger.QueueID]ledger.Amounts{}
	s.EachHolding(opened.placements.Promised, func(h *snapshot.Holding) {
		for _, part := range h.Parts {
			for _, name := range s.Ledger.Path(part.Queue) {
				id, _ := s.Ledger.Queue(name)
				if !part.Pays {
					continue
				}
				total, err := sums[id].PlusAll(part.Amounts)
				if err != nil {
					c.fail("%v", err)
				}
				sums[id] = total
			}
		}
	})
	for _, queue := range c.queues {
		id, found := s.Ledger.Queue(queue.Name)
		if !found {
			continue
		}
		for o := range ledger.Ordinal(s.Dimensions.Len()) {
			if told, charged := sums[id].Of(o), s.Held().Used(id, o); told != charged {
				c.fail("%s, holders in queue %s are said to have %v of %s, the queue is charged %v", when, queue.Name, told, s.Dimensions.Dimension(o), charged)
			}
		}
	}
}

// fuzzEvents records the pods for which others are evicted.
type fuzzEvents struct {
	record.EventRecorder
	mu sync.Mutex
	// evictedFor has these pods, as namespace/name.
	evictedFor []string
}

var evictedSoThat = regexp.MustCompile("^Evicted so that pod ([^ ]+) ")

// Event implements record.EventRecorder.
func (e *fuzzEvents) Event(_ runtime.Object, _, reason, message string) {
	if reason != report.ReclaimedReason && reason != report.PreemptedReason {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.evictedFor = append(e.evictedFor, evictedSoThat.FindStringSubmatch(message)[1])
}

// Eventf implements record.EventRecorder.
func (e *fuzzEvents) Eventf(runtime.Object, string, string, string, ...any) {}

// checkEvictions fails if two sessions evict for the same pod, although nothing has changed in between.
func (c *fuzzCluster) checkEvictions() {
	before := c.evictedFor
	c.evictedFor = map[string]bool{}
	for name := range before {
		c.evictedFor[name] = true
	}
	for _, name := range c.events.evictedFor {
		if before[name] {
			c.fail("pods are evicted for pod %s once more", name)
		}
		c.note("  pods are evicted for pod %s", name)
		c.evictedFor[name] = true
	}
}

// checkInadmissible searches victims, without memory, for the jobs that the memory would skip now.
func (c *fuzzCluster) checkInadmissible() {
	p := c.plugins.cache.opened
	if p == nil || p.checks.NotReady() != nil {
		return
	}
	remembering := p.newElastic()
	for _, job := range p.session.Jobs {
		for _, rule := range []eviction.Rule{eviction.Preempt, eviction.Reclaim} {
			if !remembering.Asks(job) || !remembering.Remembers(rule, job) {
				continue
			}
			p.elastic = p.newElastic()
			if plan := p.elastic.Solver().Plan(rule, job); plan != nil {
				plan.Discard()
				c.fail("job %s is remembered as inadmissible, but %d pods can start by %s", job.Name, len(plan.Pods), rule)
			}
		}
	}
}

// explain asks why each pod and each job waits. It fails if an answer lacks a cause, or if the questions change the session.
func (c *fuzzCluster) explain(ssn *framework.Session) {
	before, books, told := statuses(ssn), opened.snapshot.Ledger.Describe(), c.told(ssn)
	for _, pod := range c.pods {
		c.checkExplanation(ssn, "Pod", pod.Namespace, pod.Name)
	}
	for _, job := range ssn.Jobs {
		c.checkExplanation(ssn, "PodGroup", job.Namespace, job.Name)
	}
	if after := statuses(ssn); after != before {
		c.fail("questions have changed pods from\n%s to\n%s", before, after)
	}
	after := c.told(ssn)
	for _, id := range told {
		if !slices.Contains(after, id) { // pods that the session had not tried may have reasons now
			c.fail("after questions, fewer are told why they wait:\n%s, and then\n%s", strings.Join(told, "\n"), strings.Join(after, "\n"))
		}
	}
	if after := opened.snapshot.Ledger.Describe(); after != books {
		c.fail("questions have changed the ledger from\n%s to\n%s", books, after)
	}
}

// told returns the jobs and pods whose waiting the session would explain at its end. The reason is from the last question, for
// example that other pods have used up the quota in the meantime.
func (c *fuzzCluster) told(ssn *framework.Session) []string {
	var all []string
	for id, job := range ssn.Jobs {
		if refusal, _ := opened.cache.report.WhyJob(id); refusal != nil {
			all = append(all, string(id))
		}
		for _, task := range job.Tasks {
			if refusal := opened.explainer().Cause(job, task); refusal != nil {
				all = append(all, string(task.UID))
			}
		}
	}
	return all
}

func (c *fuzzCluster) checkExplanation(ssn *framework.Session, kind, namespace, name string) {
	told, err := ask(c.plugins, ssn, kind, namespace, name)
	switch what := kind + " " + name; {
	case err != nil && strings.Contains(err.Error(), "failed to explain"):
		c.fail("%s: %v: %s", what, err, logged.take())
	case err != nil || told.State != v1alpha1.Waiting:
	case told.Cause == nil || told.Cause.Message == "":
		c.fail("%s waits without a cause: %+v", what, told)
	}
}
