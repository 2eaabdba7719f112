// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// resolved is what the references to claims in the spec of a pod led to when they were last followed. Thousands of pods may share hundreds of
// claims, so the references are followed again only when a claim has changed. Each claim is compared once in a round, for all pods.
type resolved struct {
	// counted and err are the result.
	counted []*Claim
	err     error
	// read has every claim that was read, including those that cannot be counted.
	read []*Claim
	// missing is the first entry of pod.spec.resourceClaims whose claim does not exist, and why says so. It is nil if there is none.
	missing *corev1.PodResourceClaim
	why     string
	// awaited is the least demand of the claims that are not created from their templates yet.
	awaited ledger.Amounts
	// round is zero if the references were never followed.
	round   uint64
	catalog *dra.Catalog
}

// current reports whether following the references of a pod would lead to the same result again. A pod without a node gets none while a claim
// is missing. Therefore, only the first missing claim is looked for: a pod may name many, and many pods may do so.
func (cs *Claims) current(last *resolved, pod *corev1.Pod, reader dra.ClaimReader) bool {
	if last.round == 0 || last.catalog != cs.catalog || len(reader.LostClaims(pod.UID)) > 0 {
		return false
	}
	if last.missing != nil {
		if object, err := dra.ClaimOf(pod, last.missing, reader); dra.Bound(pod) || object != nil || err == nil || err.Error() != last.why {
			return false
		}
	}
	return !slices.ContainsFunc(last.read, func(c *Claim) bool { return cs.changedAfter(last.round, c, reader) })
}

// changedAfter reports whether the demand of a claim has changed after a round, or may have.
func (cs *Claims) changedAfter(round uint64, c *Claim, reader dra.ClaimReader) bool {
	if c.compared != cs.round {
		c.compared = cs.round
		if object, _ := reader.Claim(c.Object.Namespace, c.Object.Name); object != c.Object || cs.Of(object) != c {
			c.changed = cs.round
		}
	}
	return c.changed > round
}

// resolve follows the references in the spec of a pod.
func (cs *Claims) resolve(to *resolved, pod *corev1.Pod, reader dra.ClaimReader) {
	*to = resolved{round: cs.round, catalog: cs.catalog}
	for i := range pod.Spec.ResourceClaims {
		ref := &pod.Spec.ResourceClaims[i]
		object, err := dra.ClaimOf(pod, ref, reader)
		if object == nil && err != nil {
			cs.miss(to, pod, ref, reader, err)
		}
		claim, err := cs.checked(object, err)
		to.err = cmp.Or(to.err, err)
		if object != nil {
			to.read = append(to.read, cs.Of(object))
		}
		if claim != nil && !slices.Contains(to.counted, claim) {
			to.counted = append(to.counted, claim)
		}
	}
}

// miss notes that the claim of an entry does not exist.
func (cs *Claims) miss(to *resolved, pod *corev1.Pod, ref *corev1.PodResourceClaim, reader dra.ClaimReader, err error) {
	if to.missing == nil {
		to.missing, to.why = ref, err.Error()
	}
	if !errors.As(err, new(*dra.NotCreatedError)) {
		return
	}
	if each, _, err := cs.ofTemplate(pod.Namespace, *ref.ResourceClaimTemplateName, reader); err == nil {
		to.awaited = Sum(to.awaited, each)
	}
}
