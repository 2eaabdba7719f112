// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// Granted is the decision about a workload that was granted room and released to Karmada.
func Granted(w *framework.Workload, grant *binding.Grant) Decision {
	return normal(w, KindGranted, GrantedReason, fmt.Sprintf("Queue <%s> grants %s: Karmada may choose clusters now", grant.Queue, amounts(grant)))
}

// GrowthGranted is the decision about a workload whose grant was raised. W has the previous grant.
func GrowthGranted(w *framework.Workload, grant *binding.Grant) Decision {
	return normal(w, KindGrowthGranted, GrowthGrantedReason, fmt.Sprintf("Queue <%s> grants the growth: %s instead of %s", grant.Queue, amounts(grant), amounts(w.State.Grant)))
}

// Shrunk is the decision about a workload whose grant was lowered. W has the previous grant.
func Shrunk(w *framework.Workload, grant *binding.Grant) Decision {
	return normal(w, KindShrunk, ShrunkReason, fmt.Sprintf("Queue <%s> is charged %s instead of %s, because the workload needs less", grant.Queue, amounts(grant), amounts(w.State.Grant)))
}

// Exceeds is the decision about a workload that runs more than its grant and is charged for it. W has the previous grant.
func Exceeds(w *framework.Workload, grant *binding.Grant) Decision {
	return warning(w, KindAdopted, GrantExceededReason, fmt.Sprintf(
		"Queue <%s> is charged %s instead of %s, whether it has room or not, because the workload goes to more clusters than before, or it has grown and the dispatcher's webhook was not asked",
		grant.Queue, amounts(grant), amounts(w.State.Grant)))
}

// Moves is the decision about a workload that begins to leave clusters, and is charged for them, too. Charged has what it is charged.
func Moves(w *framework.Workload, charged *binding.Grant) Decision {
	return warning(w, KindAdopted, GrantExceededReason, fmt.Sprintf("Queue <%s> is charged %s instead of %s, whether it has room or not, until the workload has left %s",
		charged.Queue, amounts(charged), amounts(w.State.Grant), strings.Join(w.Leaves(), ", ")))
}

// Adopted is the decision about a workload that was never held. It is charged even if its queue has no room.
func Adopted(w *framework.Workload, grant *binding.Grant) Decision {
	return normal(w, KindAdopted, AdoptedReason, fmt.Sprintf(
		"Queue <%s> is charged %s, whether it has room or not, because ResourceBinding %s was never held: it is older than the dispatcher, or its webhook was not asked",
		grant.Queue, amounts(grant), w.Name()))
}

// TakenBack is the decision about a workload whose grant ends because no cluster accepted it in time.
func TakenBack(w *framework.Workload, requeue *binding.Requeue) Decision {
	return warning(w, KindTakenBack, TakenBackReason, fmt.Sprintf(
		"Queue <%s> takes back %s, because the grant was in vain: %s. The workload waits again, and is not tried before %s",
		w.Queue, amounts(w.State.Grant), requeue.Reason, at(requeue.NotBefore.Time)))
}

// Reclaimed is the decision about a workload whose grant ends because another queue deserves its room.
func Reclaimed(w, starts *framework.Workload) Decision {
	return normal(w, KindReclaimed, ReclaimedReason, fmt.Sprintf(
		"Queue <%s> loses %s, because queue <%s> takes back what it deserves for %s. The workload is removed from its clusters and waits again. To keep more, raise deserved of queue <%s>",
		w.Queue, amounts(w.State.Grant), starts.Queue, object(starts), w.Queue))
}

// Returned is the decision about a workload that has ended everywhere after its grant was taken back.
func Returned(w *framework.Workload) Decision {
	return normal(w, KindReturned, ReturnedReason, fmt.Sprintf("Queue <%s> has %s back, because nothing of the workload runs any more: it waits again", w.Queue, amounts(w.State.Grant)))
}

// maxListed bounds the amounts that a message lists.
const maxListed = 5

// amounts formats the amounts of a grant.
func amounts(grant *binding.Grant) string {
	if grant == nil || len(grant.Amounts) == 0 {
		return "nothing"
	}
	var all []string
	for i, a := range grant.Amounts {
		if i == maxListed {
			all = append(all, fmt.Sprintf("and %d more", len(grant.Amounts)-i))
			break
		}
		all = append(all, fmt.Sprintf("<%s> of %s", a.Dimension.Format(a.Amount), a.Dimension))
	}
	return strings.Join(all, ", ")
}
