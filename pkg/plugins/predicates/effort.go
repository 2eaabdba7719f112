// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/dra/turns"
)

// The cost of looks at the volumes of pods, and at the pods that they select. One unit is one claim on one node, some four microseconds.
const (
	// ordinaryClaims is how many PersistentVolumeClaims a pod may have without a look at what it costs.
	ordinaryClaims = 16
	// effortOfSession is what jobs may spend together before the others wait for a turn.
	effortOfSession = 100_000
	// effortOfJob is what each of turnsOfSession jobs that waited may spend besides. A job that needs more gets up to mostMore times as much, and leaves as many
	// turns to others before.
	effortOfJob, turnsOfSession, mostMore = 300_000, 2, 8
)

// effort bounds the time of a session for pods with very many volumes or selectors. Upstream's plugins look up each claim for each node: hundreds of waiting pods with 256 claims
// took a tenth of a second each on 100 nodes, in each cycle. Namespaces take turns, as a user may have any number of jobs.
type effort struct {
	mu   sync.Mutex
	line turns.Line
	// waits has the namespaces of the jobs that wait for a turn.
	waits map[string]string
	// more has how many times as much a job gets in its turn as others, and rests how many turns it leaves to others before.
	more, rests map[string]int
	// first has what the jobs have spent whose turn it is, and spent is what the others have spent.
	first map[string]int
	spent int
}

// next begins a session.
func (e *effort) next() {
	e.mu.Lock()
	defer e.mu.Unlock()
	isOver := func(job string, _ int) bool { return e.waits[job] == "" }
	e.line.Keep(func(job string) bool { return !isOver(job, 0) })
	maps.DeleteFunc(e.more, isOver)
	maps.DeleteFunc(e.rests, isOver)
	if e.more == nil {
		e.more, e.rests = map[string]int{}, map[string]int{}
	}
	e.first, e.spent = map[string]int{}, 0
	for _, job := range e.line.Take(turnsOfSession) {
		if e.rests[job]--; e.rests[job] < 0 {
			e.first[job] = 0
		} else {
			e.line.Join(e.waits[job], job)
		}
	}
	e.waits = map[string]string{}
}

// may reports whether nodes may be asked about a pod. Otherwise, the job of the pod gets a turn in a later session.
func (e *effort) may(namespace, job string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	spent, first := e.first[job]
	refused := e.waits[job] != ""
	if !refused && (first && spent < max(1, e.more[job])*effortOfJob || !first && e.spent < effortOfSession) {
		return true
	}
	if first && !refused {
		e.more[job] = min(2*max(1, e.more[job]), mostMore)
		e.rests[job] = e.more[job]
	}
	e.line.Join(namespace, job)
	e.waits[job] = namespace
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
	c := cost{job: jobOf(pod)}
	for i := range pod.Spec.Volumes {
		if claimName(pod, &pod.Spec.Volumes[i]) != "" {
			c.claims++
		}
	}
	return c
}

func jobOf(pod *corev1.Pod) string {
	return pod.Namespace + "/" + pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]
}
