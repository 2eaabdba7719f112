// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

const (
	h800 = "NVIDIA-H800"
	// poolQuota is the card quota of the queue. PoolCards is the number of cards of each of the two nodes.
	poolQuota, poolCards = 6, 4
	// poolJobs is the number of concurrent unfinished jobs. Together, their pods ask for more than the quota.
	poolJobs = 8
	// poolPatience is the number of cycles within which a pod must get a node if one fits.
	poolPatience = 300
)

// movingPool is a pool of two nodes that move between a device plugin and DRA while jobs of a queue come and go.
type movingPool struct {
	*fixture
	queue, class string
	history      *poolHistory
	random       *rand.Rand
	// jobs is the number of submitted jobs. Deleted is the number of them that did not end by themselves.
	jobs, deleted int
}

var _ = Describe("Nodes move from a device plugin to DRA and back", func() {
	It("while jobs go on, no quota is passed, and no pod waits that fits", func(ctx context.Context) {
		m := newMovingPool(ctx)
		m.watchProgress()
		m.whileJobsGoOn(ctx, func() {})

		By("moving the first node, whose kubelet must forget the resource")
		m.whileJobsGoOn(ctx, func() { m.moveToDRA(ctx, "first", true) })

		By("moving the second node, whose kubelet goes on to list no card")
		m.setKubelet(ctx, "second", "v1.35.0")
		m.whileJobsGoOn(ctx, func() { m.moveToDRA(ctx, "second", false) })

		By("moving the first node back")
		m.whileJobsGoOn(ctx, func() { m.moveBack(ctx, "first") })

		m.expectNoFaults()
	}, NodeTimeout(4*timeout))
})

func newMovingPool(ctx context.Context) *movingPool {
	GinkgoHelper()
	m := &movingPool{fixture: newFixture(ctx), random: rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))}
	m.class = m.name("h800")
	createClass(ctx, m.class, fmt.Sprintf("device.driver == %q", m.driver()), func(class *resourcev1.DeviceClass) {
		class.Annotations = map[string]string{"volcano.sh/card.name": h800}
		class.Spec.ExtendedResourceName = ptr.To(gpus)
	})
	var nodes []string
	for _, node := range []string{"first", "second"} {
		labels := fmt.Sprintf("nvidia.com/gpu.product: %s, %s: \"true\"", h800, runsDevicePlugin)
		nodes = append(nodes, m.cardNode(ctx, node, labels, fmt.Sprintf("%s: %q", gpus, fmt.Sprint(poolCards))))
	}
	m.queue = m.cardQueue(ctx, "team", "root", fmt.Sprintf("{%q: %d}", h800, poolQuota))
	changeQueue(ctx, m.queue, func(spec *schedulingv1beta1.QueueSpec) {
		spec.Capability = corev1.ResourceList{gpus: *resource.NewQuantity(poolQuota, resource.DecimalSI)}
	})
	m.history = m.recordPool(nodes...)
	playHardware(m.driver(), poolCards, nodes...)
	return m
}

// whileJobsGoOn runs a step while jobs of the queue come and go. Afterwards, all jobs end, and more pods get exactly the quota: the step
// has neither lost nor invented a card.
func (m *movingPool) whileJobsGoOn(ctx context.Context, step func()) {
	GinkgoHelper()
	stop := m.submitAllTheTime(ctx)
	step()
	m.expectMorePodsOn(ctx, "first", "second")
	stop()
	Eventually(m.unfinished).WithContext(ctx).Should(BeZero(), "jobs that have not ended")

	m.submitJob(ctx, poolQuota+1, "")
	Eventually(m.running).WithContext(ctx).Should(Equal(poolQuota))
	waitForCycles(ctx)
	Expect(m.running()).To(Equal(poolQuota))
	expectCards(ctx, m.queue, fmt.Sprintf("%s=%d", h800, poolQuota))
	Eventually(func(g Gomega) { // the watches of the test may lag behind the scheduler
		allocated := map[string]float64{}
		if n := m.devicesInUse(); n > 0 {
			allocated[m.class+"/count"] = float64(n)
		}
		charged := account(ctx, m.queue, "allocated")
		delete(charged, sampleClass+"/count")
		g.Expect(charged).To(Equal(allocated))
	}).WithContext(ctx).Should(Succeed())
	Eventually(func() bool {
		return hasWarning(ctx, m.namespace, fmt.Sprintf("Queue <%s> has insufficient <", m.queue))
	}).WithContext(ctx).Should(BeTrue())
	m.deleteJob(ctx, fmt.Sprint("job-", m.jobs))
	m.deleted++
	Eventually(func() int { return m.now((*poolState).inUse) }).WithContext(ctx).Should(BeZero())
}

// submitAllTheTime submits jobs until the returned function is called.
func (m *movingPool) submitAllTheTime(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer GinkgoRecover()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if m.unfinished() < poolJobs {
				m.submitJob(context.WithoutCancel(ctx), 1+m.random.IntN(3), fmt.Sprintf("%dms", 300+m.random.IntN(1200)))
			}
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	DeferCleanup(stop)
	return stop
}

// submitJob submits a job with pods that can start alone. Every second job names the card.
func (m *movingPool) submitJob(ctx context.Context, pods int, runFor string) {
	m.jobs++
	task := cardTask{pods: pods, runFor: runFor, names: []string{"", h800}[m.jobs%2]}
	m.cardJobWith(ctx, fmt.Sprint("job-", m.jobs), m.queue, startingWith(1), task)
}

// unfinished returns the number of submitted jobs that have not ended.
func (m *movingPool) unfinished() int {
	ended := m.now(func(s *poolState) int {
		n := 0
		for _, job := range s.jobs {
			if job.Status.State.Phase == batchv1alpha1.Completed {
				n++
			}
		}
		return n
	})
	return m.jobs - m.deleted - ended
}

func (m *movingPool) now(number func(*poolState) int) int {
	n := 0
	m.history.look(func(now *poolState) { n = number(now) })
	return n
}

// expectMorePodsOn waits until each of some nodes has got more new pods than it has cards. Each card was then reused.
func (m *movingPool) expectMorePodsOn(ctx context.Context, nodes ...string) {
	GinkgoHelper()
	for _, node := range nodes {
		before := m.history.bound(m.name(node))
		Eventually(func() int { return m.history.bound(m.name(node)) }).WithContext(ctx).Should(
			BeNumerically(">", before+poolCards), "pods that got node %s", node)
	}
}

// moveToDRA moves a node as described in docs/migration.md. A kubelet before 1.35 must forget the resource.
func (m *movingPool) moveToDRA(ctx context.Context, node string, kubeletForgets bool) {
	GinkgoHelper()
	m.empty(ctx, node)
	m.setNodeLabel(ctx, node, runsDevicePlugin, "false")
	Eventually(func() int { return m.now(func(s *poolState) int { return s.devicePluginCards(m.name(node)) }) }).WithContext(ctx).Should(BeZero())
	if kubeletForgets {
		m.unlist(ctx, node)
	}
	m.setNodeLabel(ctx, node, runsDriver, "true")
	Eventually(func() int { return m.now(func(s *poolState) int { return len(s.slicesOf(m.name(node))) }) }).WithContext(ctx).Should(Equal(1))
	m.uncordon(ctx, node)
}

func (m *movingPool) moveBack(ctx context.Context, node string) {
	GinkgoHelper()
	m.empty(ctx, node)
	m.setNodeLabel(ctx, node, runsDriver, "")
	Eventually(func() int { return m.now(func(s *poolState) int { return len(s.slicesOf(m.name(node))) }) }).WithContext(ctx).Should(BeZero())
	m.setNodeLabel(ctx, node, runsDevicePlugin, "true")
	Eventually(func() int { return m.now(func(s *poolState) int { return s.devicePluginCards(m.name(node)) }) }).WithContext(ctx).Should(Equal(poolCards))
	m.uncordon(ctx, node)
}

// empty cordons a node, and waits until its pods have ended.
func (m *movingPool) empty(ctx context.Context, node string) {
	GinkgoHelper()
	m.patchNode(ctx, node, `{"spec":{"unschedulable":true}}`)
	waitForCycles(ctx) // a pod that got the node before may still be binding
	Eventually(func() int {
		return m.now(func(s *poolState) int { return s.podsOn(m.name(node)) + s.allocatedOn(m.name(node)) })
	}).WithContext(ctx).Should(BeZero(), "cards of node %s in use", node)
}

func (m *movingPool) uncordon(ctx context.Context, node string) {
	GinkgoHelper()
	m.patchNode(ctx, node, `{"spec":{"unschedulable":null}}`)
}

// unlist removes the resource from the status of a node after the kubelet has set its capacity to 0.
func (m *movingPool) unlist(ctx context.Context, node string) {
	GinkgoHelper()
	Eventually(func() int64 { return m.capacity(ctx, node) }).WithContext(ctx).Should(BeZero())
	m.patchNodeStatus(ctx, node, fmt.Sprintf(`{"status":{"capacity":{%q:null},"allocatable":{%[1]q:null}}}`, gpus))
}

func (m *movingPool) capacity(ctx context.Context, node string) int64 {
	n := must(kube.CoreV1().Nodes().Get(ctx, m.name(node), metav1.GetOptions{}))
	cards := n.Status.Capacity[gpus]
	return cards.Value()
}

func (m *movingPool) setKubelet(ctx context.Context, node, version string) {
	GinkgoHelper()
	m.patchNodeStatus(ctx, node, fmt.Sprintf(`{"status":{"nodeInfo":{"kubeletVersion":%q}}}`, version))
}

func (m *movingPool) patchNodeStatus(ctx context.Context, node, patch string) {
	GinkgoHelper()
	must(kube.CoreV1().Nodes().Patch(ctx, m.name(node), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"))
}

// watchProgress fails the spec if a waiting pod fits and no pod gets a node for many cycles. It counts the scheduler's cycles, so
// the speed of the machine does not matter.
func (m *movingPool) watchProgress() {
	stop, done := make(chan struct{}), make(chan struct{})
	DeferCleanup(func() {
		close(stop)
		<-done
	})
	go func() {
		defer close(done)
		defer GinkgoRecover()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		last, since := -1, 0
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			now := cycles(context.Background())
			if epoch, waiting := m.history.fits(); epoch != last {
				last, since = epoch, now
			} else if waiting != nil {
				Expect(now-since).To(BeNumerically("<=", poolPatience), "cycles in which no pod got a node, although these fit: %s", strings.Join(waiting, ", "))
			}
		}
	}()
}

// expectNoFaults checks the state after every recorded change.
func (m *movingPool) expectNoFaults() {
	GinkgoHelper()
	var faults []string
	most := 0
	got := map[types.UID]bool{}
	m.history.replay(func(s *poolState, changed runtime.Object) {
		faults = append(faults, s.faults(poolQuota, poolCards)...)
		most = max(most, s.inUse())
		if pod, isPod := changed.(*corev1.Pod); isPod && holds(pod) && !got[pod.UID] {
			got[pod.UID] = true
			if fault := s.misplaced(pod); fault != "" {
				faults = append(faults, fault)
			}
		}
	})
	Expect(faults).To(BeEmpty())
	Expect(most).To(Equal(poolQuota), "cards in use at the same time")
}
