// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// deviceWatch tracks the devices of all claims of a namespace. It is independent of the scheduler.
type deviceWatch struct {
	mu sync.Mutex
	// holder is the claim that has a device, by pool and device.
	holder map[string]types.UID
	// held are the devices of a claim, each with the class of its request.
	held map[types.UID]map[string]string
	// inUse and highest are numbers of devices by class.
	inUse, highest map[string]int
	twice          []string
}

// watchHolders starts to track the claims of the fixture's namespace.
func (f *fixture) watchHolders() *deviceWatch {
	GinkgoHelper()
	w := &deviceWatch{holder: map[string]types.UID{}, held: map[types.UID]map[string]string{}, inUse: map[string]int{}, highest: map[string]int{}}
	followClaims(f.namespace, w.see)
	return w
}

func (w *deviceWatch) see(claim *resourcev1.ResourceClaim, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, class := range w.held[claim.UID] {
		w.inUse[class]--
		if w.holder[id] == claim.UID {
			delete(w.holder, id)
		}
	}
	delete(w.held, claim.UID)
	if gone || claim.Status.Allocation == nil {
		return
	}
	classes := map[string]string{}
	for _, request := range claim.Spec.Devices.Requests {
		if request.Exactly != nil {
			classes[request.Name] = request.Exactly.DeviceClassName
		}
	}
	held := map[string]string{}
	for _, result := range claim.Status.Allocation.Devices.Results {
		id, class := result.Pool+"/"+result.Device, classes[result.Request]
		if other, found := w.holder[id]; found {
			w.twice = append(w.twice, fmt.Sprintf("device %s is of claim %s and of the claim with UID %s", id, claim.Name, other))
		}
		w.holder[id], held[id] = claim.UID, class
		w.inUse[class]++
		w.highest[class] = max(w.highest[class], w.inUse[class])
	}
	w.held[claim.UID] = held
}

// most returns the highest number of devices of a class that were in use at the same time.
func (w *deviceWatch) most(class string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.highest[class]
}

// current returns the number of devices of a class in use.
func (w *deviceWatch) current(class string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inUse[class]
}

// shared returns the devices that two claims had at the same time.
func (w *deviceWatch) shared() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.twice
}

// expectDevicesOnce checks that no two claims have the same device.
func (f *fixture) expectDevicesOnce(ctx context.Context) {
	GinkgoHelper()
	claims := must(kube.ResourceV1().ResourceClaims(f.namespace).List(ctx, metav1.ListOptions{}))
	has := map[string]string{}
	for _, claim := range claims.Items {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, device := range claim.Status.Allocation.Devices.Results {
			id := device.Pool + "/" + device.Device
			Expect(has).NotTo(HaveKey(id), "claims %s and %s", has[id], claim.Name)
			has[id] = claim.Name
		}
	}
}
