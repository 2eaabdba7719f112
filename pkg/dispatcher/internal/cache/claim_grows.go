// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// GrowsWith returns a workload that would exceed its grant with a given *resourceapi.ResourceClaim or *resourceapi.ResourceClaimTemplate
// that it names: new pods would get more devices than the queue has granted. It returns nil if there is none. The error says why
// a workload cannot be counted. Workloads without a grant are counted when they are granted room, and those that have ended are charged nothing.
//
// A new object may also take the place of one that is gone and that a workload was granted room with. If the new one gives other devices,
// the error is framework.ErrOtherDevices: pods of a former template may name it, and so may what clusters have of a workload that is held.
func (c *Cache) GrowsWith(given metav1.Object, isNew bool) (*workload.Template, []binding.Amount, error) {
	turn, err := c.ofClaims.share(given.GetNamespace())
	if err != nil {
		return nil, nil, err
	}
	defer turn.end()
	bindings, err := c.bindings.ResourceBindings(given.GetNamespace()).List(labels.Everything())
	if err != nil {
		return nil, nil, err
	}
	if grows, more, err := c.growsWith(turn, bindings, given, isNew); grows != nil || err != nil || !isNew {
		return grows, more, err
	}
	note := binding.ClaimNote(given)
	for _, rb := range bindings {
		if !binding.MayGiveOther(rb, note) {
			continue
		}
		state := binding.Read(rb, c.worksOf(rb))
		if state.Grant != nil && !state.Deleting && !state.Finished && state.GivesOther(note) {
			return workload.WithoutPods(rb), nil, framework.ErrOtherDevices
		}
	}
	return nil, nil, nil
}

// growsWith is GrowsWith for what workloads name now.
func (c *Cache) growsWith(turn *shared, bindings []*workv1alpha2.ResourceBinding, given metav1.Object, isNew bool) (grows *workload.Template, more []binding.Amount, err error) {
	type user struct {
		binding  *workv1alpha2.ResourceBinding
		template *workload.Template
	}
	var users []user
	for _, rb := range bindings {
		if rb.Annotations[binding.GrantAnnotation] == "" {
			continue
		}
		turn.next()
		object, _, err := c.objects.shown(&rb.Spec.Resource)
		if err != nil || object == nil {
			continue // it is unknown what its pods name
		}
		template, err := workload.Of(object, c.config.SchedulerNames)
		if err == nil && template != nil && usesClaim(template, given) {
			users = append(users, user{rb, template})
		}
	}
	for len(users) > 0 && grows == nil && err == nil {
		turn.next()
		err = c.ofClaims.inTurn(with{c.claimReader(), given}, func(r *request) (err error) {
			for first := true; len(users) > 0 && (first || !turn.isOver()); first = false {
				u := users[0]
				users = users[1:]
				state := binding.Read(u.binding, c.worksOf(u.binding))
				if state.Finished || isNew && waitsFor(&state) {
					continue
				}
				if more, err = r.exceeds(u.template, u.binding, state.Grant); err != nil || len(more) > 0 {
					grows = u.template
					return err
				}
			}
			return nil
		})
	}
	return grows, more, err
}

// waitsFor reports whether a workload that grows is held, so that clusters do not see what it names now: it waits until that is there, and until there is
// room for it. Its grant notes what clusters have, unless its hold says that it was held before the next cycle could note that. Older versions noted nothing.
func waitsFor(state *binding.State) bool {
	return state.Grant != nil && state.Hold.Hides() && state.Hold.Reason == binding.Growing && !state.Hold.Unnoted && (len(state.Grant.Given) > 0 || state.Grant.Claims == "")
}

// usesClaim reports whether pods of a workload name a given claim or claim template.
func usesClaim(template *workload.Template, given metav1.Object) bool {
	_, isTemplate := given.(*resourceapi.ResourceClaimTemplate)
	return slices.ContainsFunc(template.Pods, func(set workload.PodSet) bool {
		return set.Template != nil && slices.ContainsFunc(set.Template.Spec.ResourceClaims, func(claim corev1.PodResourceClaim) bool {
			if isTemplate {
				return ptr.Deref(claim.ResourceClaimTemplateName, "") == given.GetName()
			}
			return ptr.Deref(claim.ResourceClaimName, "") == given.GetName()
		})
	})
}

// with is a claimReader with one object that replaces the one in the informers.
type with struct {
	claimReader
	given metav1.Object
}

func (w with) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	if claim, is := w.given.(*resourceapi.ResourceClaim); is && claim.Namespace == namespace && claim.Name == name {
		return claim, nil
	}
	return w.claimReader.Claim(namespace, name)
}

func (w with) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	if template, is := w.given.(*resourceapi.ResourceClaimTemplate); is && template.Namespace == namespace && template.Name == name {
		return template, nil
	}
	return w.claimReader.ClaimTemplate(namespace, name)
}
