// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
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

// NameIn returns the part of a ClaimNote that identifies the name.
func NameIn(note string) string { return note[:min(lengthOfName, len(note))] }

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

// Given returns notes of the claims and claim templates that pods of a workload may have been given. The grant notes them. Those of the latest
// changes may be noted by their names only.
func (s *State) Given() []string {
	var notes []string
	if s.Grant != nil {
		notes = s.Grant.Given
	}
	if s.Change != nil {
		notes = AddGiven(notes, s.Change.Given)
	}
	return notes
}

// GivesOther reports whether a new claim or claim template, given by its ClaimNote, takes the place of one that pods may name, and gives other
// devices. The answer is yes if it is unknown what the former one gave.
func (s *State) GivesOther(note string) bool {
	given := s.Given()
	return !slices.Contains(given, note) && names(given, NameIn(note))
}

// MayGiveOther is GivesOther for a binding. It does not parse the annotations, because each new claim asks for all bindings of its namespace. Users choose
// other texts in them.
func MayGiveOther(rb *workv1alpha2.ResourceBinding, note string) bool {
	has := func(part string) bool {
		return slices.ContainsFunc([]string{GrantAnnotation, ChangeAnnotation}, func(annotation string) bool {
			_, notes, _ := strings.Cut(rb.Annotations[annotation], `"given":[`) // in a text, the quotes are escaped
			notes, _, _ = strings.Cut(notes, "]")
			return strings.Contains(notes, part)
		})
	}
	return has(anyClaim) || has(NameIn(note)) && !has(note)
}

// Replaced reports whether a claim or claim template, given by its ClaimNote, has taken the place of one that gave other devices, as far as it is
// noted what that one gave.
func (s *State) Replaced(note string) bool {
	given := s.Given()
	return !slices.Contains(given, note) && slices.ContainsFunc(given, func(other string) bool {
		return len(other) > lengthOfName && strings.HasPrefix(other, NameIn(note))
	})
}

// Unnoted returns notes of the names of claims and claim templates that a pod names, apart from those that a grant notes, whatever they give.
func (g *Grant) Unnoted(claims []corev1.PodResourceClaim) (notes []string) {
	for i := range claims {
		var name string
		switch claim := &claims[i]; {
		case claim.ResourceClaimName != nil:
			name = noteOfName(*claim.ResourceClaimName, false)
		case claim.ResourceClaimTemplateName != nil:
			name = noteOfName(*claim.ResourceClaimTemplateName, true)
		default:
			continue
		}
		if !names(g.Given, name) {
			notes = append(notes, name)
		}
	}
	return notes
}

// names reports whether some note has a name.
func names(notes []string, name string) bool {
	return slices.ContainsFunc(notes, func(given string) bool { return given == anyClaim || strings.HasPrefix(given, name) })
}
