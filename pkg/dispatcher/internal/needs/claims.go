// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Annotations that users write for the dispatcher.
const (
	// MaxDevicesAnnotation on a ResourceClaimTemplate or ResourceClaim is how many devices a request with allocation mode All
	// gets at most. Only a member cluster knows how many there are.
	MaxDevicesAnnotation = "volcano.sh/max-devices"
)

// devicesOf returns the devices that a pod gets. The pods of a workload share the claims that they name, so these claims are added
// to the sums of the workload instead.
func (w *counting) devicesOf(set *workload.PodSet, spec *corev1.PodSpec) (ledger.Amounts, error) {
	amounts, err := w.extended(spec)
	if err != nil {
		return nil, err
	}
	for i := range spec.ResourceClaims {
		switch ref := &spec.ResourceClaims[i]; {
		case ref.ResourceClaimTemplateName != nil:
			var claim ledger.Amounts
			if claim, err = w.fromTemplate(*ref.ResourceClaimTemplateName); err == nil {
				amounts, err = amounts.PlusAll(claim)
			}
		case ref.ResourceClaimName != nil:
			err = w.addNamed(*ref.ResourceClaimName, set.Minimum)
		}
		if err != nil {
			return nil, err
		}
	}
	return amounts, nil
}

// fromTemplate returns the devices of a claim from a template. It caches the result, because a pod may name a template many times.
func (w *counting) fromTemplate(name string) (ledger.Amounts, error) {
	if amounts, counted := w.templates[name]; counted {
		return amounts, nil
	}
	if err := demand.CheckNamed(len(w.named), len(w.templates)+1); err != nil {
		return nil, err
	}
	template, err := dra.TemplateNamed(w.template.Namespace, name, w)
	if err != nil {
		return nil, err
	}
	amounts, err := w.mostOf("ResourceClaimTemplate", template, &template.Spec.Spec)
	if err == nil {
		w.templates[name] = amounts
	}
	return amounts, err
}

// addNamed adds a claim that pods name, once for each cluster, because each cluster has its own claim.
func (w *counting) addNamed(name string, minimum int64) error {
	if w.named[name] {
		return nil
	}
	w.named[name] = true
	if err := demand.CheckNamed(len(w.named), len(w.templates)); err != nil {
		return err
	}
	claim, err := dra.ClaimNamed(w.template.Namespace, name, w)
	if err != nil {
		return err
	}
	amounts, err := w.mostOf("ResourceClaim", claim, &claim.Spec)
	if err == nil {
		err = w.add(amounts, min(minimum, w.clusters), w.clusters)
	}
	return err
}

// mostOfClaim returns the maximum that a claim may get. object names it in errors.
func (w *counting) mostOfClaim(object string, annotations map[string]string, spec *resourceapi.ResourceClaimSpec) (ledger.Amounts, error) {
	usage, err := w.usage(annotations, spec)
	if err == nil {
		if err := dra.CheckClasses(object, &usage, w.catalog); err != nil {
			return nil, err
		}
		w.noteUnnamed(&usage)
	}
	var amounts ledger.Amounts
	if err == nil {
		amounts, err = w.counter.Claims.Most(usage)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object, err)
	}
	return amounts, nil
}

// usage returns the usage of a claim. For a request for all devices, the annotation states their number.
func (w *counting) usage(annotations map[string]string, spec *resourceapi.ResourceClaimSpec) (dra.Usage, error) {
	bounded := spec.DeepCopy()
	for i := range bounded.Devices.Requests {
		request := &bounded.Devices.Requests[i]
		var err error
		if exactly := request.Exactly; exactly != nil && (exactly.AdminAccess == nil || !*exactly.AdminAccess) {
			err = bound(annotations, &exactly.AllocationMode, &exactly.Count)
		}
		for j := range request.FirstAvailable {
			if err == nil {
				err = bound(annotations, &request.FirstAvailable[j].AllocationMode, &request.FirstAvailable[j].Count)
			}
		}
		if err != nil {
			return dra.Usage{}, fmt.Errorf("request %s: %w", request.Name, err)
		}
	}
	return dra.Requested(bounded)
}

func bound(annotations map[string]string, mode *resourceapi.DeviceAllocationMode, count *int64) error {
	if *mode != resourceapi.DeviceAllocationModeAll {
		return nil
	}
	text, declared := annotations[MaxDevicesAnnotation]
	if !declared {
		return fmt.Errorf("it asks for all devices, and nobody knows here how many a member cluster has: write the most that a pod may get into the annotation %s, such as %s: \"8\"",
			MaxDevicesAnnotation, MaxDevicesAnnotation)
	}
	most, err := strconv.ParseInt(text, 10, 64)
	if err != nil || most <= 0 {
		return fmt.Errorf("the annotation %s is %q: write a whole number of devices, such as \"8\"", MaxDevicesAnnotation, text)
	}
	*mode, *count = resourceapi.DeviceAllocationModeExactCount, most
	return nil
}

// noteUnnamed notes limited capacities for which devices state no amount. Only a member cluster knows the capacity of its devices.
func (w *counting) noteUnnamed(usage *dra.Usage) {
	for _, devices := range append([][]dra.Devices{usage.Devices}, usage.Choices...) {
		for i := range devices {
			d := &devices[i]
			for _, o := range w.counter.Dimensions.Capacities(d.Class) {
				if !w.lists(o) {
					continue
				}
				name := w.counter.Dimensions.Dimension(o).Capacity
				if _, named := d.CapacityNamed(name, w.catalog); !named {
					w.addUnnamed(o)
				}
			}
		}
	}
}

func (w *counting) addUnnamed(o ledger.Ordinal) {
	if !slices.Contains(w.unnamed, o) {
		w.unnamed = append(w.unnamed, o)
	}
}

// extended returns the devices that DRA would allocate for extended resources of containers (KEP-5004). The pod is also charged for the
// resources themselves, because device plugins may serve them in another cluster.
func (w *counting) extended(spec *corev1.PodSpec) (ledger.Amounts, error) {
	offers := func(name corev1.ResourceName) string {
		class, _ := w.catalog.Extended(name)
		return class
	}
	usage, err := dra.ExtendedUsage(spec, dra.ExtendedRequests(spec, offers), offers)
	if err != nil || len(usage.Devices) == 0 {
		return nil, err
	}
	w.noteUnnamed(&usage)
	return w.counter.Claims.Most(usage)
}
