// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// requestFormat makes the name of a request of an extended claim. The numbers are the position of the container among
// init containers and containers, and the position of the resource among all sorted requests of the container.
const requestFormat = "container-%d-request-%d"

// sharing says which devices of later containers an init container uses that ends before these start.
type sharing int

const (
	// shareOne is how this scheduler plans: one request of a later container that has as many devices as are needed.
	shareOne sharing = iota
	// shareSeveral is how kube-scheduler 1.35 plans: the requests of several later containers, and one more for what they leave open.
	shareSeveral
	// shareNone is how kube-scheduler 1.34 plans: each container has a request of its own.
	shareNone
)

// extendedPlan has the requests of an extended claim and who uses them.
type extendedPlan struct {
	requests []resourceapi.DeviceRequest
	mappings []corev1.ContainerExtendedResourceRequest
	// devices is the number of devices in requests.
	devices int64
}

// extendedNeed is what one container requests of one extended resource.
type extendedNeed struct {
	container int
	name      string
	request   string
	count     int64
}

// ExtendedRequests returns the resources that the containers of a pod, or of a template, request and that a class offers,
// sorted. ClassOf returns the class that offers a resource, empty for none.
func ExtendedRequests(spec *corev1.PodSpec, classOf func(corev1.ResourceName) string) []corev1.ResourceName {
	var names []corev1.ResourceName
	for i := range len(spec.InitContainers) + len(spec.Containers) {
		for name, quantity := range ContainerRequests(containerAt(spec, i)) {
			if quantity.Sign() > 0 && classOf(name) != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// planExtended counts as Kubernetes 1.35 does: an init container that ends before later containers start uses their
// devices, and such init containers share what they need otherwise. Kubernetes 1.35 also adds devices to those of several later
// containers. An API server of 1.34 refuses that, and its kubelets do not know it: they have one request for each container and
// resource. An init container that needs more than each later container therefore shares no devices with them.
func planExtended(spec *corev1.PodSpec, names []corev1.ResourceName, classOf func(corev1.ResourceName) string, sharing sharing) (extendedPlan, error) {
	var plan extendedPlan
	for _, name := range slices.Sorted(slices.Values(names)) {
		class := classOf(name)
		if class == "" {
			continue
		}
		lasting, passing, err := extendedNeeds(spec, name)
		if err != nil {
			return extendedPlan{}, err
		}
		if sharing == shareNone {
			lasting, passing = append(lasting, passing...), nil
		}
		for _, need := range lasting {
			plan.request(need.request, class, need.count)
			plan.use(need, name, need.request)
		}
		plan.addPassing(name, class, lasting, passing, sharing)
	}
	if plan.devices > resourceapi.AllocationResultsMaxSize {
		return extendedPlan{}, fmt.Errorf("the containers request %d devices as extended resources, and one ResourceClaim holds at most %d: request fewer",
			plan.devices, resourceapi.AllocationResultsMaxSize)
	}
	slices.SortFunc(plan.requests, byName)
	return plan, nil
}

// addPassing adds what init containers that end need if no later container has as many devices: one request for all of them,
// named after the first of those that need most.
func (p *extendedPlan) addPassing(name corev1.ResourceName, class string, lasting, passing []extendedNeed, sharing sharing) {
	var largest extendedNeed
	var most int64
	for _, need := range passing {
		if _, more := reused(need, lasting, sharing); more > most {
			largest, most = need, more
		}
	}
	if most > 0 {
		p.request(largest.request, class, most)
	}
	for _, need := range passing {
		requests, more := reused(need, lasting, sharing)
		for _, request := range requests {
			p.use(need, name, request)
		}
		if more > 0 {
			p.use(need, name, largest.request)
		}
	}
}

// reused returns the requests of later containers whose devices an init container uses, and how many devices they leave open.
func reused(need extendedNeed, lasting []extendedNeed, sharing sharing) (requests []string, left int64) {
	left = need.count
	for _, later := range lasting {
		if later.container < need.container || left <= 0 || sharing == shareOne && later.count < need.count {
			continue
		}
		requests = append(requests, later.request)
		left -= later.count
	}
	return requests, max(left, 0)
}

func (p *extendedPlan) request(name, class string, count int64) {
	p.devices += count
	p.requests = append(p.requests, resourceapi.DeviceRequest{Name: name, Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
	}})
}

func (p *extendedPlan) use(need extendedNeed, name corev1.ResourceName, request string) {
	p.mappings = append(p.mappings, corev1.ContainerExtendedResourceRequest{ContainerName: need.name, ResourceName: string(name), RequestName: request})
}

func (p *extendedPlan) spec() resourceapi.ResourceClaimSpec {
	return resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: p.requests}}
}

// extendedNeeds returns what the containers request of a resource: those that last as long as the pod, and init containers
// that end.
func extendedNeeds(spec *corev1.PodSpec, name corev1.ResourceName) (lasting, passing []extendedNeed, err error) {
	for i := range len(spec.InitContainers) + len(spec.Containers) {
		container := containerAt(spec, i)
		requests := ContainerRequests(container)
		quantity, requested := requests[name]
		if !requested || quantity.IsZero() {
			continue
		}
		count, err := deviceCount(quantity)
		if err != nil {
			return nil, nil, fmt.Errorf("container %s requests %s of %s: %w", container.Name, quantity.String(), name, err)
		}
		need := extendedNeed{container: i, name: container.Name, request: requestName(i, name, requests), count: count}
		if i < len(spec.InitContainers) && !isSidecar(container) {
			passing = append(passing, need)
		} else {
			lasting = append(lasting, need)
		}
	}
	return lasting, passing, nil
}

func deviceCount(quantity resource.Quantity) (int64, error) {
	count := quantity.Value()
	switch {
	case quantity.Sign() < 0:
		return 0, errors.New("a number of devices is not negative: request a whole number")
	case quantity.AsApproximateFloat64() > resourceapi.AllocationResultsMaxSize: // to compare 1e999999999 exactly takes minutes
		return 0, fmt.Errorf("one ResourceClaim holds at most %d devices: request fewer", resourceapi.AllocationResultsMaxSize)
	case resource.NewQuantity(count, resource.DecimalSI).Cmp(quantity) != 0:
		return 0, errors.New("devices are not divided: request a whole number")
	}
	return count, nil
}

func containerAt(spec *corev1.PodSpec, i int) *corev1.Container {
	if i < len(spec.InitContainers) {
		return &spec.InitContainers[i]
	}
	return &spec.Containers[i-len(spec.InitContainers)]
}

func isSidecar(container *corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// ContainerRequests returns what a container requests. A limit without a request is a request, as the API server defaults it in
// pods, but not in templates of jobs.
func ContainerRequests(container *corev1.Container) corev1.ResourceList {
	requests, limits := container.Resources.Requests, container.Resources.Limits
	for name := range limits {
		if _, requested := requests[name]; !requested {
			all := maps.Clone(limits)
			maps.Copy(all, requests)
			return all
		}
	}
	return requests
}

// requestName returns the name of the request for what a container requests of a resource.
func requestName(container int, name corev1.ResourceName, requests corev1.ResourceList) string {
	return fmt.Sprintf(requestFormat, container, positionOf(name, requests))
}

// positionOf returns the position of a resource among the sorted requests.
func positionOf(name corev1.ResourceName, requests corev1.ResourceList) int {
	position := 0
	for other := range requests {
		if other < name {
			position++
		}
	}
	return position
}
