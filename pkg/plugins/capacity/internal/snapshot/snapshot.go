// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	schedulinglistersv1 "k8s.io/client-go/listers/scheduling/v1"

	batchlisters "volcano.sh/apis/pkg/client/listers/batch/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/mistakes"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/quotas"
)

// Input is what a snapshot is taken of.
type Input struct {
	Jobs   map[api.JobID]*api.JobInfo
	Queues map[api.QueueID]*api.QueueInfo
	// Total is what the nodes have of resources.
	Total *api.Resource
	// Hierarchy says that queues have parents. Otherwise each queue stands alone.
	Hierarchy bool
	// CardQuotaRequired says that no card may be used where no queue has a card quota.
	CardQuotaRequired bool
	// DeviceQuotaRequired says that no device may be used where no queue on the way to the root lists its class.
	DeviceQuotaRequired bool
	// ReclaimFault is what in the scheduler's configuration keeps queues from getting what they deserve.
	ReclaimFault mistakes.ReclaimFault
	// Matcher finds the classes that a device matches. It is nil if a device counts only for the class that a claim asked
	// for.
	Matcher *dra.Matcher
	// Overlaps has the classes that are known to share devices with others.
	Overlaps dra.Overlaps

	// Quotas has the quotas of devices and cards, which Volcano's own type of queues lacks. It is nil if they are not
	// read.
	Quotas *quotas.Cache
	// VolcanoJobs reads the Jobs that create pods. It may be nil.
	VolcanoJobs     batchlisters.JobLister
	Pods            corelisters.PodLister
	PriorityClasses schedulinglistersv1.PriorityClassLister
	// Claims reads claims.
	Claims ClaimReader
	// ServesClaims says that the scheduler allocates devices.
	ServesClaims bool
	// Catalog is what is published of devices, nil while nothing is known.
	Catalog *dra.Catalog
}

// Snapshot is the ledger of one session, and what it was built from.
type Snapshot struct {
	*Cache
	Input
	// Ledger has the charges of the session, without what releasing pods still hold: see Held.
	Ledger *ledger.Ledger
	// ClusterTotal is what there is of resources to share.
	ClusterTotal ledger.Amounts
	// Problems has what is wrong with queues.
	Problems mistakes.Problems

	// queues has what is known of the quotas of queues besides their limits.
	queues map[string]queueState
	// invalidQuotas says that the device quota of some queue is not known.
	invalidQuotas bool
	// limited has the classes that the quota of some queue lists. countsCards says that some queue limits cards, or is
	// owed some.
	limited map[string]bool
	// offering has the classes that offer an extended resource which the quota of some queue lists.
	offering    map[string]bool
	countsCards bool
	// invalidClasses has the classes whose selectors cannot be evaluated. It is nil if there is none.
	invalidClasses map[string]error
	// overlapTexts has what is written of classes that share devices. It is nil if nothing is.
	overlapTexts map[string]string
	// misplaced says why a queue has no place in the hierarchy. It is nil if all queues have one.
	misplaced map[string]string
	// consumers are the pods with claims, the oldest first.
	consumers []consumer
	// alive has which of them have not ended. It is nil until it is needed.
	alive map[types.UID]bool
	// unattributed has the holders that are charged to root, because nobody knows which queue they came from: pods, and
	// claims that no pod holds. unattributedPods are those that are pods.
	unattributed     map[ledger.Holder]bool
	unattributedPods []*corev1.Pod
	// strayTasks has the strays that are charged.
	strayTasks []*api.TaskInfo
	// changed has the pods that are new, or have changed, since the last session.
	changed []*api.TaskInfo
	// binding says that some pod was being bound when the session began.
	binding bool
	// records has the records of queues that have been needed.
	records map[ledger.QueueID]string
	// held is Ledger with what releasing pods still hold.
	held *ledger.Ledger
	// retains says that releasing pods still hold something.
	retains bool
	// unknownCapacity has for a DeviceClass a claim whose devices have a capacity that nobody knows. It is nil if there is
	// none.
	unknownCapacity map[string]*demand.Claim
}

// Take takes the snapshot of a session. Configure must have been called for the session before.
func (c *Cache) Take(input Input) *Snapshot {
	if c.review.begin() {
		c.Renew()
		clear(c.notedNeeds)
	}
	s := &Snapshot{
		Cache: c, Input: input, Problems: mistakes.Problems{}, queues: make(map[string]queueState, len(input.Queues)),
		unattributed: map[ledger.Holder]bool{}, limited: map[string]bool{}, offering: map[string]bool{},
	}
	s.findInvalidClasses()
	s.buildTree()
	c.Counter.Claims.Match(s.matching())
	c.Begin(input.Claims, input.Catalog)
	s.chargeAndAccount()
	s.findProblems()
	c.before = s.Ledger
	return s
}
