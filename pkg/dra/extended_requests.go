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

// requestFormat is the format of request names in an extended claim. The numbers are the position of the container among init
// containers and containers, and the position of the resource among all sorted requests of the container.
const requestFormat = "container-%d-request-%d"

// sharing determines which devices of later containers an init container uses, if it ends before these start.
type sharing int

const (
	// shareOne is the plan of this scheduler. The init container uses one request of a later container with enough devices.
	shareOne sharing = iota
	// shareSeveral is the plan of kube-scheduler 1.35. The init container uses the requests of several later containers, and one more
	// request for the rest.
	shareSeveral
	// shareNone is the plan of kube-scheduler 1.34. Each container has its own request.
	shareNone
)

// extendedPlan holds the requests of an extended claim, and the containers that use them.
type extendedPlan struct {
	requests []resourceapi.DeviceRequest
	mappings []corev1.ContainerExtendedResourceRequest
	// devices is the number of devices in requests.
	devices int64
}

// extendedNeed is one container's request of one extended resource.
type extendedNeed struct {
	container int
	name      string
	request   string
	count     int64
}

// ExtendedRequests returns the resources that containers of a pod or template request and a class offers, sorted. classOf
// returns the class that offers a resource, or an empty name.
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

// planExtended counts like Kubernetes 1.35. An init container that ends before later containers start uses their devices. These
// init containers share the devices that they need in addition. Kubernetes 1.35 also adds devices to the devices of several later
// containers. An API server of 1.34 refuses this, and its kubelets do not know it, because they have one request per container and
// resource. With shareOne, an init container that needs more than each later container therefore shares no devices with them.
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
		if err := plan.check(); err != nil {
			return extendedPlan{}, err // with more requests, the comparisons below would take long
		}
		plan.addPassing(name, class, lasting, passing, sharing)
	}
	slices.SortFunc(plan.requests, byName)
	return plan, plan.check()
}

// check returns an error if a claim cannot hold the devices.
func (p *extendedPlan) check() error {
	if p.devices <= resourceapi.AllocationResultsMaxSize {
		return nil
	}
	return fmt.Errorf("the containers request %d devices as extended resources, and one ResourceClaim holds at most %d: request fewer",
		p.devices, resourceapi.AllocationResultsMaxSize)
}

// addPassing adds the needs of ending init containers that no later container covers. One request serves all of them. It is
// named after the first init container with the largest need.
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

// reused returns the requests of later containers whose devices an init container uses, and the number of devices still missing.
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

// extendedNeeds returns the requests of a resource by containers that last as long as the pod, and by init containers that end.
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
	case quantity.AsApproximateFloat64() > resourceapi.AllocationResultsMaxSize: // an exact comparison with 1e999999999 takes minutes
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

// ContainerRequests returns the requests of a container. A limit without a request counts as a request. The API server sets
// this default in pods, but not in templates of jobs.
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

func requestName(container int, name corev1.ResourceName, requests corev1.ResourceList) string {
	return fmt.Sprintf(requestFormat, container, positionOf(name, requests))
}

func positionOf(name corev1.ResourceName, requests corev1.ResourceList) int {
	position := 0
	for other := range requests {
		if other < name {
			position++
		}
	}
	return position
}
