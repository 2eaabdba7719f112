// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// The card models in the cases.
const (
	a100   = "NVIDIA-A100-80GB"
	h100   = "NVIDIA-H100-80GB"
	rtx    = "NVIDIA-GeForce-RTX-4090"
	h20    = "NVIDIA-H20"
	ascend = "Ascend-910B"

	gpus = "nvidia.com/gpu"
)

// cardNode adds a node with labels and resources in YAML.
func (f *fixture) cardNode(ctx context.Context, name, labels, resources string) string {
	name = f.name(name)
	Expect(controlPlane.ApplyYAML(ctx, "node "+name, fmt.Appendf(nil, `
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {%s}}
status:
  allocatable: &all {cpu: "64", memory: 256Gi, pods: "100", %s}
  capacity: *all
`, name, labels, resources))).To(Succeed())
	cleanUp(kube.CoreV1().Nodes().Delete, name)
	return name
}

// gpuNode adds a node with whole GPUs of a model.
func (f *fixture) gpuNode(ctx context.Context, name, model string, count int) string {
	return f.cardNode(ctx, name, "nvidia.com/gpu.product: "+model, fmt.Sprintf(`nvidia.com/gpu: "%d"`, count))
}

// fiveModels adds a node of each model. Each has eight whole cards, except the H20, which has four whole cards, MPS shares, and MIG profiles.
func (f *fixture) fiveModels(ctx context.Context) {
	f.gpuNode(ctx, "a100", a100, 8)
	f.gpuNode(ctx, "h100", h100, 8)
	f.gpuNode(ctx, "rtx", rtx, 8)
	f.cardNode(ctx, "h20", `nvidia.com/gpu.product: NVIDIA-H20, nvidia.com/gpu.memory: "97871", nvidia.com/gpu.replicas: "2"`,
		`nvidia.com/gpu: "4", nvidia.com/gpu.shared: "4", nvidia.com/mig-1g.18gb: "7"`)
	f.cardNode(ctx, "ascend", "huawei.com/npu.product: Ascend-910B", `huawei.com/Ascend910: "8"`)
}

// cardQueue creates a queue with a card quota. If quota is empty, the queue has none.
func (f *fixture) cardQueue(ctx context.Context, name, parent, quota string) string {
	return f.newQueue(ctx, name, parent, func(q *schedulingv1beta1.Queue) {
		if quota != "" {
			q.Annotations[schedulingv1beta1.CardQuotaAnnotation] = quota
		}
	})
}

// cardTask describes a task of a job whose pods request cards.
type cardTask struct {
	// pods is the number of pods. Zero means one.
	pods int
	// names is the annotation volcano.sh/card.name, empty for none.
	names string
	// resource is the requested resource, nvidia.com/gpu if empty. Count is its amount, one if zero.
	resource corev1.ResourceName
	count    int
	// cpu is the requested cpu, one core if empty.
	cpu string
	// runFor is how long the pods run. Empty means until they are deleted.
	runFor string
}

func (t cardTask) template() corev1.PodTemplateSpec {
	if t.resource == "" {
		t.resource = gpus
	}
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), t.resource: *resource.NewQuantity(int64(max(1, t.count)), resource.DecimalSI)}
	if t.cpu != "" {
		requests[corev1.ResourceCPU] = resource.MustParse(t.cpu)
	}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{upstreamv1beta1.PodPreemptable: "true"}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1", Resources: corev1.ResourceRequirements{Requests: requests, Limits: requests}}},
		},
	}
	if t.names != "" {
		template.Annotations["volcano.sh/card.name"] = t.names
	}
	if t.runFor != "" {
		template.Annotations["devicequota.io/run-for"] = t.runFor
	}
	return template
}

// cardJob creates a job. Its pods start together. Each task has the pods of a cardTask.
func (f *fixture) cardJob(ctx context.Context, name, queue string, tasks ...cardTask) {
	f.cardJobWith(ctx, name, queue, func(*batchv1alpha1.Job) {}, tasks...)
}

func (f *fixture) cardJobWith(ctx context.Context, name, queue string, change func(*batchv1alpha1.Job), tasks ...cardTask) {
	job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1alpha1.JobSpec{SchedulerName: "volcano", Queue: queue}}
	for i, t := range tasks {
		t.pods = max(1, t.pods)
		job.Spec.MinAvailable += int32(t.pods)
		job.Spec.Tasks = append(job.Spec.Tasks, batchv1alpha1.TaskSpec{Name: fmt.Sprint("task-", i), Replicas: int32(t.pods), Template: t.template()})
	}
	change(job)
	must(vc.BatchV1alpha1().Jobs(f.namespace).Create(ctx, job, metav1.CreateOptions{}))
}

// startingWith sets the minimum number of pods of a job.
func startingWith(pods int32) func(*batchv1alpha1.Job) {
	return func(job *batchv1alpha1.Job) {
		job.Spec.MinAvailable = pods
		job.Spec.Tasks[0].MinAvailable = ptr.To(pods)
	}
}

// expectOn waits until n pods of a job run on a node.
func (f *fixture) expectOn(ctx context.Context, job, node string, n int) {
	GinkgoHelper()
	Eventually(func() int {
		running := 0
		for _, pod := range f.pods(ctx, job) {
			if pod.Spec.NodeName == f.name(node) && pod.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running
	}).WithContext(ctx).Should(Equal(n), "pods of %s on %s", job, node)
}

var cardSample = regexp.MustCompile(`(?m)^volcano_queue_card_(\w+)\{card="([^"]*)",queue="([^"]*)"\} (\S+)$`)

// cardAccount returns the values of a metric for a queue's cards, as words such as NVIDIA-H20=4.
func cardAccount(ctx context.Context, queue, metric string) []string {
	words := []string{}
	for _, m := range cardSample.FindAllStringSubmatch(schedulerMetrics(ctx), -1) {
		value := must(strconv.ParseFloat(m[4], 64))
		if m[1] == metric && m[3] == queue && value != 0 {
			words = append(words, fmt.Sprintf("%s=%g", m[2], value))
		}
	}
	return words
}

// expectCards waits until a queue is charged exactly these cards, as words such as NVIDIA-H20=4.
func expectCards(ctx context.Context, queue string, want ...string) {
	GinkgoHelper()
	Eventually(func() []string { return cardAccount(ctx, queue, "allocated") }).WithContext(ctx).Should(ConsistOf(want), "charge of queue %s", queue)
}

// expectCardsIn waits until the scheduler counts n cards of a name in the cluster.
func expectCardsIn(ctx context.Context, card string, n int) {
	GinkgoHelper()
	Eventually(func() string { return schedulerMetrics(ctx) }).WithContext(ctx).Should(ContainSubstring(fmt.Sprintf("volcano_cluster_cards{card=%q} %d\n", card, n)))
}

// setNodeLabel sets a label of a node, or removes it if value is empty.
func (f *fixture) setNodeLabel(ctx context.Context, node, label, value string) {
	quoted := "null"
	if value != "" {
		quoted = strconv.Quote(value)
	}
	f.patchNode(ctx, node, fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, label, quoted))
}

func (f *fixture) patchNode(ctx context.Context, node, patch string) {
	must(kube.CoreV1().Nodes().Patch(ctx, f.name(node), types.MergePatchType, []byte(patch), metav1.PatchOptions{}))
}

func ignoreNotFound(err error) error {
	if err != nil && strings.Contains(err.Error(), "not found") {
		return nil
	}
	return err
}
