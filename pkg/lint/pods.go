// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/demand/requests"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// annotations are the annotations of workloads that the scheduler reads.
var annotations = []string{card.NameAnnotation, card.RequestAnnotation, schedulingv1beta1.QueueNameAnnotationKey}

// checkPods finds mistakes in single pods: their cards, their gates, and the scheduler of pods that ask for devices.
func (w *world) checkPods(work *work) {
	for i := range work.template.Pods {
		template, path := work.template.Pods[i].Template, work.podPath(i)
		if len(template.Spec.SchedulingGates) > 0 {
			w.add(PodGated, work.ref, path.At("spec", "schedulingGates"),
				fmt.Sprintf("Its pods have the scheduling gate %s, and wait until somebody removes it", template.Spec.SchedulingGates[0].Name))
		}
		// A separate set of dimensions: names that a pod invents are not dimensions of the ledger.
		spec := demand.Defaulted(&template.Spec)
		cards, err := demand.CardsOf(template.Annotations, spec, nil, w.fleet, &ledger.Dimensions{})
		var unknown *demand.UnknownCardError
		switch field := path.At("metadata", "annotations", card.NameAnnotation); {
		case errors.As(err, &unknown) && w.Known[Nodes] && !w.namesClassCard(template.Annotations[card.NameAnnotation]):
			w.add(CardOfNoNode, work.ref, field, refusals.Uncountable(err))
		case err != nil && unknown == nil:
			w.add(refusals.TaskRequestFailedReason, work.ref, field, refusals.Uncountable(err))
		}
		asks := cards != nil && len(cards.Requests) > 0 || len(spec.ResourceClaims) > 0 || w.asksByResource(spec)
		if asks && work.template.Queue == "" && !work.template.ForVolcano {
			w.add(PastQuota, work.ref, path.At("spec", "schedulerName"),
				"Its pods ask for devices or cards and do not name Volcano's scheduler, so that they get them past every quota: set schedulerName to volcano, and name a queue")
		}
	}
}

// asksByResource reports whether pods ask for devices of a DeviceClass by the name of a resource.
func (w *world) asksByResource(spec *corev1.PodSpec) bool {
	for name, quantity := range requests.OfPod(&corev1.Pod{Spec: *spec}) {
		_, extended := w.catalog.Extended(name)
		if quantity.Sign() > 0 && (extended || strings.HasPrefix(string(name), resourceapi.ResourceDeviceClassPrefix)) {
			return true
		}
	}
	return false
}

// namesClassCard reports whether a DeviceClass has one of the cards.
func (w *world) namesClassCard(text string) bool {
	return slices.ContainsFunc(strings.Split(text, "|"), w.catalog.HasCard)
}

// checkAnnotations finds annotations of workloads and pods with nearly correct names.
func (w *world) checkAnnotations(work *work) {
	w.findAnnotations(work, nil, work.object.GetAnnotations())
	for i := range work.template.Pods {
		if path := work.podPath(i); len(path) > 0 {
			w.findAnnotations(work, path, work.template.Pods[i].Template.Annotations)
		}
	}
}

func (w *world) findAnnotations(work *work, path Path, all map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if meant := quota.Meant(key, annotations); meant != "" {
			w.add(UnknownWorkloadAnnotation, work.ref, path.At("metadata", "annotations", key), fmt.Sprintf("The annotation %s has no effect: rename it to %s if that is meant", key, meant))
		} else if slices.Contains(quota.CardAnnotations[:], key) {
			w.add(UnknownWorkloadAnnotation, work.ref, path.At("metadata", "annotations", key), fmt.Sprintf("The annotation %s has no effect here: it belongs to queues; a job lists cards in %s", key, card.RequestAnnotation))
		}
	}
}

// checkPriorityClasses finds names of PriorityClasses that do not exist. The API server refuses pods with an unknown PriorityClass.
func (w *world) checkPriorityClasses(work *work) {
	if !w.Known[PriorityClasses] {
		return
	}
	named := map[string]Path{work.template.PriorityClass: {"spec", "priorityClassName"}}
	for i := range work.template.Pods {
		named[work.template.Pods[i].Template.Spec.PriorityClassName] = work.podPath(i).At("spec", "priorityClassName")
	}
	for _, class := range slices.Sorted(maps.Keys(named)) {
		exists := func(known *schedulingv1.PriorityClass) bool { return known.Name == class }
		if class == "" || strings.HasPrefix(class, "system-") || slices.ContainsFunc(w.PriorityClasses, exists) {
			continue
		}
		w.add(PriorityClassMissing, work.ref, named[class], fmt.Sprintf("PriorityClass %s does not exist, so that the API server refuses the pods: create it, or correct the name", class))
	}
}

// At returns a deeper path.
func (p Path) At(segments ...string) Path { return append(slices.Clip(p), segments...) }
