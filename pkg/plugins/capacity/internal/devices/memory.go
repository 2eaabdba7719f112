// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

const (
	// memorable is the effort from which on an answer is remembered. A question about twenty requests and alternatives takes that
	// much. Pods usually ask for less: to search again for them costs little more than to remember, which takes memory for each
	// node.
	memorable = 32
	// maxAnswers bounds the memory, to some ten megabytes. If there are more answers, all are forgotten.
	maxAnswers = 100_000
)

// memory has, from session to session, why nodes lack the devices of pods. An answer holds while everything that the search
// reads stays the same. Several goroutines may use it.
type memory struct {
	mu   sync.Mutex
	pods map[types.UID]*answers
	// catalog is what the answers were searched in.
	catalog *dra.Catalog
	// evictable has the claims whose devices evictions would have freed when that was last of interest. Edition counts
	// its changes.
	evictable map[types.UID]bool
	edition   int
}

// answers is what is remembered of a pod.
type answers struct {
	pod *corev1.Pod
	// claims are the claims that devices were searched for.
	claims []*resourceapi.ResourceClaim

	mu sync.Mutex
	// standing is how the queue of the pod stood when the quota refused devices. It is nil if it refused none.
	standing *standing
	nodes    map[question]*answer
}

// question is a search on one node: for devices that are free or, if evictions is set, for devices that evictions free.
type question struct {
	node      string
	evictions bool
}

// answer is what a search came to.
type answer struct {
	// found says that there are devices. It is set only for devices that evictions free: what is free now is to be taken.
	found bool
	// err is why the search failed or did not end.
	err error
	// effort is what a search that did not end could have spent. It is zero for a search that ended.
	effort int
	// refusal is why the quota refused devices. Refused says that it did, or that devices could not be counted.
	refusal report.Refusal
	refused bool

	// The rest is what the answer depends on, besides what the memory and answers have.

	// resourceVersion and labels are those of the node. Slices and devices select nodes by labels.
	resourceVersion string
	labels          map[string]string
	// devices is the version of the devices that the node may be able to reach, evictable the edition of the claims that
	// evictions free.
	devices   uint64
	evictable int
}

// open begins a session. It forgets answers that nobody needs any more.
func (m *memory) open(catalog *dra.Catalog, pods corelisters.PodLister) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pods == nil || m.catalog != catalog {
		m.pods, m.catalog = map[types.UID]*answers{}, catalog
		return
	}
	n := 0
	for uid, known := range m.pods {
		n += len(known.nodes)
		if now, err := pods.Pods(known.pod.Namespace).Get(known.pod.Name); err != nil || now.UID != uid || now.Spec.NodeName != "" {
			delete(m.pods, uid)
		}
	}
	if n > maxAnswers {
		clear(m.pods)
	}
}

// of returns what is remembered of a pod with these claims, nil if nothing is.
func (m *memory) of(pod types.UID, claims []*demand.Claim) *answers {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.pods[pod]
	same := func(object *resourceapi.ResourceClaim, claim *demand.Claim) bool { return object == claim.Object }
	if known != nil && !slices.EqualFunc(known.claims, claims, same) {
		delete(m.pods, pod)
		return nil
	}
	return known
}

// begin begins to remember a pod.
func (m *memory) begin(pod *corev1.Pod, claims []*resourceapi.ResourceClaim) *answers {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.pods[pod.UID]
	if known == nil {
		known = &answers{pod: pod, claims: claims, nodes: map[question]*answer{}}
		m.pods[pod.UID] = known
	}
	return known
}

// editionOf returns the edition of the claims whose devices evictions free.
func (m *memory) editionOf(evictable map[types.UID]bool) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !maps.Equal(m.evictable, evictable) {
		m.evictable = evictable
		m.edition++
	}
	return m.edition
}

// use forgets what the quota refused if the queue of the pod stands differently now.
func (a *answers) use(now func() *standing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.standing == nil || a.standing.equal(now()) {
		return
	}
	a.standing = nil
	maps.DeleteFunc(a.nodes, func(_ question, known *answer) bool { return known.refused })
}

// on returns the answer to a question, nil if it is not known or may be another one by now.
func (a *answers) on(asked question, node *corev1.Node, devices uint64, evictable int) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.nodes[asked]
	if known == nil || known.devices != devices || known.evictable != evictable || !known.sameNode(node) {
		return nil
	}
	return known
}

// sameNode reports whether a node has the name and the labels that it had. The status of a node changes often.
func (a *answer) sameNode(node *corev1.Node) bool {
	if a.resourceVersion != "" && a.resourceVersion == node.ResourceVersion {
		return true
	}
	if !maps.Equal(a.labels, node.Labels) {
		return false
	}
	a.resourceVersion = node.ResourceVersion
	return true
}

// keep remembers an answer. Now is how the queue of the pod stands.
func (a *answers) keep(asked question, known *answer, now func() *standing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known.refused {
		standing := now()
		if a.standing != nil && !a.standing.equal(standing) {
			return // it has changed since PreFilter
		}
		a.standing = standing
	}
	a.nodes[asked] = known
}
