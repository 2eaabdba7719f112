// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	visibilityv1alpha1 "github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/visibility/client"
	"github.com/devicequota/devicequota/test/cluster"
)

// withTopologies makes the scheduler use Volcano's plugin for network topologies in the specs of a container.
func withTopologies(ctx context.Context) { useTopologies(ctx, "") }

// useTopologies does so with an argument of the plugin capacity.
func useTopologies(ctx context.Context, argument string) {
	conf := string(must(os.ReadFile(filepath.Join("..", "..", "config", "scheduler", "volcano-scheduler.conf"))))
	with := strings.Replace(conf, "  - name: binpack\n", "  - name: network-topology-aware\n  - name: binpack\n", 1)
	Expect(with).NotTo(Equal(conf), "the configuration has the plugin binpack")
	if argument != "" {
		Expect(capacityArgument.FindAllString(with, -1)).To(HaveLen(1))
		with = capacityArgument.ReplaceAllString(with, "$0\n      "+argument)
	}
	path := filepath.Join(GinkgoT().TempDir(), "volcano-scheduler.conf")
	Expect(os.WriteFile(path, []byte(with), 0o600)).To(Succeed())
	Expect(controlPlane.UseScheduler(ctx, cluster.Ours, path)).To(Succeed())
	DeferCleanup(func(ctx context.Context) error { return controlPlane.UseScheduler(ctx, cluster.Ours, "") })
}

// racks is a zone of the racks a and b. Each rack has two nodes: a0 and a1, b0 and b1.
type racks struct{ *fixture }

// newRacks creates the zone. Each adds a node with its devices or cards.
func newRacks(ctx context.Context, each func(f *fixture, node string)) *racks {
	r := &racks{newFixture(ctx)}
	for _, node := range []string{"a0", "a1", "b0", "b1"} {
		each(r.fixture, node)
		r.setNodeLabel(ctx, node, corev1.LabelHostname, r.name(node))
	}
	r.hyperNode(ctx, "a", 1, "Node", "a0", "a1")
	r.hyperNode(ctx, "b", 1, "Node", "b0", "b1")
	r.hyperNode(ctx, "zone", 2, "HyperNode", "a", "b")
	return r
}

// racksOf creates the zone with some devices of a class in each node. The template "one" asks for one of them.
func racksOf(ctx context.Context, perNode int) *racks {
	r := newRacks(ctx, func(f *fixture, node string) { f.node(ctx, node, devices(perNode, "gpu", nil)...) })
	r.class = r.model(ctx, "gpu")
	r.template(ctx, "gpu", exactly(r.class, 1))
	return r
}

func (r *racks) hyperNode(ctx context.Context, name string, tier int, kind string, members ...string) {
	text := fmt.Sprintf("{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: %s}, spec: {tier: %d, members: [", r.name(name), tier)
	for _, member := range members {
		text += fmt.Sprintf("{type: %s, selector: {exactMatch: {name: %s}}},", kind, r.name(member))
	}
	Expect(controlPlane.ApplyYAML(ctx, "HyperNode", []byte(text+"]}}"))).To(Succeed())
	cleanUp(vc.TopologyV1alpha1().HyperNodes().Delete, r.name(name))
}

type jobOption func(*batchv1alpha1.Job)

// upToTier allows a job to spread to the HyperNodes of a tier, but no further.
func upToTier(tier int) jobOption {
	return func(j *batchv1alpha1.Job) { j.Spec.NetworkTopology = hardTopology(tier) }
}

// closeTogether makes a job prefer to have its pods close to each other.
func closeTogether(j *batchv1alpha1.Job) {
	j.Spec.NetworkTopology = &batchv1alpha1.NetworkTopologySpec{Mode: batchv1alpha1.SoftNetworkTopologyMode}
}

// inParts divides the pods of a job into parts, each of which is in one rack.
func inParts(parts, size int32) jobOption {
	return func(j *batchv1alpha1.Job) {
		j.Spec.Tasks[0].PartitionPolicy = &batchv1alpha1.PartitionPolicySpec{
			TotalPartitions: parts, PartitionSize: size, MinPartitions: parts, NetworkTopology: hardTopology(1),
		}
	}
}

func hardTopology(tier int) *batchv1alpha1.NetworkTopologySpec {
	return &batchv1alpha1.NetworkTopologySpec{Mode: batchv1alpha1.HardNetworkTopologyMode, HighestTierAllowed: ptr.To(tier)}
}

// withoutDevices makes each pod request only cores.
func withoutDevices(cores string) jobOption {
	return func(j *batchv1alpha1.Job) {
		spec := &j.Spec.Tasks[0].Template.Spec
		spec.ResourceClaims, spec.Containers[0].Resources.Claims = nil, nil
		ofCPU(cores)(j)
	}
}

// ofCPU makes each pod request cores.
func ofCPU(cores string) jobOption {
	return func(j *batchv1alpha1.Job) {
		j.Spec.Tasks[0].Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cores)
	}
}

// gang creates a job whose pods start together.
func (r *racks) gang(ctx context.Context, name, queue string, pods int32, options ...jobOption) {
	r.start(ctx, gang(name, queue, pods).fromTemplate("gpu"), options...)
}

// start creates a job.
func (r *racks) start(ctx context.Context, j job, options ...jobOption) {
	object := r.jobOf(j)
	for _, option := range options {
		option(object)
	}
	must(vc.BatchV1alpha1().Jobs(r.namespace).Create(ctx, object, metav1.CreateOptions{}))
}

// uses makes a job run with n pods on a node.
func (r *racks) uses(ctx context.Context, queue, node string, n int32, options ...jobOption) {
	r.start(ctx, gang("uses-"+node, queue, n).fromTemplate("gpu").onNode(r.name(node)), options...)
	r.expectRunning(ctx, "uses-"+node, int(n))
}

// rackOf returns the rack of a node.
func (r *racks) rackOf(node string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(node, r.namespace+"-"), "0"), "1")
}

// expectIn waits until the pods of a job run, so many in each of these racks.
func (r *racks) expectIn(ctx context.Context, name string, want tally) {
	GinkgoHelper()
	Eventually(func() tally {
		is := tally{}
		for _, pod := range r.pods(ctx, name) {
			if pod.Status.Phase == corev1.PodRunning {
				is[r.rackOf(pod.Spec.NodeName)]++
			}
		}
		return is
	}).WithContext(ctx).Should(Equal(want), "racks of the pods of job %s", name)
}

// expectParts waits until a job of two parts runs, one part in each rack.
func (r *racks) expectParts(ctx context.Context, name string, size int) {
	GinkgoHelper()
	r.expectIn(ctx, name, tally{"a": size, "b": size})
	part := map[string]tally{}
	for _, pod := range r.pods(ctx, name) {
		id := pod.Labels[batchv1alpha1.TaskPartitionID]
		if part[id] == nil {
			part[id] = tally{}
		}
		part[id][r.rackOf(pod.Spec.NodeName)]++
	}
	Expect(part).To(ConsistOf(tally{"a": size}, tally{"b": size}), "racks of the parts")
}

// expectNone waits for some cycles, and checks that the pods of a job exist, and that none has a node or a device.
func (r *racks) expectNone(ctx context.Context, name string, pods int) {
	GinkgoHelper()
	Eventually(func() int { return r.phase(ctx, name, corev1.PodPending) }).WithContext(ctx).Should(Equal(pods), "pending pods of job %s", name)
	waitForCycles(ctx)
	for _, pod := range r.pods(ctx, name) {
		Expect(pod.Spec.NodeName).To(BeEmpty(), "node of pod %s", pod.Name)
		Expect(pod.Status.NominatedNodeName).To(BeEmpty(), "nominated node of pod %s", pod.Name)
	}
	Expect(r.heldBy(ctx, name)).To(BeEmpty(), "devices of job %s", name)
	r.expectQuiet(ctx, name)
}

// expectQuiet waits for 20 cycles in which the scheduler writes nothing about pods that only wait for others of their job.
func (r *racks) expectQuiet(ctx context.Context, name string) {
	GinkgoHelper()
	written := func() map[string]string {
		versions := map[string]string{}
		for _, pod := range r.pods(ctx, name) {
			for _, c := range pod.Status.Conditions {
				if strings.Contains(c.Message, "once minAvailable is satisfied") {
					versions[pod.Name] = pod.ResourceVersion + ": " + c.Message
				}
			}
		}
		return versions
	}
	before := written()
	Eventually(func(g Gomega) {
		earlier := before
		waitForCycles(ctx)
		before = written()
		g.Expect(before).To(Equal(earlier), "pods of job %s", name)
	}).WithContext(ctx).Should(Succeed())
}

// expectTopologyCheck waits until the explanation of a job has a check of its network topology with a message.
func (r *racks) expectTopologyCheck(ctx context.Context, name, message string) {
	GinkgoHelper()
	see := must(client.New(controlPlane.Config()))
	Eventually(func(g Gomega) []visibilityv1alpha1.Check {
		told, err := see.Explain(ctx, "jobs", r.namespace, name)
		g.Expect(err).NotTo(HaveOccurred())
		return told.Checks
	}).WithContext(ctx).Should(ContainElement(visibilityv1alpha1.Check{Name: "NetworkTopology", Result: visibilityv1alpha1.Failed, Message: message}))
}

// heldBy returns the devices in the claims that were made for the pods of a job.
func (r *racks) heldBy(ctx context.Context, name string) (held []string) {
	pods := map[string]bool{}
	for _, pod := range r.pods(ctx, name) {
		pods[pod.Name] = true
	}
	for _, claim := range must(kube.ResourceV1().ResourceClaims(r.namespace).List(ctx, metav1.ListOptions{})).Items {
		if owner := metav1.GetControllerOf(&claim); owner != nil && pods[owner.Name] {
			held = append(held, deviceNames(&claim)...)
		}
	}
	return held
}

func deviceNames(claim *resourcev1.ResourceClaim) (all []string) {
	if claim.Status.Allocation == nil {
		return nil
	}
	for _, result := range claim.Status.Allocation.Devices.Results {
		all = append(all, result.Pool+"/"+result.Device)
	}
	return all
}

// expectOneRack checks that the pods of a job have nodes in one rack, and returns it.
func (r *racks) expectOneRack(ctx context.Context, name string) (rack string) {
	GinkgoHelper()
	seen := map[string]bool{}
	for _, pod := range r.pods(ctx, name) {
		rack = r.rackOf(pod.Spec.NodeName)
		seen[rack] = true
	}
	Expect(seen).To(HaveLen(1), "racks of the pods of job %s", name)
	return rack
}
