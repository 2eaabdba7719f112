// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"slices"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// inherits reports whether a pod that gets a claim makes its queue pay for it. Root pays for the claim in the place of an unknown queue, for example
// for a pod of another scheduler. From the next session on, the first queue that is known pays.
func (s *Snapshot) inherits(claim *demand.Claim) bool {
	return s.unknownPayer[claim] && s.ChargedOrReleasing(claim)
}

// RefuseJoin refuses a pod that would inherit claims if its queue may not have them, or if this queue, or a queue above it other than root, has no room
// for all that the pod asks for. The queues are those of books. It changes nothing: nodes are filtered in parallel.
func (s *Snapshot) RefuseJoin(books *ledger.Ledger, pod *demand.Pod, asks ledger.Demand) report.Refusal {
	var joined *demand.Claim
	asked := slices.Clip(asks)
	for _, claim := range pod.Claims {
		if !s.inherits(claim) {
			continue
		}
		if refusal := s.refuseUnlistedClaim(pod.Queue, claim); refusal != nil {
			return refusal
		}
		joined, asked = claim, append(asked, s.Ledger.StandIn(pod.Queue, claim.Part))
	}
	if joined == nil {
		return nil
	}
	for _, name := range s.Ledger.Path(pod.Queue) {
		if queue, _ := s.Ledger.Queue(name); queue != s.root() && !books.FitsAlone(queue, asked) {
			return report.ClaimBusy{Claim: joined.Object.Namespace + "/" + joined.Object.Name, Why: fmt.Sprintf(
				"is in use, and nobody knows for which queue: this pod can have it when queue <%s> has room for all claims of the pod, or when the claim is not used any more", name)}
		}
	}
	return nil
}
