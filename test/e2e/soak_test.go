// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/test/cluster"
)

var _ = Describe("A soak", func() {
	It("never exceeds a capability, leaves no pod pending that fits, and ends with empty accounts", func(ctx context.Context) {
		const batches, perBatch, kills = 20, 15, 3
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))
		s := newSoak(ctx, newFixture(ctx))
		for batch := range batches {
			for i := range perBatch {
				s.add(ctx, random, fmt.Sprintf("%d-%d", batch, i))
			}
			s.disturb(ctx, random)
			if batch%(batches/kills) == 1 {
				Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
				Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
			}
			// The cluster must stay busy without too many pending pods.
			Eventually(func() int { return s.unfinished(ctx) }).WithContext(ctx).Should(BeNumerically("<", 4*perBatch))
		}
		s.setCapability(ctx, s.full)
		Eventually(func() int { return s.unfinished(ctx) }, 2*time.Minute).WithContext(ctx).Should(BeZero(), "pods that are pending or running")
		for _, queue := range s.queues {
			expectAllocated(ctx, queue)
		}
		Expect(s.violations()).To(BeEmpty())
		for queue, most := range s.most {
			AddReportEntry("maximum of queue "+queue, fmt.Sprint(most), ReportEntryVisibilityFailureOrVerbose)
		}
		Expect(s.most["ml"]["big/count"]).To(BeNumerically(">=", 4), "the quota was never filled, so the test proves nothing")
	}, NodeTimeout(8*time.Minute))
})

// holdings are amounts by model and dimension.
type holdings map[string]float64

// soak keeps an account of every queue. The names of pods and claims begin with the short name of their queue. Claims that several
// queues share begin with ml, the queue above them.
type soak struct {
	*fixture
	queues map[string]string
	models map[string]string // class to model
	full   map[string]*schedulingv1beta1.DRAQuota

	mu         sync.Mutex
	claims     map[types.UID]claimHoldings
	allocated  map[string]holdings
	most       map[string]holdings
	capability map[string]holdings
	broken     []string
}

type claimHoldings struct {
	queue string
	holdings
}

var memoryOf = map[string]float64{"big": 80 << 30, "small": 40 << 30}

func newSoak(ctx context.Context, f *fixture) *soak {
	k := &soak{
		fixture: f, models: map[string]string{}, claims: map[types.UID]claimHoldings{},
		allocated: map[string]holdings{}, most: map[string]holdings{}, capability: map[string]holdings{},
	}
	for i := range 3 {
		k.addNode(ctx, fmt.Sprint("n", i))
	}
	big, small, part := f.model(ctx, "big", offering(f.gpu())), f.model(ctx, "small"), f.model(ctx, "shared")
	k.models = map[string]string{big: "big", small: "small", part: "shared"}
	k.full = map[string]*schedulingv1beta1.DRAQuota{
		"ml": limits(capability(big, 5), capability(small, 7), capability(part, 9, "memory", "120Gi")),
		"a":  limits(capability(big, 4, "memory", "240Gi")),
		"b":  limits(capability(small, 4), capability(part, 6, "memory", "70Gi")),
		"c":  {},
	}
	for name, deserved := range map[string]int64{"ml": 2, "a": 2, "b": 0, "c": 0} {
		k.full[name].Deserved = schedulingv1beta1.DeviceQuotas{big: {Count: deserved}}
	}
	ml := f.queue(ctx, "ml", "root", k.full["ml"])
	k.queues = map[string]string{"ml": ml}
	for _, name := range []string{"a", "b", "c"} {
		k.queues[name] = f.queue(ctx, name, ml, k.full[name])
	}
	for name, requests := range map[string][]resourcev1.DeviceRequest{
		"big": {exactly(big, 1)}, "two-big": {exactly(big, 2)}, "small": {exactly(small, 1)}, "all-small": {all(small)},
		"both": {named("x", exactly(big, 1)), named("y", exactly(small, 1))}, "either": {firstAvailable(exactly(big, 1), exactly(small, 2))},
		"part": {sized(exactly(part, 1), "memory", "17Gi")}, "default-part": {exactly(part, 1)},
	} {
		f.template(ctx, name, requests...)
	}
	for _, owner := range []string{"a", "b", "ml"} {
		for i := range 2 {
			f.claim(ctx, fmt.Sprintf("%s-shared-%d", owner, i), exactly(big, 1))
		}
	}
	for name := range k.queues {
		k.capability[name] = k.capabilityOf(k.full[name])
		k.allocated[name], k.most[name] = holdings{}, holdings{}
	}
	k.watch()
	return k
}

// addNode adds a node with seven devices, one of which can be shared.
func (k *soak) addNode(ctx context.Context, name string) {
	shared := device("shared", "shared", capacities{"memory": {Value: resource.MustParse("80Gi"), RequestPolicy: &resourcev1.CapacityRequestPolicy{
		Default: ptr.To(resource.MustParse("10Gi")), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse("5Gi")), Step: ptr.To(resource.MustParse("5Gi"))},
	}}})
	shared.AllowMultipleAllocations = ptr.To(true)
	k.node(ctx, name, slices.Concat(devices(3, "big", bytes("80Gi")), devices(3, "small", bytes("40Gi")), []resourcev1.Device{shared})...)
}

func (k *soak) shapes() []string {
	return []string{"big", "two-big", "small", "all-small", "both", "either", "part", "default-part"}
}

// add submits a pod or, in one of ten cases, a gang of a random shape to a random queue.
func (k *soak) add(ctx context.Context, random *rand.Rand, name string) {
	queue := []string{"a", "b", "c"}[random.IntN(3)]
	runFor := time.Duration(100+random.IntN(400)) * time.Millisecond
	shape := k.shapes()[random.IntN(len(k.shapes()))]
	switch n := random.IntN(10); {
	case n == 0:
		k.submit(ctx, gang(queue+"-"+name, k.queues[queue], 2).fromTemplate([]string{"big", "small", "part"}[random.IntN(3)]).runningFor(runFor))
	case n <= 2:
		owner := []string{queue, "ml"}[random.IntN(2)]
		if queue == "c" {
			owner = "ml"
		}
		k.run(ctx, queue, name, runFor, using(fmt.Sprintf("%s-shared-%d", owner, random.IntN(2))))
	case n == 3: // the scheduler makes the claim
		k.run(ctx, queue, name, runFor, needing(k.gpu(), 1+random.Int64N(2)))
	default:
		k.run(ctx, queue, name, runFor, fromTemplate(shape))
	}
}

func (k *soak) run(ctx context.Context, queue, name string, runFor time.Duration, change func(*corev1.PodSpec)) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: queue + "-" + name, Annotations: map[string]string{
			"scheduling.volcano.sh/queue-name": k.queues[queue], "devicequota.io/run-for": runFor.String(), upstreamv1beta1.PodPreemptable: "true",
		}},
		Spec: corev1.PodSpec{
			SchedulerName: "volcano", RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1"}},
		},
	}
	change(&pod.Spec)
	must(kube.CoreV1().Pods(k.namespace).Create(ctx, pod, metav1.CreateOptions{}))
}

// disturb deletes some pods in any state, and changes the quotas.
func (k *soak) disturb(ctx context.Context, random *rand.Rand) {
	k.deleteSome(ctx, random)
	k.setCapability(ctx, k.changed(random))
}

// deleteSome deletes some pods in any state.
func (k *soak) deleteSome(ctx context.Context, random *rand.Rand) {
	pods := must(kube.CoreV1().Pods(k.namespace).List(ctx, metav1.ListOptions{}))
	for _, pod := range pods.Items {
		if random.IntN(25) == 0 && metav1.GetControllerOf(&pod) == nil {
			Expect(ignoreNotFound(kube.CoreV1().Pods(k.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{}))).To(Succeed())
		}
	}
}

// changed returns quotas of some devices less than the full ones.
func (k *soak) changed(random *rand.Rand) map[string]*schedulingv1beta1.DRAQuota {
	changed := map[string]*schedulingv1beta1.DRAQuota{}
	for name, full := range k.full {
		if full == nil {
			continue
		}
		less := full.DeepCopy()
		for class, q := range less.Capability {
			q.Count -= int64(random.IntN(3))
			less.Capability[class] = q
		}
		changed[name] = less
	}
	return changed
}

// setCapability changes quotas. Until the scheduler has read a change, the previous quota applies. Until then, the accounts use the
// higher of the two.
func (k *soak) setCapability(ctx context.Context, quotas map[string]*schedulingv1beta1.DRAQuota) {
	for name, dra := range quotas {
		if dra == nil {
			continue
		}
		k.raise(name, k.capabilityOf(dra))
		setQuota(ctx, k.queues[name], dra)
	}
	waitForCycles(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, dra := range quotas {
		if dra != nil {
			k.capability[name] = k.capabilityOf(dra)
		}
	}
}

// capabilityOf returns a quota as holdings.
func (k *soak) capabilityOf(dra *schedulingv1beta1.DRAQuota) holdings {
	h := holdings{}
	if dra == nil {
		return h
	}
	for class, q := range dra.Capability {
		h[k.models[class]+"/count"] = float64(q.Count)
		for name, quantity := range q.Capacity {
			h[k.models[class]+"/"+name] = quantity.AsApproximateFloat64()
		}
	}
	return h
}

func (k *soak) raise(name string, to holdings) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for dimension, limit := range to {
		k.capability[name][dimension] = max(k.capability[name][dimension], limit)
	}
}

func (k *soak) unfinished(ctx context.Context) int {
	pods := must(kube.CoreV1().Pods(k.namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase!=Succeeded"}))
	groups := must(vc.SchedulingV1beta1().PodGroups(k.namespace).List(ctx, metav1.ListOptions{}))
	waiting := 0
	for _, group := range groups.Items { // for jobs without pods
		if group.Status.Phase == "Pending" || group.Status.Phase == "" {
			waiting++
		}
	}
	return len(pods.Items) + waiting
}
