// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dra"
)

// claimsRead has the claims and claim templates that were read to count a workload. A later round can check whether they are still the
// same objects. An object that did not exist is nil.
type claimsRead struct {
	claims    []read[resourceapi.ResourceClaim]
	templates []read[resourceapi.ResourceClaimTemplate]
}

type read[T any] struct {
	namespace, name string
	object          *T
}

// current reports whether the objects give the same as when they were read.
func (r *claimsRead) current(reader dra.ClaimReader) bool {
	for _, claim := range r.claims {
		if object, _ := reader.Claim(claim.namespace, claim.name); !givesSame(object, claim.object) {
			return false
		}
	}
	for _, template := range r.templates {
		if object, _ := reader.ClaimTemplate(template.namespace, template.name); !givesSame(object, template.object) {
			return false
		}
	}
	return true
}

// givesSame reports whether two claims or claim templates, or none, give the same: specs do not change. Users change labels at any time, and may have hundreds
// of jobs of a thousand tasks that would be counted anew.
func givesSame[T any, P interface {
	*T
	metav1.Object
}](a, b P) bool {
	return a == b || a != nil && b != nil && a.GetUID() != "" && a.GetUID() == b.GetUID() && a.GetAnnotations()[MaxDevicesAnnotation] == b.GetAnnotations()[MaxDevicesAnnotation]
}

// found returns the objects that exist.
func (r *claimsRead) found() (all []framework.ClaimRead) {
	for _, claim := range r.claims {
		if o := claim.object; o != nil {
			all = append(all, framework.ClaimRead{Name: o.Name, UID: o.UID, Most: o.Annotations[MaxDevicesAnnotation]})
		}
	}
	for _, template := range r.templates {
		if o := template.object; o != nil {
			all = append(all, framework.ClaimRead{IsTemplate: true, Name: o.Name, UID: o.UID, Most: o.Annotations[MaxDevicesAnnotation]})
		}
	}
	return all
}

// identity identifies objects of a namespace.
func identity(namespace string, found []framework.ClaimRead) string {
	var all []string
	for _, o := range found {
		kind := "claim"
		if o.IsTemplate {
			kind = "template"
		}
		all = append(all, fmt.Sprintf("%s %s/%s %s %s", kind, namespace, o.Name, o.UID, o.Most))
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(all), "\n")))
	return hex.EncodeToString(sum[:16])
}

// given returns notes of the objects. It makes no more than a grant may have, and one.
func (r *claimsRead) given(note func(metav1.Object) string) (notes []string) {
	for _, claim := range r.claims[:min(len(r.claims), binding.MaxGiven+1)] {
		if claim.object != nil {
			notes = append(notes, note(claim.object))
		}
	}
	for _, template := range r.templates[:min(len(r.templates), binding.MaxGiven+1)] {
		if template.object != nil {
			notes = append(notes, note(template.object))
		}
	}
	return binding.AddGiven(nil, notes)
}

// Claim implements dra.ClaimReader.
func (w *counting) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	object, err := w.reader.Claim(namespace, name)
	w.read.claims = append(w.read.claims, read[resourceapi.ResourceClaim]{namespace, name, object})
	return object, err
}

// ClaimTemplate implements dra.ClaimReader.
func (w *counting) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	object, err := w.reader.ClaimTemplate(namespace, name)
	w.read.templates = append(w.read.templates, read[resourceapi.ResourceClaimTemplate]{namespace, name, object})
	return object, err
}

// ExtendedClaim implements dra.ClaimReader. Templates of workloads have no such claim, so it records no read.
func (w *counting) ExtendedClaim(pod *corev1.Pod) *resourceapi.ResourceClaim {
	return w.reader.ExtendedClaim(pod)
}

// LostClaims implements dra.ClaimReader. Templates of workloads are not running pods.
func (w *counting) LostClaims(pod types.UID) []*resourceapi.ResourceClaim {
	return w.reader.LostClaims(pod)
}

// readOthers reads the claims and claim templates that the count of a workload has not come to because of an error. The grant must note them, too: their user
// can replace one, and keep the workload from being counted by another one.
func (w *counting) readOthers() {
	read := map[string]bool{}
	for i := range w.template.Pods {
		set := &w.template.Pods[i]
		if !w.mayExist(set) {
			continue
		}
		for j := range set.Template.Spec.ResourceClaims {
			claim, template := set.Template.Spec.ResourceClaims[j].ResourceClaimName, set.Template.Spec.ResourceClaims[j].ResourceClaimTemplateName
			name := "template " + ptr.Deref(template, "")
			if claim != nil {
				name = "claim " + *claim
			}
			if len(read) > binding.MaxGiven || read[name] {
				continue
			}
			switch read[name] = true; {
			case claim != nil:
				_, _ = w.Claim(w.template.Namespace, *claim) // it is noted if it is there
			case template != nil:
				_, _ = w.ClaimTemplate(w.template.Namespace, *template)
			}
		}
	}
}
