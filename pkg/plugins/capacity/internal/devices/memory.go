// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"maps"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

const (
	// memorable is the minimum effort of a search whose answer is remembered. A search that evaluates a selector takes this effort, and so does one
	// for two requests. One evaluation takes as long as to remember some ten answers. A search for one request on a node without free devices is
	// not remembered.
	memorable = 12
	// maxAnswers limits the memory to some hundred megabytes. If there are as many answers, others are not remembered, and the next session begins
	// without those that the last one did not ask for.
	maxAnswers = 600_000
)

// memory keeps, across sessions, why nodes lack the devices of pods. Pods with the same request share an answer. An answer is valid
// as long as all inputs of the search are the same. memory is safe for concurrent use.
type memory struct {
	mu    sync.Mutex
	known map[signature]*answers
	// kept is the number of answers, at least.
	kept atomic.Int64
	// session is the number of the session.
	session atomic.Uint64
	// signed has the digests of claims.
	signed digests
	// catalog is the catalog that the searches used.
	catalog *dra.Catalog
}

// answers is what is remembered for pods with the same signature.
type answers struct {
	// pods are the pods that have asked. The mutex of the memory guards them.
	pods map[types.UID]*corev1.Pod

	mu sync.Mutex
	// standing is the standing of the pods' queue when the quota refused devices. It is nil if the quota refused none.
	standing *standing
	nodes    map[question]*answer
}

// question is a search on one node: for free devices or, if evictions is set, for devices that evictions would free.
type question struct {
	node      string
	evictions bool
	// of is the pod that an error belongs to. It is empty if the answer applies to other pods as well.
	of types.UID
}

// answer is the result of a search.
type answer struct {
	// found says that there are devices. It is set only for devices that evictions would free: free devices are taken instead.
	found bool
	// err says why the search failed or did not end.
	err error
	// effort is the effort that an unfinished search could have spent. It is zero if the search ended.
	effort int
	// refusal says why the quota refused devices. refused says that the quota refused some, or that devices could not be counted.
	refusal report.Refusal
	refused bool
	// cards is the charge of the cards that the pod would get on the node, which the quota may have refused devices for.
	cards string

	// asked is the session that last asked the question.
	asked uint64

	// The other fields are further inputs of the answer.

	// resourceVersion and labels are those of the node. Slices and devices select nodes by labels.
	resourceVersion string
	labels          map[string]string
	// devices is the version of the devices that the node may reach. If evictions is set, it is a hash of the devices that stay in use.
	devices uint64
}

// open begins a session. It forgets answers that are no longer needed.
func (m *memory) open(catalog *dra.Catalog, pods corelisters.PodLister) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signed.open()
	m.session.Add(1)
	if m.known == nil || m.catalog != catalog {
		m.known, m.catalog = map[signature]*answers{}, catalog
		m.kept.Store(0)
		return
	}
	n := 0
	for signed, known := range m.known {
		maps.DeleteFunc(known.pods, func(uid types.UID, pod *corev1.Pod) bool {
			now, err := pods.Pods(pod.Namespace).Get(pod.Name)
			return err != nil || now.UID != uid || now.Spec.NodeName != ""
		})
		if len(known.pods) == 0 {
			delete(m.known, signed)
			continue
		}
		n += len(known.nodes)
	}
	if n >= maxAnswers {
		n = m.forgetUnasked()
	}
	m.kept.Store(int64(n))
}

// forgetUnasked forgets answers that the last session did not ask for, such as those about nodes that are gone. It returns the number of the others.
func (m *memory) forgetUnasked() (n int) {
	for _, known := range m.known {
		known.mu.Lock()
		maps.DeleteFunc(known.nodes, func(_ question, answer *answer) bool { return answer.asked+1 < m.session.Load() })
		n += len(known.nodes)
		known.mu.Unlock()
	}
	return n
}

// full reports whether there is no place for another answer, and takes a place otherwise.
func (m *memory) full() bool { return m.kept.Add(1) > maxAnswers }

// of returns what is remembered for a signature, nil if nothing is. The memory keeps it as long as the pod waits.
func (m *memory) of(signed signature, pod *corev1.Pod) *answers {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.known[signed]
	if known != nil {
		known.pods[pod.UID] = pod
	}
	return known
}

// begin starts to remember answers for pods with a signature.
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

// use forgets the refusals of the quota if the standing of the pod's queue has changed.
func (a *answers) use(now func() *standing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.standing == nil || a.standing.equal(now()) {
		return
	}
	a.standing = nil
	maps.DeleteFunc(a.nodes, func(_ question, known *answer) bool { return known.refused })
}

// on returns the answer to a question of a session, nil if it is unknown or may be outdated.
func (a *answers) on(asked question, node *corev1.Node, devices, session uint64) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.nodes[asked]
	if known == nil || known.devices != devices || !known.sameNode(node) {
		return nil
	}
	known.asked = session
	return known
}

// sameNode reports whether a node has the same labels as before. The status of a node changes often.
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

// keep remembers an answer, in place of an earlier one or if the memory is not full. now returns the current standing of the pod's queue.
func (a *answers) keep(asked question, known *answer, full func() bool, now func() *standing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.nodes[asked] == nil && full() {
		return
	}
	if known.refused {
		standing := now()
		if a.standing != nil && !a.standing.equal(standing) {
			return // it has changed since PreFilter
		}
		a.standing = standing
	}
	a.nodes[asked] = known
}
