// SPDX-License-Identifier: Apache-2.0

package needs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// world has the inputs of a counter.
type world struct {
	queues    []*schedulingv1beta1.Queue
	classes   []*resourceapi.DeviceClass
	templates map[string]*resourceapi.ResourceClaimTemplate
	claims    map[string]*resourceapi.ResourceClaim
}

type option func(*world)

func newWorld(options ...option) *world {
	w := &world{templates: map[string]*resourceapi.ResourceClaimTemplate{}, claims: map[string]*resourceapi.ResourceClaim{}}
	for _, o := range options {
		o(w)
	}
	return w
}

// Claim implements dra.ClaimReader.
func (w *world) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	if claim := w.claims[namespace+"/"+name]; claim != nil {
		return claim, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaims"}, name)
}

// ClaimTemplate implements dra.ClaimReader.
func (w *world) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	if template := w.templates[namespace+"/"+name]; template != nil {
		return template, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaimtemplates"}, name)
}

// ExtendedClaim implements dra.ClaimReader.
func (*world) ExtendedClaim(*corev1.Pod) *resourceapi.ResourceClaim { return nil }

// LostClaims implements dra.ClaimReader.
func (*world) LostClaims(types.UID) []*resourceapi.ResourceClaim { return nil }

func (w *world) inputs() needs.Inputs {
	return needs.Inputs{Queues: w.queues, Classes: w.classes, Claims: w}
}

// counted returns the result of one round for a workload.
func (w *world) counted(t *testing.T, template *workload.Template, spread framework.Spread) (*needs.Counter, framework.Needs, error) {
	t.Helper()
	counter := needs.New()
	counter.Begin(w.inputs())
	n := counter.Of(template, spread, nil)
	return counter, n.Needs, n.Err
}

// all returns the needs of a workload in one cluster, such as "cpu=2 pods=1".
func (w *world) all(t *testing.T, template *workload.Template) string {
	t.Helper()
	counter, n, err := w.counted(t, template, framework.Spread{Copies: 1})
	if err != nil {
		return "error: " + err.Error()
	}
	return textOf(counter, n)
}

// textOf formats the needs of a workload, and the capacities for which it states no amount.
func textOf(counter *needs.Counter, n framework.Needs) string {
	all := text(counter, n.All)
	for _, o := range n.Unnamed {
		all += " without " + counter.Dimensions().Dimension(o).String()
	}
	return all
}

func text(counter *needs.Counter, amounts ledger.Amounts) string {
	var words []string
	for _, e := range amounts {
		d := counter.Dimensions().Dimension(e.Dimension)
		words = append(words, fmt.Sprintf("%s=%s", d, d.Format(e.Amount)))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// queue returns a queue with limits of resources, such as "cpu=4".
func queue(name string, limits ...string) *schedulingv1beta1.Queue {
	q := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
	q.Spec.Capability = list(limits...)
	return q
}

func list(amounts ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for _, a := range amounts {
		name, quantity, _ := strings.Cut(a, "=")
		l[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return l
}

func limits(amounts ...string) option {
	return func(w *world) { w.queues = append(w.queues, queue("q", amounts...)) }
}

// cards adds a queue with a card quota.
func cards(quota string) option {
	return func(w *world) {
		q := queue(fmt.Sprintf("cards-%d", len(w.queues)))
		q.Annotations[schedulingv1beta1.CardQuotaAnnotation] = quota
		w.queues = append(w.queues, q)
	}
}

// capacity adds a queue that limits a capacity of a class.
func capacity(class, name, amount string) option {
	return func(w *world) {
		q := queue(fmt.Sprintf("capacity-%d", len(w.queues)))
		q.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: schedulingv1beta1.DeviceQuotas{
			class: {Count: 8, Capacity: schedulingv1beta1.DeviceCapacities{name: resource.MustParse(amount)}},
		}}
		w.queues = append(w.queues, q)
	}
}

func class(name string, change ...func(*resourceapi.DeviceClass)) option {
	c := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
	for _, f := range change {
		f(c)
	}
	return func(w *world) { w.classes = append(w.classes, c) }
}

func claimTemplate(name string, annotations map[string]string, requests ...resourceapi.DeviceRequest) option {
	return func(w *world) {
		t := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: annotations}}
		t.Spec.Spec.Devices.Requests = requests
		w.templates["ns/"+name] = t
	}
}

func namedClaim(name string, requests ...resourceapi.DeviceRequest) option {
	return func(w *world) {
		c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		c.Spec.Devices.Requests = requests
		w.claims["ns/"+name] = c
	}
}

func exactly(class string, count int64) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
	}}
}

func allOf(class string) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeAll,
	}}
}

func adminAccess(r resourceapi.DeviceRequest) resourceapi.DeviceRequest {
	is := true
	r.Exactly.AdminAccess = &is
	return r
}

func withMemory(r resourceapi.DeviceRequest, name, amount string) resourceapi.DeviceRequest {
	r.Exactly.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{
		resourceapi.QualifiedName(name): resource.MustParse(amount),
	}}
	return r
}

func firstAvailable(of ...resourceapi.DeviceRequest) resourceapi.DeviceRequest {
	r := resourceapi.DeviceRequest{Name: "gpu"}
	for i, alternative := range of {
		r.FirstAvailable = append(r.FirstAvailable, resourceapi.DeviceSubRequest{
			Name: fmt.Sprintf("a%d", i), DeviceClassName: alternative.Exactly.DeviceClassName,
			AllocationMode: alternative.Exactly.AllocationMode, Count: alternative.Exactly.Count,
		})
	}
	return r
}

// job returns a workload with sets of pods.
func job(sets ...workload.PodSet) *workload.Template {
	return &workload.Template{Kind: "Job", Namespace: "ns", Name: "j", Pods: sets}
}

// pods returns a number of pods with one container.
func pods(count int64, change ...func(*corev1.PodTemplateSpec)) workload.PodSet {
	template := &corev1.PodTemplateSpec{}
	template.Spec.Containers = []corev1.Container{{Name: "main"}}
	for _, f := range change {
		f(template)
	}
	return workload.PodSet{Count: count, Minimum: count, Template: template}
}

func requests(amounts ...string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Resources.Requests = list(amounts...) }
}

func onlyLimits(amounts ...string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Resources.Limits = list(amounts...) }
}

func overhead(amounts ...string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Spec.Overhead = list(amounts...) }
}

// ofPod gives the pod its own resources, in addition to the resources of its containers.
func ofPod(requests, limits string) func(*corev1.PodTemplateSpec) {
	amounts := func(text string) corev1.ResourceList {
		if text == "" {
			return nil
		}
		return list(strings.Split(text, ",")...)
	}
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts(requests), Limits: amounts(limits)}
	}
}

func initContainer(amounts ...string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		c := corev1.Container{Name: "init"}
		c.Resources.Requests = list(amounts...)
		t.Spec.InitContainers = append(t.Spec.InitContainers, c)
	}
}

func sidecar(amounts ...string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		always := corev1.ContainerRestartPolicyAlways
		c := corev1.Container{Name: "sidecar", RestartPolicy: &always}
		c.Resources.Requests = list(amounts...)
		t.Spec.InitContainers = append(t.Spec.InitContainers, c)
	}
}

func naming(cards string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"volcano.sh/card.name": cards} }
}

func fromTemplate(name string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.ResourceClaims = append(t.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimTemplateName: &name})
	}
}

func sharing(name string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.ResourceClaims = append(t.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimName: &name})
	}
}
