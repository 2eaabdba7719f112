// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"crypto/sha256"
	"encoding/binary"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// signature is a hash of the inputs of a search that differ between pods: the queue, the requests of unallocated claims, and the other charges
// of the pod. With all other inputs equal, searches for pods with the same signature have the same result.
type signature [sha256.Size]byte

// digest is a hash of a claim's request.
type digest [sha256.Size]byte

// digests has the digests of claims that this session and the previous one asked for. It is not safe for concurrent use.
type digests struct {
	now, before map[*resourceapi.ResourceClaim]digest
}

func (d *digests) open() { d.now, d.before = map[*resourceapi.ResourceClaim]digest{}, d.now }

// of returns the digest of a claim, false if there is none.
func (d *digests) of(claim *resourceapi.ResourceClaim) (digest, bool) {
	known, found := d.now[claim]
	if !found {
		known, found = d.before[claim]
	}
	if !found {
		text, err := claim.Spec.Marshal()
		if err != nil {
			return digest{}, false
		}
		known = sha256.Sum256(text)
	}
	d.now[claim] = known
	return known, true
}

// alike returns a digest of claims. It is nil if there is none.
func (d *digests) alike(claims []*demand.Claim) *digest {
	var all []byte
	for _, claim := range claims {
		known, found := d.of(claim.Object)
		if !found {
			return nil
		}
		all = append(all, known[:]...)
	}
	sum := digest(sha256.Sum256(all))
	return &sum
}

// sign returns the signature of a pod.
func (m *memory) sign(state *State) signature {
	pod := state.pod
	all := appendText(nil, state.books.Name(pod.Queue))
	for _, claim := range state.unallocated {
		known, found := m.signed.of(claim.Object)
		if !found || dra.IsExtended(claim.Object) {
			all = appendText(all, string(pod.Object.UID)) // it depends on the containers, too
		}
		all = append(all, known[:]...)
	}
	all = appendDemand(all, pod.Checked)
	if pod.Cards != nil || len(state.allocated) > 0 {
		all = appendText(all, string(pod.Object.UID))
	}
	return sha256.Sum256(all)
}

// Sign appends what decides whether a node has the devices of a pod that needs some, and which ones it gets there. The result is false if this depends on
// other nodes, or on devices that the pod has already.
func (s *Session) Sign(to []byte, state *State) ([]byte, bool) {
	if len(state.allocated) > 0 || s.Scores() || !s.Catalog.NodesShareNothing() {
		return nil, false
	}
	alike := s.memory.signed.alike(state.unallocated)
	if alike == nil {
		return nil, false
	}
	to = append(to, alike[:]...)
	if state.open {
		return appendDemand(appendText(to, state.books.Name(state.pod.Queue)), state.pod.Checked), true
	}
	return to, true
}

func appendText(to []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint64(to, uint64(len(text))), text...)
}

func appendDemand(to []byte, asked ledger.Demand) []byte {
	for _, part := range asked {
		to = appendAmounts(to, part.Amounts())
		for _, alternative := range part.Alternatives() {
			to = appendAmounts(to, alternative)
		}
	}
	return to
}

func appendAmounts(to []byte, amounts ledger.Amounts) []byte {
	to = binary.LittleEndian.AppendUint64(to, uint64(len(amounts)))
	for _, e := range amounts {
		to = binary.LittleEndian.AppendUint64(to, uint64(e.Dimension))
		to = e.Amount.Append(to)
	}
	return to
}
