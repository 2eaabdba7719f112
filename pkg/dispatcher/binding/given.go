// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxGiven bounds how many claims and claim templates a grant notes. Users may name any number, and change the names any number of times.
const MaxGiven = 500

// anyClaim stands for more claims and claim templates than a grant notes.
const anyClaim = "*"

// ClaimNote identifies a *resourceapi.ResourceClaim or *resourceapi.ResourceClaimTemplate by its name and by the devices that it gives. Users
// could find two contents with the same note if it were shorter.
func ClaimNote(claim metav1.Object) string {
	var content any
	switch o := claim.(type) {
	case *resourceapi.ResourceClaim:
		content = o.Spec
	case *resourceapi.ResourceClaimTemplate:
		content = o.Spec.Spec
	}
	text, err := json.Marshal(content)
	if err != nil {
		return anyClaim // the types have only fields that JSON supports
	}
	sum := sha256.Sum256(text)
	_, isTemplate := claim.(*resourceapi.ResourceClaimTemplate)
	return noteOfName(claim.GetName(), isTemplate) + hex.EncodeToString(sum[:16])
}

// lengthOfName is the length of the part of a ClaimNote that identifies the name.
const lengthOfName = 16

// noteOfName is the part of a ClaimNote that identifies the name.
func noteOfName(name string, isTemplate bool) string {
	kind := "claim "
	if isTemplate {
		kind = "template "
	}
	sum := sha256.Sum256([]byte(kind + name))
	return hex.EncodeToString(sum[:lengthOfName/2])
}

// AddGiven returns sorted notes of claims with others. If they are too many, the result stands for any claim.
func AddGiven(notes, others []string) []string {
	noted := func(note string) bool { _, is := slices.BinarySearch(notes, note); return is }
	if noted(anyClaim) || !slices.ContainsFunc(others, func(note string) bool { return !noted(note) }) {
		return notes // each cycle asks
	}
	all := slices.Concat(notes, others)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > MaxGiven || slices.Contains(all, anyClaim) {
		return []string{anyClaim}
	}
	return all
}

// GivesOther reports whether a new claim or claim template, given by its ClaimNote, takes the place of one that pods may name, and gives other
// devices.
func (g *Grant) GivesOther(note string) bool {
	return !slices.Contains(g.Given, note) && g.notes(note[:min(lengthOfName, len(note))])
}

// Notes reports whether a grant notes all claims and claim templates that a pod names, whatever they give.
func (g *Grant) Notes(claims []corev1.PodResourceClaim) bool {
	return !slices.ContainsFunc(claims, func(claim corev1.PodResourceClaim) bool {
		return claim.ResourceClaimName != nil && !g.notes(noteOfName(*claim.ResourceClaimName, false)) ||
			claim.ResourceClaimTemplateName != nil && !g.notes(noteOfName(*claim.ResourceClaimTemplateName, true))
	})
}

// notes reports whether a grant has a note of a name.
func (g *Grant) notes(name string) bool {
	return slices.ContainsFunc(g.Given, func(given string) bool { return given == anyClaim || strings.HasPrefix(given, name) })
}
