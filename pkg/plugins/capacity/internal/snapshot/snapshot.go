// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	schedulinglistersv1 "k8s.io/client-go/listers/scheduling/v1"

	batchlisters "volcano.sh/apis/pkg/client/listers/batch/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/lastvalid"
	"github.com/devicequota/devicequota/pkg/problems"
)

// Input is the input of a snapshot.
type Input struct {
	Jobs   map[api.JobID]*api.JobInfo
	Queues map[api.QueueID]*api.QueueInfo
	// Total is the sum of the nodes' resources.
	Total *api.Resource
	// Hierarchy says that queues have parents. Otherwise, each queue stands alone.
	Hierarchy bool
	// CardQuotaRequired says that cards may be used only if a queue on the way to the root has a card quota.
	CardQuotaRequired bool
	// DeviceQuotaRequired says that a device may be used only if a queue on the way to the root lists its class.
	DeviceQuotaRequired bool
	// Late is when a pod that is being deleted must have ended for its room to count as free soon. Zero is never.
	Late time.Time
	// Overdue is when a pod that is being deleted should have ended, for its room to count as free soon: its node may be dead.
	Overdue time.Time
	// ReclaimFault is the fault in the scheduler's configuration that keeps queues from getting what they deserve.
	ReclaimFault problems.ReclaimFault
	// Matcher finds the classes that a device matches. It is nil if a device counts only for the requested class.
	Matcher *dra.Matcher
	// Overlaps has the classes that are known to share devices with others.
	Overlaps dra.Overlaps

	// Quotas has the device and card quotas, which Volcano's own queue type lacks. It is nil if they are not read.
	Quotas *lastvalid.Cache
	// VolcanoJobs reads the Jobs that create pods. It may be nil.
	VolcanoJobs     batchlisters.JobLister
	Pods            corelisters.PodLister
	PriorityClasses schedulinglistersv1.PriorityClassLister
	// Claims reads claims.
	Claims ClaimReader
	// ServesClaims says that the scheduler allocates devices.
	ServesClaims bool
	// Catalog is what is published about devices. It is nil while nothing is known.
	Catalog *dra.Catalog
}

// Snapshot is the ledger of one session, and its input.
type Snapshot struct {
	*Cache
	Input
	// begun is the time at which it was taken.
	begun time.Time
	// Ledger has the charges of the session, without what releasing pods still hold: see Held.
	Ledger *ledger.Ledger
	// ClusterTotal is the amount of resources to share.
	ClusterTotal ledger.Amounts
	// Problems are the problems of queues.
	Problems problems.Problems

	// queues has the state of the queues' quotas besides their limits.
	queues map[string]queueState
	// invalidQuotas says that the device quota of some queue is unknown.
	invalidQuotas bool
	// limited has the classes in the device quota of some queue. countsCards says that some queue limits cards, or deserves some.
	limited map[string]bool
	// offering has the classes behind extended resources in the quota of some queue.
	offering    map[string]bool
	countsCards bool
	// invalidClasses has the classes whose selectors cannot be evaluated. It is nil if there are none.
	invalidClasses map[string]error
	// overlapTexts has the texts about classes that share devices. It is nil if there are none.
	overlapTexts map[string]string
	// misplaced says why a queue has no place in the hierarchy. It is nil if all queues have one.
	misplaced map[string]string
	// consumers are the pods with claims, oldest first.
	consumers []consumer
	// alive has the consumers that have not ended. It is nil until needed.
	alive map[types.UID]bool
	// unattributedPods are the pods charged to root because their queue is unknown.
	unattributedPods []*corev1.Pod
	// unknownPayer says which claims root pays for in the place of an unknown queue. Pods that join them in this session change nothing about that.
	unknownPayer map[*demand.Claim]bool
	// strayTasks are the charged strays.
	strayTasks []*api.TaskInfo
	// changed has the pods that are new or changed since the last session.
	changed []*api.TaskInfo
	// binding says that some pod was being bound when the session began.
	binding bool
	// records has the queue records built so far.
	records map[ledger.QueueID]string
	// held is Ledger plus what releasing pods still hold.
	held *ledger.Ledger
	// retains says that releasing pods still hold something.
	retains bool
	// unknownCapacity has, by DeviceClass and by the queue that pays, a claim whose devices have an unknown capacity. It is nil if there are none.
	unknownCapacity map[string]map[ledger.QueueID]*demand.Claim
}

// Take takes the snapshot of a session. Configure must have been called for the session before.
func (c *Cache) Take(input Input) *Snapshot {
	if c.review.begin() {
		c.Renew()
		clear(c.notedNeeds)
	}
	s := &Snapshot{
		Cache: c, Input: input, begun: c.failed.Clock.Now(), Problems: problems.Problems{}, queues: make(map[string]queueState, len(input.Queues)),
		unknownPayer: map[*demand.Claim]bool{}, limited: map[string]bool{}, offering: map[string]bool{},
	}
	c.failed.GC()
	s.findInvalidClasses()
	s.buildTree()
	c.Counter.Claims.Match(s.matching())
	c.Begin(input.Claims, input.Catalog)
	s.chargeAndAccount()
	s.findProblems()
	c.before = s.Ledger
	return s
}
