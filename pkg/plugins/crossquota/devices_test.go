// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/chargerecord"
)

var draArgs = framework.Arguments{argGPUDeviceClasses: "h100,gone", "quota.cpu": 4}

// class has the devices for which all expressions are true.
func class(name string, expressions ...string) *resourceapi.DeviceClass {
	c := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, e := range expressions {
		c.Spec.Selectors = append(c.Spec.Selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: e}})
	}
	return c
}

const isH100 = `device.attributes["gpu.example.com"].model == "H100"`

// slice has one device of each model.
func slice(name, driver string, change func(*resourceapi.ResourceSliceSpec), models ...string) *resourceapi.ResourceSlice {
	s := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.ResourceSliceSpec{
		Driver: driver, Pool: resourceapi.ResourcePool{Name: name, ResourceSliceCount: 1}}}
	for _, model := range models {
		s.Spec.Devices = append(s.Spec.Devices, resourceapi.Device{Name: strings.ToLower(model), Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"model": {StringValue: ptr.To(model)}}})
	}
	change(&s.Spec)
	return s
}

func onNode(name string) func(*resourceapi.ResourceSliceSpec) {
	return func(spec *resourceapi.ResourceSliceSpec) { spec.NodeName = ptr.To(name) }
}

func zone(name string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}}}
}

func claimSpec(classes ...string) resourceapi.ResourceClaimSpec {
	spec := resourceapi.ResourceClaimSpec{}
	for _, name := range classes {
		spec.Devices.Requests = append(spec.Devices.Requests, resourceapi.DeviceRequest{Name: name, Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: name}})
	}
	return spec
}

func claim(name string, spec resourceapi.ResourceClaimSpec) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: spec}
}

func template(name string, spec resourceapi.ResourceClaimSpec) *resourceapi.ResourceClaimTemplate {
	return &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: resourceapi.ResourceClaimTemplateSpec{Spec: spec}}
}

// alternatives returns one request for a device of any of some classes.
func alternatives(classes ...string) resourceapi.ResourceClaimSpec {
	request := resourceapi.DeviceRequest{Name: "r"}
	for _, name := range classes {
		request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{Name: name, DeviceClassName: name})
	}
	return resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{request}}}
}

// given returns a claim with an allocated device for a request.
func given(claim *resourceapi.ResourceClaim, request string) *resourceapi.ResourceClaim {
	claim.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{{Request: request}}}}
	return claim
}

// TestTheRecordOfAPodCountsOnceItIsBound matters because a user may change the claim of a pod that runs, and may write a record on a pod that waits.
func TestTheRecordOfAPodCountsOnceItIsBound(t *testing.T) {
	for name, c := range map[string]struct{ node, exists, recorded string }{
		"a claim for a GPU replaces the claim of a pod that runs":     {node: "n1", exists: "h100", recorded: "nic"},
		"a user writes a claim for a GPU on a pod that waits without": {exists: "nic", recorded: "h100"},
	} {
		d := startDevices(informers.NewSharedInformerFactory(fake.NewClientset(claim("c", claimSpec(c.exists))), 0))
		config, _ := newConfig(draArgs)
		pod := chargerecord.OnPod(newPod("p", c.node, "cpu=1"), "root/q", "")
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: ptr.To("c")}}
		recorded := given(claim("c", claimSpec(c.recorded)), c.recorded)
		recorded.UID = "recorded"
		chargerecord.SetClaims(pod, []*resourceapi.ResourceClaim{recorded})
		if !config.newPodFacts(pod, d.classesOf).counted {
			t.Errorf("%s: the pod counts as a pod with a GPU", name)
		}
	}
}

func TestPodsWithClaims(t *testing.T) {
	client := fake.NewClientset(
		claim("gpu", claimSpec("nic", "h100")), claim("nic", claimSpec("nic")), claim("either", alternatives("nic", "h100")), claim("made-7x", claimSpec("h100")),
		claim("any-gpu", alternatives("h100", "gone")), given(claim("got-nic", alternatives("h100", "nic")), "r/nic"), given(claim("got-gpu", alternatives("h100", "nic")), "r/h100"),
		template("gpu", claimSpec("h100")), template("nic", claimSpec("nic")), template("either", alternatives("h100", "nic")))
	d := startDevices(informers.NewSharedInformerFactory(client, 0))
	config, _ := newConfig(draArgs)
	named := func(name string) corev1.PodResourceClaim {
		return corev1.PodResourceClaim{Name: name, ResourceClaimName: &name}
	}
	from := func(name string) corev1.PodResourceClaim {
		return corev1.PodResourceClaim{Name: name, ResourceClaimTemplateName: &name}
	}
	for name, c := range map[string]struct {
		claims []corev1.PodResourceClaim
		made   []corev1.PodResourceClaimStatus
		gpu    bool
	}{
		"no claim":                                   {},
		"a claim with a GPU":                         {claims: []corev1.PodResourceClaim{named("gpu")}, gpu: true},
		"a claim without a GPU":                      {claims: []corev1.PodResourceClaim{named("nic")}},
		"a second claim with a GPU":                  {claims: []corev1.PodResourceClaim{named("nic"), named("gpu")}, gpu: true},
		"a GPU as an alternative":                    {claims: []corev1.PodResourceClaim{named("either")}},
		"a GPU in any case":                          {claims: []corev1.PodResourceClaim{named("any-gpu")}, gpu: true},
		"an alternative that is a GPU":               {claims: []corev1.PodResourceClaim{named("got-gpu")}, gpu: true},
		"an alternative that is none":                {claims: []corev1.PodResourceClaim{named("got-nic")}},
		"a template with a GPU":                      {claims: []corev1.PodResourceClaim{from("gpu")}, gpu: true},
		"a template without a GPU":                   {claims: []corev1.PodResourceClaim{from("nic")}},
		"a template with a GPU as an alternative":    {claims: []corev1.PodResourceClaim{from("either")}},
		"a claim whose template was deleted":         {claims: []corev1.PodResourceClaim{from("lost")}, made: []corev1.PodResourceClaimStatus{{Name: "lost", ResourceClaimName: ptr.To("made-7x")}}, gpu: true},
		"a template from which no claim was created": {claims: []corev1.PodResourceClaim{from("gpu")}, made: []corev1.PodResourceClaimStatus{{Name: "gpu"}}, gpu: true},
		"a claim that does not exist":                {claims: []corev1.PodResourceClaim{named("lost")}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := newPod("p", "", "cpu=1")
			pod.Spec.ResourceClaims, pod.Status.ResourceClaimStatuses = c.claims, c.made
			facts := config.newPodFacts(pod, d.classesOf)
			if facts.counted == c.gpu {
				t.Errorf("the pod counts as a pod without GPU: %t", facts.counted)
			}
			if facts.lasting != (len(c.claims) == 0) {
				t.Error("facts that depend on claims are lasting, or others are not")
			}
		})
	}
}

// withDevices returns a cluster in which node n1 has a device of class h100, node n2 has a device outside GPU classes, and node n3 has none.
func withDevices() *fixture {
	f := newFixture(draArgs).node("n1", "cpu=8").node("n2", "cpu=8").node("n3", "cpu=8")
	f.DeviceClasses = []*resourceapi.DeviceClass{class("h100", isH100), class("nic")}
	f.ResourceSlices = []*resourceapi.ResourceSlice{slice("s1", "gpu.example.com", onNode("n1"), "H100"), slice("s2", "gpu.example.com", onNode("n2"), "A100")}
	f.ResourceClaims = []*resourceapi.ResourceClaim{claim("gpu", claimSpec("h100"))}
	return f
}

func TestNodesWithDRADevicesAreGPUNodes(t *testing.T) {
	train := newPod("train", "", "cpu=5")
	train.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("gpu")}}
	f := withDevices().job("job", 0, newPod("web", "", "cpu=5"), train).open(t)
	for node, refused := range map[string]bool{"n1": true, "n2": false, "n3": false} {
		if got := f.refusal("web", node); (got != "") != refused {
			t.Errorf("on %s the pod without GPU is refused: %q", node, got)
		}
		if got := f.refusal("train", node); got != "" {
			t.Errorf("on %s the pod with a GPU is refused: %s", node, got)
		}
	}
}

// eventually starts sessions until a condition is true.
func (f *fixture) eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		f.cache.begin(f.session)
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// expectGPUNodes waits until a new session has n GPU nodes.
func (f *fixture) expectGPUNodes(t *testing.T, after string, n int) {
	t.Helper()
	f.eventually(t, fmt.Sprintf("after %s there are %d GPU nodes", after, n), func() bool {
		found := 0
		for _, node := range f.session.NodeList {
			if f.cache.node(node.Node).gpu {
				found++
			}
		}
		return found == n
	})
}

// expectRead waits until a new session has read a slice.
func (f *fixture) expectRead(t *testing.T, name string) {
	t.Helper()
	f.eventually(t, "slice "+name+" is read", func() bool {
		_, err := f.cache.devices.slices.Get(name)
		return err == nil && !f.cache.devices.changed.Load()
	})
}

func TestSessionsFollowChangesOfDevices(t *testing.T) {
	f := withDevices().open(t)
	kube := f.session.KubeClient().(*fake.Clientset)
	f.eventually(t, "slices and classes are watched", func() bool { return watched(kube, "resourceslices") && watched(kube, "deviceclasses") })
	api := kube.ResourceV1()
	create := func(s *resourceapi.ResourceSlice) {
		t.Helper()
		if _, err := api.ResourceSlices().Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	before := f.cache.version
	if f.expectGPUNodes(t, "no change", 1); f.cache.version != before {
		t.Error("all nodes are read again although nothing has changed")
	}
	create(slice("s3", "gpu.example.com", onNode("n3"), "H100"))
	f.expectGPUNodes(t, "a new slice", 2)
	create(slice("zone", "gpu.example.com", func(spec *resourceapi.ResourceSliceSpec) { spec.NodeSelector = zone("none") }, "H100"))
	f.expectRead(t, "zone")
	f.expectGPUNodes(t, "a slice for a zone without nodes", 2)
	before = f.cache.version
	create(slice("nic", "nic.example.com", onNode("n2"), "A100"))
	f.expectRead(t, "nic")
	if f.expectGPUNodes(t, "a slice of other devices", 2); f.cache.version != before {
		t.Error("all nodes are read again because of a slice without GPUs")
	}
	if err := api.ResourceSlices().Delete(t.Context(), "s1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.expectGPUNodes(t, "the deletion of a slice", 1)
	if _, err := api.DeviceClasses().Update(t.Context(), class("h100"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.expectGPUNodes(t, "the class has all devices", 2)
	if err := api.DeviceClasses().Delete(t.Context(), "h100", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.expectGPUNodes(t, "the deletion of the class", 0)
	f.cache.configure(framework.Arguments{argGPUDeviceClasses: "nic"})
	f.expectGPUNodes(t, "the configuration of another class", 2)
}
