// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const implicit = corev1.ResourceName(resourceapi.ResourceDeviceClassPrefix + "a100")

// offered maps the extended resources of the tests to classes.
var offered = map[corev1.ResourceName]string{"example.com/gpu": "h100", "example.com/nic": "fast", implicit: "a100"}

func offeredClass(name corev1.ResourceName) string { return offered[name] }

// extendedPod returns a pod with containers like "main example.com/gpu=1 cpu=2". Names that begin with init or sidecar are init containers.
func extendedPod(containers ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "pod-uid"}}
	for _, text := range containers {
		words := strings.Fields(text)
		c := corev1.Container{Name: words[0], Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}
		for _, request := range words[1:] {
			name, quantity, _ := strings.Cut(request, "=")
			c.Resources.Requests[corev1.ResourceName(name)] = resource.MustParse(quantity)
		}
		switch {
		case strings.HasPrefix(c.Name, "sidecar"):
			c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
			fallthrough
		case strings.HasPrefix(c.Name, "init"):
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		default:
			p.Spec.Containers = append(p.Spec.Containers, c)
		}
	}
	return p
}

// TestRequestsOfExtendedClaims contains the cases of kube-scheduler 1.35 and 1.34 (createRequestsAndMappings, createDeviceRequests) as facts, and
// more. An API server of 1.34 accepts one request per container and resource, so no case has several.
func TestRequestsOfExtendedClaims(t *testing.T) {
	for _, c := range []struct {
		name         string
		pod          *corev1.Pod
		want         []string
		wantMappings []string
	}{
		{name: "nothing is requested", pod: extendedPod("main cpu=1")},
		{name: "none is none", pod: extendedPod("main example.com/gpu=0")},
		{
			name: "one container, one resource", pod: extendedPod("main example.com/gpu=1"),
			want: []string{"container-0-request-0 h100=1"}, wantMappings: []string{"main example.com/gpu container-0-request-0"},
		},
		{
			name: "a resource without a class is left out", pod: extendedPod("main example.com/fpga=2 example.com/gpu=1"),
			want: []string{"container-0-request-1 h100=1"}, wantMappings: []string{"main example.com/gpu container-0-request-1"},
		},
		{
			name: "all requests of a container are numbered by name", pod: extendedPod("main memory=1Gi cpu=1 example.com/nic=2 example.com/gpu=1"),
			want:         []string{"container-0-request-1 h100=1", "container-0-request-2 fast=2"},
			wantMappings: []string{"main example.com/gpu container-0-request-1", "main example.com/nic container-0-request-2"},
		},
		{
			name: "an explicit and an implicit name", pod: extendedPod("init example.com/gpu=1 " + string(implicit) + "=2"),
			want:         []string{"container-0-request-0 a100=2", "container-0-request-1 h100=1"},
			wantMappings: []string{"init " + string(implicit) + " container-0-request-0", "init example.com/gpu container-0-request-1"},
		},
		{
			name: "two containers add up", pod: extendedPod("a example.com/gpu=1", "b example.com/gpu=2"),
			want:         []string{"container-0-request-0 h100=1", "container-1-request-0 h100=2"},
			wantMappings: []string{"a example.com/gpu container-0-request-0", "b example.com/gpu container-1-request-0"},
		},
		{
			name: "an init container and a container of different resources", pod: extendedPod("init example.com/nic=2", "main example.com/gpu=1"),
			want:         []string{"container-0-request-0 fast=2", "container-1-request-0 h100=1"},
			wantMappings: []string{"main example.com/gpu container-1-request-0", "init example.com/nic container-0-request-0"},
		},
		{
			name: "init containers share what the largest needs", pod: extendedPod("init-a example.com/nic=1", "init-b example.com/nic=2", "main example.com/gpu=1"),
			want:         []string{"container-1-request-0 fast=2", "container-2-request-0 h100=1"},
			wantMappings: []string{"main example.com/gpu container-2-request-0", "init-a example.com/nic container-1-request-0", "init-b example.com/nic container-1-request-0"},
		},
		{
			name: "an init container uses those of a later sidecar",
			pod:  extendedPod("init-a example.com/nic=1", "sidecar example.com/nic=1", "init-b example.com/nic=2", "main example.com/gpu=1"),
			want: []string{"container-1-request-0 fast=1", "container-2-request-0 fast=2", "container-3-request-0 h100=1"},
			wantMappings: []string{"main example.com/gpu container-3-request-0", "sidecar example.com/nic container-1-request-0",
				"init-a example.com/nic container-1-request-0", "init-b example.com/nic container-2-request-0"},
		},
		{
			name: "an init container uses those of a container", pod: extendedPod("init example.com/gpu=1", "main example.com/gpu=2"),
			want:         []string{"container-1-request-0 h100=2"},
			wantMappings: []string{"main example.com/gpu container-1-request-0", "init example.com/gpu container-1-request-0"},
		},
		{
			name: "an init container that needs more than each later container has its own", pod: extendedPod("init example.com/gpu=3", "a example.com/gpu=2", "b example.com/gpu=1"),
			want: []string{"container-0-request-0 h100=3", "container-1-request-0 h100=2", "container-2-request-0 h100=1"},
			wantMappings: []string{"a example.com/gpu container-1-request-0", "b example.com/gpu container-2-request-0",
				"init example.com/gpu container-0-request-0"},
		},
		{
			name: "an init container uses those of the later container that has enough", pod: extendedPod("init example.com/gpu=2", "a example.com/gpu=1", "b example.com/gpu=2"),
			want: []string{"container-1-request-0 h100=1", "container-2-request-0 h100=2"},
			wantMappings: []string{"a example.com/gpu container-1-request-0", "b example.com/gpu container-2-request-0",
				"init example.com/gpu container-2-request-0"},
		},
		{
			name: "init containers share a request, unless a later container has enough",
			pod:  extendedPod("init-a example.com/gpu=3", "init-b example.com/gpu=2", "init-c example.com/gpu=1", "main example.com/gpu=1"),
			want: []string{"container-0-request-0 h100=3", "container-3-request-0 h100=1"},
			wantMappings: []string{"main example.com/gpu container-3-request-0", "init-a example.com/gpu container-0-request-0",
				"init-b example.com/gpu container-0-request-0", "init-c example.com/gpu container-3-request-0"},
		},
		{
			name: "a sidecar that starts before has other devices", pod: extendedPod("sidecar example.com/gpu=2", "init example.com/gpu=2", "main example.com/gpu=1"),
			want: []string{"container-0-request-0 h100=2", "container-1-request-0 h100=2", "container-2-request-0 h100=1"},
			wantMappings: []string{"main example.com/gpu container-2-request-0", "sidecar example.com/gpu container-0-request-0",
				"init example.com/gpu container-1-request-0"},
		},
		{
			name: "requests are sorted by name as text", pod: extendedPod("a", "b", "c example.com/gpu=1", "d", "e", "f", "g", "h", "i", "j", "k example.com/gpu=1"),
			want:         []string{"container-10-request-0 h100=1", "container-2-request-0 h100=1"},
			wantMappings: []string{"c example.com/gpu container-2-request-0", "k example.com/gpu container-10-request-0"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			claim := extendedClaim(t, c.pod, "example.com/nic", "example.com/gpu", "example.com/fpga", implicit)
			if claim == nil {
				claim = &resourceapi.ResourceClaim{}
			}
			if diff := cmp.Diff(c.want, requestsIn(claim)); diff != "" {
				t.Error(diff)
			}
			var mappings []string
			for _, m := range RequestMappings(c.pod, claim) {
				mappings = append(mappings, m.ContainerName+" "+m.ResourceName+" "+m.RequestName)
			}
			slices.Sort(mappings)
			slices.Sort(c.wantMappings)
			if diff := cmp.Diff(c.wantMappings, mappings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func extendedClaim(t *testing.T, pod *corev1.Pod, names ...corev1.ResourceName) *resourceapi.ResourceClaim {
	t.Helper()
	claim, err := ExtendedClaim(pod, names, offeredClass)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func requestsIn(claim *resourceapi.ResourceClaim) []string {
	var requests []string
	for _, r := range claim.Spec.Devices.Requests {
		requests = append(requests, fmt.Sprintf("%s %s=%d", r.Name, r.Exactly.DeviceClassName, r.Exactly.Count))
	}
	return requests
}

func TestExtendedClaimIsThePodsAndInMemory(t *testing.T) {
	p := extendedPod("main example.com/gpu=1 example.com/nic=1")
	c := extendedClaim(t, p, "example.com/nic", "example.com/gpu")
	if !InMemory(c) || !IsExtended(c) || c.Namespace != "ns" || c.GenerateName != "pod-extended-resources-" || !metav1.IsControlledBy(c, p) {
		t.Errorf("unexpected metadata: %+v", c.ObjectMeta)
	}
	if want := "pod-uid/extended/example.com/gpu,example.com/nic"; string(c.UID) != want || extendedClaim(t, p, "example.com/gpu", "example.com/nic").UID != c.UID {
		t.Errorf("UID %s, want always %s", c.UID, want)
	}
	if extendedClaim(t, p, "example.com/gpu").UID == c.UID {
		t.Error("claims for different resources have the same UID")
	}
}

func TestThePodOfAnExtendedClaimMayHaveTheLongestName(t *testing.T) {
	for _, name := range []string{strings.Repeat("p", 233), strings.Repeat("p", 253), strings.Repeat("p.", 126) + "p", strings.Repeat("p", 232) + "-.p"} {
		p := extendedPod("main example.com/gpu=1")
		p.Name = name
		claim := extendedClaim(t, p, "example.com/gpu")
		if faults := validation.NameIsDNSSubdomain(claim.GenerateName, true); len(faults) > 0 || !strings.HasSuffix(claim.GenerateName, "p-extended-resources-") {
			t.Errorf("the API server refuses the generateName %s: %v", claim.GenerateName, faults)
		}
	}
}

func TestExtendedRequestsThatCannotBecomeAClaim(t *testing.T) {
	for _, c := range []struct {
		pod  *corev1.Pod
		want string
	}{
		{extendedPod("main example.com/gpu=500m"), "container main requests 500m of example.com/gpu: devices are not divided: request a whole number"},
		{extendedPod("a", "b example.com/gpu=-1"), "container b requests -1 of example.com/gpu: a number of devices is not negative: request a whole number"},
		{extendedPod("init example.com/gpu=33"), "container init requests 33 of example.com/gpu: one ResourceClaim holds at most 32 devices: request fewer"},
		{extendedPod("main example.com/gpu=90E"), "container main requests 90E of example.com/gpu: one ResourceClaim holds at most 32 devices: request fewer"},
		{extendedPod("main example.com/gpu=1e999999999"), "container main requests 1e999999999 of example.com/gpu: one ResourceClaim holds at most 32 devices: request fewer"},
		{extendedPod("a example.com/gpu=32", "b example.com/nic=1"), "the containers request 33 devices as extended resources, and one ResourceClaim holds at most 32: request fewer"},
		{extendedPod("main example.com/gpu=2000m"), ""},
		{extendedPod("main example.com/gpu=32"), ""},
		{extendedPod("main example.com/fpga=500m"), ""},
	} {
		names := []corev1.ResourceName{"example.com/gpu", "example.com/nic", "example.com/fpga"}
		if _, err := ExtendedClaim(c.pod, names, offeredClass); errorText(err) != c.want {
			t.Errorf("error %q, want %q", errorText(err), c.want)
		}
		if _, err := ExtendedUsage(&c.pod.Spec, names, offeredClass); errorText(err) != c.want {
			t.Errorf("error of the template %q, want %q", errorText(err), c.want)
		}
	}
}

func TestExtendedUsageOfATemplateCountsLimitsWithoutRequests(t *testing.T) {
	p := extendedPod("main example.com/gpu=1")
	p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"example.com/gpu": resource.MustParse("5"), "example.com/nic": resource.MustParse("2")}
	got, err := ExtendedUsage(&p.Spec, []corev1.ResourceName{"example.com/nic", "example.com/gpu"}, offeredClass)
	compare(t, got, err, Usage{Devices: []Devices{{Class: "h100", Count: 1, Extended: "example.com/gpu"}, {Class: "fast", Count: 2, Extended: "example.com/nic"}}}, "")
}

func TestExtendedNamesKnowsWhatASchedulerMakes(t *testing.T) {
	p := extendedPod("init example.com/gpu=1", "main example.com/gpu=2 example.com/nic=1 cpu=2")
	for _, c := range []struct {
		name   string
		change func(*resourceapi.ResourceClaim)
		want   []corev1.ResourceName
	}{
		{name: "in memory", change: func(*resourceapi.ResourceClaim) {}, want: []corev1.ResourceName{"example.com/gpu", "example.com/nic"}},
		{name: "in the API", change: func(c *resourceapi.ResourceClaim) { c.Name, c.UID = "pod-extended-resources-abcde", "uid" },
			want: []corev1.ResourceName{"example.com/gpu", "example.com/nic"}},
		{name: "in another order", change: func(c *resourceapi.ResourceClaim) { slices.Reverse(c.Spec.Devices.Requests) },
			want: []corev1.ResourceName{"example.com/gpu", "example.com/nic"}},
		{name: "one of the resources", change: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Requests = c.Spec.Devices.Requests[1:] },
			want: []corev1.ResourceName{"example.com/nic"}},
		{name: "no requests", change: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Requests = nil }},
		{name: "another pod's", change: func(c *resourceapi.ResourceClaim) { ownedBy("other", c) }},
		{name: "another namespace", change: func(c *resourceapi.ResourceClaim) { c.Namespace = "other" }},
		{name: "reserved for the pod", change: func(c *resourceapi.ResourceClaim) { reservedFor("pod-uid", c) }, want: []corev1.ResourceName{"example.com/gpu", "example.com/nic"}},
		{name: "used by another pod", change: func(c *resourceapi.ResourceClaim) { reservedFor("other", c) }},
		{name: "used by another pod, too", change: func(c *resourceapi.ResourceClaim) { reservedFor("other", reservedFor("pod-uid", c)) }},
		{name: "no annotation", change: func(c *resourceapi.ResourceClaim) { c.Annotations = nil }},
		{name: "more devices", change: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Requests[0].Exactly.Count = 8 }},
		{name: "fewer devices", change: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Requests[0].Exactly.Count = 1 }},
		{name: "more requests", change: func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, exactly("more", "h100", 1))
		}},
		{name: "the same request twice", change: func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, c.Spec.Devices.Requests[0])
		}},
		{name: "a request of a container that does not exist", change: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Requests[0].Name = "container-2-request-0" }},
		{name: "a request of a resource that does not exist", change: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Requests[0].Name = "container-1-request-9" }},
		{name: "cpu", change: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Requests[0].Name = "container-1-request-0" }},
		{name: "a strange name", change: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Requests[0].Name = "container--1-request-0" }},
		{name: "a name with more behind it", change: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Requests[0].Name += "x" }},
		{name: "all devices", change: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Requests[0] = all("container-1-request-1", "h100") }},
		{name: "alternatives", change: func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Requests[0] = firstAvailable("container-1-request-1", exactly("a", "h100", 1))
		}},
		{name: "administrative access", change: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Requests[0] = admin(c.Spec.Devices.Requests[0]) }},
		{name: "configuration", change: func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Config = make([]resourceapi.DeviceClaimConfiguration, 1)
		}},
		{name: "constraints", change: func(c *resourceapi.ResourceClaim) {
			c.Spec.Devices.Constraints = make([]resourceapi.DeviceConstraint, 1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			claim := extendedClaim(t, p, "example.com/gpu", "example.com/nic")
			c.change(claim)
			if diff := cmp.Diff(c.want, ExtendedNames(p, claim)); diff != "" {
				t.Error(diff)
			}
			if mappings := RequestMappings(p, claim); (len(mappings) > 0) != (len(c.want) > 0) {
				t.Errorf("mappings %v", mappings)
			}
		})
	}
}
