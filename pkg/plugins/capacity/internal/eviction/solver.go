// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	corev1 "k8s.io/api/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// Config is the configuration for decisions about evictions in a session.
type Config struct {
	Session  *framework.Session
	Snapshot *snapshot.Snapshot
	// Owner is the name of the plugin that uses the solver. Its PreemptableFn and ReclaimableFn permit everything while Asked is true.
	Owner string
	// CardsOn returns what a pod would be charged for the cards of a node, nil if no queue limits its cards.
	CardsOn func(*demand.Pod, *corev1.Node) *ledger.Part
	// Obtainable returns the amounts of a pod's devices on a node if these pods were gone in addition to the leaving pods.
	// PrePredicate must have run for the pod. The error says why the pod could not have its devices there even then.
	Obtainable func(task *api.TaskInfo, node *api.NodeInfo, gone []*demand.Pod) (ledger.Amounts, error)
	// Published returns the number of devices of a class.
	Published func(class string) int64
	// LargeEnough returns the domains that could have what a job lacks of its minimum if nobody used them.
	LargeEnough func(*api.JobInfo, []hypernodes.Domain) []hypernodes.Domain
	// Avoids reports whether a job must not get a node.
	Avoids func(*api.JobInfo, *api.NodeInfo) bool
	// Budgets reads PodDisruptionBudgets. It may be nil.
	Budgets policylisters.PodDisruptionBudgetLister
	// WholeGangs allows the eviction of whole gangs if single pods do not suffice.
	WholeGangs bool
}

// Solver finds victims during one session. It is not safe for concurrent use.
type Solver struct {
	Config
	agreement agreement
	budgets   budgets
	roles     roles
	// others is the number of running pods, zero if unknown.
	others int
	// spent is the effort of all jobs.
	spent int
	// filtering says that nodes are being filtered.
	filtering bool
	// checking says that other plugins are being asked about a node.
	checking bool
	// jobs has the preemptors by rule and job.
	jobs map[Rule]map[api.JobID]*preemptor
}

// New returns the solver of a session.
func New(config Config) *Solver {
	s := &Solver{Config: config, jobs: map[Rule]map[api.JobID]*preemptor{Preempt: {}, Reclaim: {}}}
	s.agreement = newAgreement(config.Session, config.Owner)
	s.budgets = budgets{session: config.Session, lister: config.Budgets, pods: config.Snapshot.Pods}
	return s
}

// Spent returns the effort of the session so far: how often pods, and places for them, were examined.
func (s *Solver) Spent() int { return s.spent }

// Asked reports whether the solver itself is asking the owner plugin about victims. The owner must then agree: the solver
// knows the rights of queues.
func (s *Solver) Asked() bool { return s.agreement.asking }

// Checking reports whether the solver is asking whether a node suits a pod without its victims. The owner plugin must then not
// refuse the node for devices or quota.
func (s *Solver) Checking() bool { return s.checking }

// Filtering reports whether the solver is filtering nodes. The owner plugin must then not refuse a node for devices or quota, but
// only for cards that the pod cannot use.
func (s *Solver) Filtering() bool { return s.filtering }
