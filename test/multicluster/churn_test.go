// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	// churnDuration is how long the churn lasts, unless the environment variable CHURN is set.
	churnDuration = "6m"
	// churnStep is the time between two changes of workloads or queues.
	churnStep = 300 * time.Millisecond
	// churnWorkloads is the maximum number of workloads at the same time.
	churnWorkloads = 24
	// churnSettles is how long a workload that fits may wait after the churn. An informer of Kubernetes whose server was away waits up to a minute before it
	// asks again, so Karmada may report for so long what a member had before. Then, pods with a grace period end, and others take their room.
	churnSettles = 3 * time.Minute
)

// churn creates, changes, and deletes workloads, and changes quotas, during outages of dispatchers and members. The events depend on
// Ginkgo's random seed. Their timing depends on the machine.
type churn struct {
	*fixture
	random *rand.Rand
	parent string
	queues []string
	// workloads are the workloads that are not deleted, by name.
	workloads map[string]*churned
	created   int
}

// churned is a workload of the churn.
type churned struct {
	workload
	kind string
	// changed says that its pod template was changed.
	changed bool
}

// churnSpecs are the specs of the churn, which runs alone.
func churnSpecs() {
	BeforeAll(func(ctx context.Context) {
		// A workload that does not fit must not block others. Otherwise, it would be unclear which workloads should run.
		useConfig(ctx, dispatcherConfig("", "strictOrder: false"))
	})

	It("no queue runs more than it may hold, nothing that fits waits, and the status of queues is what runs", func(ctx context.Context) {
		duration, err := time.ParseDuration(cmp.Or(os.Getenv("CHURN"), churnDuration))
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("churn", fmt.Sprintf("CHURN=%s -ginkgo.seed=%d", duration, GinkgoRandomSeed()))
		c := newChurn(ctx)
		c.fill(ctx)
		standBy(ctx, dispatcherConfig("", "strictOrder: false"))
		until := time.Now().Add(duration)
		outages := make(chan struct{})
		go func() {
			defer GinkgoRecover()
			defer close(outages)
			c.makeOutages(ctx, until)
		}()
		step := time.NewTicker(churnStep)
		defer step.Stop()
		for time.Now().Before(until) {
			c.act(ctx)
			<-step.C
		}
		Eventually(outages).WithContext(ctx).Should(BeClosed(), "what was taken away is back")
		since := time.Now()
		wrong := c.settle(ctx, churnSettles)
		took := time.Since(since).Round(time.Second)
		r := c.replay(ctx)
		Expect(wrong).To(BeEmpty(), "what is wrong %s after the churn", churnSettles)
		AddReportEntry("churn", fmt.Sprintf("%d workloads, peak %v, settled after %s", c.created, r.peaks[c.parent], took))
	})
}

func newChurn(ctx context.Context) *churn {
	c := &churn{fixture: newFixture(ctx), random: rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0)), workloads: map[string]*churned{}}
	c.propagateAll(ctx)
	c.parent = c.queue(ctx, "org", "root", capable(cores("10")))
	c.queues = []string{c.queue(ctx, "left", c.parent, capable(cores("6"))), c.queue(ctx, "right", c.parent)}
	return c
}

// fill creates more workloads than the queues may hold, so the churn begins with full queues.
func (c *churn) fill(ctx context.Context) {
	GinkgoHelper()
	for i := range 14 {
		c.created++
		w := workload{name: fmt.Sprint("w", c.created), queue: c.queues[i%len(c.queues)], pods: 1}
		c.workloads[w.name] = &churned{workload: w, kind: "Deployment"}
		c.deployment(ctx, w)
	}
	c.Eventually(func() int { return len(c.running(ctx)) }).WithContext(ctx).Should(Equal(10), "pods of a core each run in a queue of 10 cores")
}

// act makes one change. The API server refuses some changes while no dispatcher responds.
func (c *churn) act(ctx context.Context) {
	act := c.change
	switch n := c.random.IntN(100); {
	case len(c.workloads) == 0 || n < 40 && len(c.workloads) < churnWorkloads:
		act = c.create
	case n < 60 || len(c.workloads) >= churnWorkloads:
		act = c.remove
	case n < 66:
		act = c.resize
	}
	if what, err := act(ctx); err != nil {
		GinkgoWriter.Printf("%s %s: %v\n", time.Now().Format(clock), what, err)
	}
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// create creates a random workload. Some pods end slowly, and some end by themselves.
func (c *churn) create(ctx context.Context) (string, error) {
	c.created++
	w := workload{
		name: fmt.Sprint("w", c.created), queue: pick(c.random, c.queues...), pods: int32(1 + c.random.IntN(3)),
		requests: cores(pick(c.random, "1", "1", "2")), in: pick(c.random, "", east, west),
	}
	if grace := pick[int64](c.random, 0, 0, 2, 10, 25); grace > 0 {
		w.change = func(pods *corev1.PodTemplateSpec) {
			pods.Spec.TerminationGracePeriodSeconds = ptr.To(grace)
			metav1.SetMetaDataAnnotation(&pods.ObjectMeta, "devicequota.io/ignore-sigterm", "true")
		}
	}
	kind := pick(c.random, "Deployment", "Deployment", "StatefulSet", "Volcano Job", "Job")
	if kind == "Job" || kind == "Volcano Job" && c.random.IntN(2) == 0 {
		w.runFor = time.Duration(1+c.random.IntN(15)) * time.Second
	}
	err := c.store(ctx, kind, w)
	if err == nil {
		c.workloads[w.name] = &churned{workload: w, kind: kind}
	}
	return "create " + w.name, err
}

func (c *churn) store(ctx context.Context, kind string, w workload) (err error) {
	now := metav1.CreateOptions{}
	switch kind {
	case "Deployment":
		_, err = hub.kube.AppsV1().Deployments(c.namespace).Create(ctx, deploymentOf(w), now)
	case "StatefulSet":
		_, err = hub.kube.AppsV1().StatefulSets(c.namespace).Create(ctx, statefulSetOf(w), now)
	case "Volcano Job":
		_, err = hub.vc.BatchV1alpha1().Jobs(c.namespace).Create(ctx, volcanoJobOf(w), now)
	case "Job":
		_, err = hub.kube.BatchV1().Jobs(c.namespace).Create(ctx, batchJobOf(w), now)
	}
	return err
}

// one returns a random workload.
func (c *churn) one() *churned {
	return c.workloads[pick(c.random, slices.Sorted(maps.Keys(c.workloads))...)]
}

// remove deletes a random workload.
func (c *churn) remove(ctx context.Context) (string, error) {
	w := c.one()
	delete(c.workloads, w.name)
	return "delete " + w.name, c.drop(ctx, w)
}

// drop deletes the object of a workload.
func (c *churn) drop(ctx context.Context, w *churned) (err error) {
	how := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
	switch w.kind {
	case "Deployment":
		err = hub.kube.AppsV1().Deployments(c.namespace).Delete(ctx, w.name, how)
	case "StatefulSet":
		err = hub.kube.AppsV1().StatefulSets(c.namespace).Delete(ctx, w.name, how)
	case "Volcano Job":
		err = hub.vc.BatchV1alpha1().Jobs(c.namespace).Delete(ctx, w.name, how)
	case "Job":
		err = hub.kube.BatchV1().Jobs(c.namespace).Delete(ctx, w.name, how)
	}
	if apierrors.IsNotFound(err) {
		return nil // it was never created, or it is gone
	}
	return err
}

// change scales a workload or changes its pods. Kubernetes Jobs do not change.
func (c *churn) change(ctx context.Context) (string, error) {
	w, scale := c.one(), c.random.IntN(3) > 0
	pods, cpu := c.random.IntN(4), pick(c.random, "1", "2")
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, pods)
	if !scale {
		w.changed = true
		patch = fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":%[1]q},"limits":{"cpu":%[1]q}}}]}}}}`, cpu)
	}
	var err error
	switch w.kind {
	case "Deployment":
		_, err = hub.kube.AppsV1().Deployments(c.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	case "StatefulSet":
		_, err = hub.kube.AppsV1().StatefulSets(c.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	case "Volcano Job":
		patch = fmt.Sprintf(`[{"op":"replace","path":"/spec/minAvailable","value":1},{"op":"replace","path":"/spec/tasks/0/minAvailable","value":1},`+
			`{"op":"replace","path":"/spec/tasks/0/replicas","value":%d}]`, 1+pods)
		if !scale {
			patch = fmt.Sprintf(`[{"op":"replace","path":"/spec/tasks/0/template/spec/containers/0/resources","value":{"requests":{"cpu":%[1]q},"limits":{"cpu":%[1]q}}}]`, cpu)
		}
		_, err = hub.vc.BatchV1alpha1().Jobs(c.namespace).Patch(ctx, w.name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	}
	return "change " + w.name, err
}

// resize changes the quota of a random queue.
func (c *churn) resize(ctx context.Context) (string, error) {
	queue, n := pick(c.random, c.parent, c.queues[0], c.queues[1]), 2+c.random.IntN(11)
	patch := fmt.Sprintf(`{"spec":{"capability":{"cpu":"%d"}}}`, n)
	_, err := hub.queues.SchedulingV1beta1().Queues().Patch(ctx, queue, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return "resize " + queue, err
}
