// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/dra"
)

// resolved is what the references to claims in the spec of a pod led to when they were last followed. Thousands of pods may share hundreds of
// claims, so the references are followed again only when a claim has changed. Each claim is compared once in a round, for all pods.
type resolved struct {
	// counted and err are the result.
	counted []*Claim
	err     error
	// read has every claim that was read, including those that cannot be counted. missing says that a claim could not be read: there is no
	// object that shows when it can be.
	read    []*Claim
	missing bool
	// round is zero if the references were never followed.
	round   uint64
	catalog *dra.Catalog
}

// current reports whether following the references of a pod would lead to the same result again.
func (cs *Claims) current(last *resolved, pod *corev1.Pod, reader dra.ClaimReader) bool {
	if last.round == 0 || last.missing || last.catalog != cs.catalog || len(reader.LostClaims(pod.UID)) > 0 {
		return false
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
		object, err := dra.ClaimOf(pod, &pod.Spec.ResourceClaims[i], reader)
		to.missing = to.missing || object == nil && err != nil
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
