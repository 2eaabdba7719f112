// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/dra/turns"
)

// The cost of looks at the volumes of pods. One unit is one claim on one node, some four microseconds.
const (
	// ordinaryClaims is how many PersistentVolumeClaims a pod may have without a look at what it costs.
	ordinaryClaims = 16
	// effortOfSession is what jobs may spend together before the others wait for a turn.
	effortOfSession = 100_000
	// effortOfJob is what each of turnsOfSession jobs that waited may spend besides.
	effortOfJob, turnsOfSession = 300_000, 2
)

// effort bounds the time of a session for pods with very many volumes. Upstream's plugins look up each claim for each node: hundreds of waiting pods with 256 claims
// took a tenth of a second each on 100 nodes, in each cycle. Namespaces take turns, as a user may have any number of jobs.
type effort struct {
	mu   sync.Mutex
	line turns.Line
	// waits has the jobs that wait for a turn.
	waits map[string]bool
	// first has what the jobs have spent whose turn it is, and spent is what the others have spent.
	first map[string]int
	spent int
}

// next begins a session.
func (e *effort) next() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.line.Keep(func(job string) bool { return e.waits[job] })
	e.waits, e.first, e.spent = map[string]bool{}, map[string]int{}, 0
	for _, job := range e.line.Take(turnsOfSession) {
		e.first[job] = 0
	}
}

// may reports whether nodes may be asked about the volumes of a pod. Otherwise, the job of the pod gets a turn in a later session.
func (e *effort) may(namespace, job string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if spent, first := e.first[job]; first && spent < effortOfJob || !first && e.spent < effortOfSession {
		return true
	}
	e.line.Join(namespace, job)
	e.waits[job] = true
	return false
}

func (e *effort) spend(job string, claims int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, first := e.first[job]; first {
		e.first[job] += claims
	} else {
		e.spent += claims
	}
}

// costKey is the key of the cost of a pod in its state. Ordinary pods have none.
const costKey = "devicequota/cost-of-volumes"

type cost struct {
	job    string
	claims int
}

// Clone implements fwk.StateData. Nobody changes it.
func (c cost) Clone() fwk.StateData { return c }

func costOf(pod *corev1.Pod) cost {
	c := cost{job: pod.Namespace + "/" + pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]}
	for i := range pod.Spec.Volumes {
		if claimName(pod, &pod.Spec.Volumes[i]) != "" {
			c.claims++
		}
	}
	return c
}
