// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	corev1 "k8s.io/api/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// Config is what a session decides about evictions by.
type Config struct {
	Session  *framework.Session
	Snapshot *snapshot.Snapshot
	// Owner is the name of the plugin that uses the solver. Its PreemptableFn and ReclaimableFn permit everything while
	// Asked is true.
	Owner string
	// CardsOn returns what a pod would be charged for the cards of a node, nil if no queue limits its cards.
	CardsOn func(*demand.Pod, *corev1.Node) *ledger.Part
	// Obtainable returns what the devices of a pod, whose PrePredicate has run, would come to on a node if these pods were gone
	// in addition to those that are leaving. The error says why the pod could not have them there even then.
	Obtainable func(task *api.TaskInfo, node *api.NodeInfo, gone []*demand.Pod) (ledger.Amounts, error)
	// Avoids reports whether a job must not get a node.
	Avoids func(*api.JobInfo, *api.NodeInfo) bool
	// Budgets reads PodDisruptionBudgets. It may be nil.
	Budgets policylisters.PodDisruptionBudgetLister
	// WholeGangs allows to evict a gang that cannot lose a pod as a whole.
	WholeGangs bool
}

// Solver finds victims during one session. It is not safe for concurrent use.
type Solver struct {
	Config
	agreement agreement
	budgets   budgets
	// others is how many pods run, zero if it is not known.
	others int
	// spent is the effort of all jobs.
	spent int
	// filtering says that nodes are filtered.
	filtering bool
	// checking says that other plugins are asked about a node.
	checking bool
	// jobs has what is known of the jobs that ask, by rule.
	jobs map[Rule]map[api.JobID]*asker
}

// New returns the solver of a session.
func New(config Config) *Solver {
	s := &Solver{Config: config, jobs: map[Rule]map[api.JobID]*asker{Preempt: {}, Reclaim: {}}}
	s.agreement = newAgreement(config.Session, config.Owner)
	s.budgets = budgets{session: config.Session, lister: config.Budgets, pods: config.Snapshot.Pods}
	return s
}

// Spent returns the effort of the session so far: how often pods, and places for them, were looked at.
func (s *Solver) Spent() int { return s.spent }

// Asked reports whether the plugin that owns this solver is asked about victims by the solver itself. It must agree then:
// the solver knows the rights of queues.
func (s *Solver) Asked() bool { return s.agreement.asking }

// Checking reports whether the solver asks whether a node suits a pod without its victims. The plugin that owns this solver must not
// refuse the node for devices or quota then.
func (s *Solver) Checking() bool { return s.checking }

// Filtering reports whether the solver filters nodes. The plugin that owns this solver must not refuse a node for devices or quota
// then, but for cards that the pod cannot use.
func (s *Solver) Filtering() bool { return s.filtering }
