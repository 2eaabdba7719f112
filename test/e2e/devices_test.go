// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/test/cluster"
)

// driver returns the driver name of the case's devices. No other case uses it.
func (f *fixture) driver() string { return f.namespace + ".example.com" }

// name returns a unique name for an object without a namespace.
func (f *fixture) name(name string) string { return f.namespace + "-" + name }

func (f *fixture) node(ctx context.Context, name string, devices ...resourcev1.Device) {
	f.nodeWith(ctx, name, nil, devices...)
}

// nodeWith is node for devices that share counters.
func (f *fixture) nodeWith(ctx context.Context, name string, counters []resourcev1.CounterSet, devices ...resourcev1.Device) {
	name = f.name(name)
	Expect(controlPlane.ApplyYAML(ctx, "node", fmt.Appendf(nil, `
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {fixture: %s}}
status:
  allocatable: &all {cpu: "64", memory: 256Gi, pods: "100"}
  capacity: *all
`, name, f.namespace))).To(Succeed())
	cleanUpNode(name)
	must(kube.ResourceV1().ResourceSlices().Create(ctx, &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: f.driver(), NodeName: ptr.To(name), SharedCounters: counters,
			Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}, Devices: devices,
		},
	}, metav1.CreateOptions{}))
}

// cleanUpNode deletes a node and its ResourceSlice after the case.
func cleanUpNode(name string) {
	cleanUp(kube.CoreV1().Nodes().Delete, name)
	DeferCleanup(kube.ResourceV1().ResourceSlices().DeleteCollection, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
}

type capacities = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity

func bytes(quantity string) capacities {
	return capacities{"memory": {Value: resource.MustParse(quantity)}}
}

// device returns a device of a model. Each model has a class: see model.
func device(name, model string, capacity capacities) resourcev1.Device {
	return resourcev1.Device{
		Name: name, Capacity: capacity,
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: ptr.To(model)}},
	}
}

func devices(n int, model string, capacity capacities) []resourcev1.Device {
	var all []resourcev1.Device
	for i := range n {
		all = append(all, device(fmt.Sprintf("%s-%d", model, i), model, capacity))
	}
	return all
}

// model creates the DeviceClass for the devices of a model, and returns its name.
func (f *fixture) model(ctx context.Context, model string, change ...func(*resourcev1.DeviceClass)) string {
	name := f.name(model)
	createClass(ctx, name, fmt.Sprintf(`device.driver == %q && device.attributes[%[1]q].model == %q`, f.driver(), model), change...)
	return name
}

// limit returns a queue's capability of one class.
func limit(class string, count int64, capacity ...string) *schedulingv1beta1.DRAQuota {
	return limits(capability(class, count, capacity...))
}

type classLimit struct {
	class string
	quota schedulingv1beta1.DeviceQuota
}

// capability returns a number of devices, with capacity as alternating names and quantities.
func capability(class string, count int64, capacity ...string) classLimit {
	l := classLimit{class, schedulingv1beta1.DeviceQuota{Count: count}}
	for i := 0; i < len(capacity); i += 2 {
		if l.quota.Capacity == nil {
			l.quota.Capacity = schedulingv1beta1.DeviceCapacities{}
		}
		l.quota.Capacity[capacity[i]] = resource.MustParse(capacity[i+1])
	}
	return l
}

func limits(all ...classLimit) *schedulingv1beta1.DRAQuota {
	q := &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{}}
	for _, l := range all {
		q.Capability[l.class] = l.quota
	}
	return q
}

func exactly(class string, count int64) resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count,
	}}
}

func all(class string) resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeAll,
	}}
}

func named(name string, r resourcev1.DeviceRequest) resourcev1.DeviceRequest {
	r.Name = name
	return r
}

func sized(r resourcev1.DeviceRequest, dimension, quantity string) resourcev1.DeviceRequest {
	r.Exactly.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{
		resourcev1.QualifiedName(dimension): resource.MustParse(quantity),
	}}
	return r
}

// firstAvailable returns a request with alternatives.
func firstAvailable(alternatives ...resourcev1.DeviceRequest) resourcev1.DeviceRequest {
	r := resourcev1.DeviceRequest{Name: "r"}
	for i, a := range alternatives {
		r.FirstAvailable = append(r.FirstAvailable, resourcev1.DeviceSubRequest{
			Name: fmt.Sprint("alternative-", i), DeviceClassName: a.Exactly.DeviceClassName, AllocationMode: a.Exactly.AllocationMode,
			Count: a.Exactly.Count, Capacity: a.Exactly.Capacity,
		})
	}
	return r
}

func asking(requests ...resourcev1.DeviceRequest) resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}}
}

func (f *fixture) template(ctx context.Context, name string, requests ...resourcev1.DeviceRequest) {
	must(kube.ResourceV1().ResourceClaimTemplates(f.namespace).Create(ctx, &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: asking(requests...)},
	}, metav1.CreateOptions{}))
}

func (f *fixture) claim(ctx context.Context, name string, requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
	claim := must(kube.ResourceV1().ResourceClaims(f.namespace).Create(ctx, &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: asking(requests...),
	}, metav1.CreateOptions{}))
	return claim
}

// sample matches a value for devices, or for a capacity of devices.
var sample = regexp.MustCompile(`(?m)^volcano_queue_device_(?:class|capacity)_(\w+)\{(?:capacity="([^"]*)",)?device_class="([^"]*)",queue="([^"]*)"\} (\S+)$`)

// account returns the values of a metric for a queue's devices, by class/count and class/capacity.
func account(ctx context.Context, queue, metric string) map[string]float64 {
	return accountIn(ctx, controlPlane, queue, metric)
}

func accountIn(ctx context.Context, c *cluster.Cluster, queue, metric string) map[string]float64 {
	values := map[string]float64{}
	for _, m := range sample.FindAllStringSubmatch(metricsOf(ctx, c), -1) {
		if m[4] != queue || m[1] != metric {
			continue
		}
		value := must(strconv.ParseFloat(m[5], 64))
		if value != 0 {
			values[m[3]+"/"+cmp.Or(m[2], "count")] = value
		}
	}
	return values
}

// sampleClass has limits in the sample queues. With deviceAccounting: matching, every sample device also counts for it.
const sampleClass = "nvidia-h100"

// expectAllocated waits until a queue is charged exactly this: alternating class/dimension and value. The sample class is ignored
// unless it is listed.
func expectAllocated(ctx context.Context, queue string, want ...any) {
	GinkgoHelper()
	wanted := map[string]float64{}
	for i := 0; i < len(want); i += 2 {
		switch v := want[i+1].(type) {
		case int:
			wanted[want[i].(string)] = float64(v)
		case string:
			wanted[want[i].(string)] = ptr.To(resource.MustParse(v)).AsApproximateFloat64()
		}
	}
	_, listed := wanted[sampleClass+"/count"]
	classes := map[string]bool{}
	for name := range wanted {
		class, _, _ := strings.Cut(name, "/")
		classes[class] = true
	}
	Eventually(func() map[string]float64 {
		charged := account(ctx, queue, "allocated")
		if !listed {
			delete(charged, sampleClass+"/count")
		}
		if queue == "root" {
			maps.DeleteFunc(charged, func(name string, _ float64) bool { // pods of other specs may outlive their queues
				class, _, _ := strings.Cut(name, "/")
				return !classes[class]
			})
		}
		return charged
	}).WithContext(ctx).Should(Equal(wanted), "charge of queue %s", queue)
}

// elastic returns a job that starts with one pod.
func elastic(name, queue string, pods int32, template string) job {
	return gang(name, queue, pods).startingWith(1).fromTemplate(template)
}

// waitForCycles waits for 20 scheduling cycles. A pod that is still pending afterwards is assumed to stay pending.
func waitForCycles(ctx context.Context) {
	before := cycles(ctx)
	Eventually(func() int { return cycles(ctx) }).WithContext(ctx).Should(BeNumerically(">", before+20))
}

// pod creates a pod without a job. Volcano creates its PodGroup.
func (f *fixture) pod(ctx context.Context, name, queue string, change func(*corev1.PodSpec)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"scheduling.volcano.sh/queue-name": queue}},
		Spec: corev1.PodSpec{
			SchedulerName: "volcano", RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1"}},
		},
	}
	change(&pod.Spec)
	return must(f.kube.CoreV1().Pods(f.namespace).Create(ctx, pod, metav1.CreateOptions{}))
}

func using(claim string) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		spec.ResourceClaims = append(spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: ptr.To(claim)})
	}
}

func (f *fixture) expectPodRuns(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		pod, err := f.kube.CoreV1().Pods(f.namespace).Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning), "phase of pod %s, conditions %v", name, pod.Status.Conditions)
	}).WithContext(ctx).Should(Succeed())
}

// warned reports whether an event in a namespace has a reason and a message.
func warned(ctx context.Context, namespace, reason, message string) bool {
	return strings.Contains(strings.Join(eventsIn(ctx, namespace, "reason="+reason), "\n"), message)
}

// setCards sets the card quota of a queue.
func setCards(ctx context.Context, name, cards string) {
	update(ctx, queues.SchedulingV1beta1().Queues(), name, func(q *schedulingv1beta1.Queue) {
		q.Annotations = map[string]string{schedulingv1beta1.CardQuotaAnnotation: cards}
	})
}
