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
	if len(s.unattributed) == 0 {
		return false
	}
	_, _, charged := s.Held().Payer(claim.Part)
	_, attributed := s.payer(claim)
	return charged && !attributed
}

// RefuseJoin refuses a pod that would inherit claims if its queue may not have them, or if this queue, or a queue above it other than root, has no room
// for all that the pod asks for.
func (s *Snapshot) RefuseJoin(pod *demand.Pod) report.Refusal {
	var joined *demand.Claim
	asked := slices.Clone(pod.Checked)
	for _, claim := range pod.Claims {
		if !s.inherits(claim) {
			continue
		}
		if refusal := s.refuseUnlistedClaim(pod.Queue, claim); refusal != nil {
			return refusal
		}
		joined, asked = claim, append(asked, s.standIn(claim))
	}
	if joined == nil {
		return nil
	}
	for _, name := range s.Ledger.Path(pod.Queue) {
		if queue, _ := s.Ledger.Queue(name); queue != s.root() && !s.Held().FitsAlone(queue, asked) {
			return report.ClaimBusy{Claim: joined.Object.Namespace + "/" + joined.Object.Name, Why: fmt.Sprintf(
				"is in use, and nobody knows for which queue: this pod can have it when queue <%s> has room for all claims of the pod, or when the claim is not used any more", name)}
		}
	}
	return nil
}

// standIn returns a part with the amounts of a claim. It keeps room in a queue that does not pay for the claim itself yet.
func (s *Snapshot) standIn(claim *demand.Claim) *ledger.Part {
	twin := claim.Part.Twin()
	return &twin
}
