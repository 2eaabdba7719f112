// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"

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

// memory has, from session to session, why nodes lack the devices of pods. Pods that ask for the same share an answer. It holds while
// everything that the search reads stays the same. Several goroutines may use it.
type memory struct {
	mu    sync.Mutex
	known map[signature]*answers
	// signed has the digests of claims.
	signed digests
	// catalog is what the answers were searched in.
	catalog *dra.Catalog
}

// answers is what is remembered of pods with the same signature.
type answers struct {
	// pods are those that have asked. They are locked by the memory.
	pods map[types.UID]*corev1.Pod

	mu sync.Mutex
	// standing is how the queue of the pods stood when the quota refused devices. It is nil if it refused none.
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
	// of is the pod to which the error belongs. It is empty if others may be told, too.
	of types.UID
	// effort is what a search that did not end could have spent. It is zero for a search that ended.
	effort int
	// refusal is why the quota refused devices. Refused says that it did, or that devices could not be counted.
	refusal report.Refusal
	refused bool

	// The rest is what the answer depends on, besides what the memory and answers have.

	// resourceVersion and labels are those of the node. Slices and devices select nodes by labels.
	resourceVersion string
	labels          map[string]string
	// devices is the version of the devices that the node may be able to reach. For devices that evictions free, it is a hash of those that
	// are in use nevertheless.
	devices uint64
}

// open begins a session. It forgets answers that nobody needs any more.
func (m *memory) open(catalog *dra.Catalog, pods corelisters.PodLister) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signed.open()
	if m.known == nil || m.catalog != catalog {
		m.known, m.catalog = map[signature]*answers{}, catalog
		return
	}
	n := 0
	for signed, known := range m.known {
		n += len(known.nodes)
		maps.DeleteFunc(known.pods, func(uid types.UID, pod *corev1.Pod) bool {
			now, err := pods.Pods(pod.Namespace).Get(pod.Name)
			return err != nil || now.UID != uid || now.Spec.NodeName != ""
		})
		if len(known.pods) == 0 {
			delete(m.known, signed)
		}
	}
	if n > maxAnswers {
		clear(m.known)
	}
}

// of returns what is remembered for a signature, nil if nothing is. It is kept as long as the pod waits.
func (m *memory) of(signed signature, pod *corev1.Pod) *answers {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.known[signed]
	if known != nil {
		known.pods[pod.UID] = pod
	}
	return known
}

// begin begins to remember what pods with a signature ask.
func (m *memory) begin(signed signature, pod *corev1.Pod) *answers {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.known[signed]
	if known == nil {
		known = &answers{pods: map[types.UID]*corev1.Pod{pod.UID: pod}, nodes: map[question]*answer{}}
		m.known[signed] = known
	}
	return known
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
func (a *answers) on(asked question, node *corev1.Node, devices uint64) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.nodes[asked]
	if known == nil || known.devices != devices || !known.sameNode(node) {
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
