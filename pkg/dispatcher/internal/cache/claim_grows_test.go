// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	queuelisters "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// TestAClaimOrTemplateThatTakesThePlaceOfAnotherOneGivesNobodyMore checks that a replaced claim or template gives no more than the grant.
func TestAClaimOrTemplateThatTakesThePlaceOfAnotherOneGivesNobodyMore(t *testing.T) {
	web := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
	web.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main"}}
	web.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{
		{Name: "own", ResourceClaimTemplateName: ptr.To("template")}, {Name: "shared", ResourceClaimName: ptr.To("claim")},
	}
	const grant = `{"queue":"team","amounts":[{"kind":"Resource","name":"pods","amount":"1"},{"kind":"DeviceCount","name":"h100","amount":"3"}]}`
	noted := func(o metav1.Object) map[string]string {
		return map[string]string{binding.GrantAnnotation: strings.Replace(grant, `"amounts"`, fmt.Sprintf(`"given":[%q],"amounts"`, binding.ClaimNote(o)), 1)}
	}
	held := func(annotations map[string]string) map[string]string {
		annotations[binding.HoldAnnotation] = `{"reason":"Growing","queue":"team"}`
		return annotations
	}
	quickly := func(annotations map[string]string) map[string]string {
		annotations[binding.HoldAnnotation] = `{"reason":"Growing","queue":"team","unnoted":true}`
		return annotations
	}
	placed := func(annotations map[string]string) map[string]string {
		annotations[binding.HoldAnnotation] = `{"reason":"Growing","queue":"team","placementOnly":true}`
		return annotations
	}
	changed := func(annotations map[string]string, template string) map[string]string {
		named := (&binding.Grant{}).Unnoted([]corev1.PodResourceClaim{{ResourceClaimTemplateName: &template}})
		annotations[binding.ChangeAnnotation] = (&binding.Change{Given: named}).Annotation()
		return annotations
	}
	before := strings.Replace(grant, `"amounts"`, `"claims":"those of a former version","amounts"`, 1)
	for name, c := range map[string]struct {
		given       metav1.Object
		annotations map[string]string
		want        string
	}{
		"a template of as many devices":                 {template("ns", "template", 1), map[string]string{binding.GrantAnnotation: grant}, ""},
		"a template of more":                            {template("ns", "template", 8), map[string]string{binding.GrantAnnotation: grant}, "web 7 h100"},
		"finished: a template of more":                  {template("ns", "template", 8), map[string]string{binding.GrantAnnotation: grant}, ""},
		"a template that nobody names":                  {template("ns", "claim", 8), map[string]string{binding.GrantAnnotation: grant}, ""},
		"a template of another namespace":               {template("other", "template", 8), map[string]string{binding.GrantAnnotation: grant}, ""},
		"a template of what waits for a grant":          {template("ns", "template", 8), map[string]string{binding.HoldAnnotation: `{"reason":"Waiting","queue":"team"}`}, ""},
		"a claim of as many":                            {claim("claim", 2), map[string]string{binding.GrantAnnotation: grant}, ""},
		"a claim of more":                               {claim("claim", 4), map[string]string{binding.GrantAnnotation: grant}, "web 2 h100"},
		"one of former pods, or of what waits":          {template("ns", "former", 8), noted(template("ns", "former", 1)), "web"},
		"one that what is held waits for":               {template("ns", "template", 8), held(map[string]string{binding.GrantAnnotation: grant}), ""},
		"one that held pods have":                       {template("ns", "template", 8), held(noted(template("ns", "template", 1))), "web"},
		"one that held pods had before a cycle":         {template("ns", "template", 8), quickly(noted(template("ns", "former", 1))), "web 7 h100"},
		"one that pods get while their placement waits": {template("ns", "template", 8), placed(noted(template("ns", "former", 1))), "web 7 h100"},
		"one that a change replaces":                    {template("ns", "quick", 1), changed(noted(template("ns", "former", 1)), "quick"), "web"},
		"one that no change replaces":                   {template("ns", "other", 8), changed(noted(template("ns", "former", 1)), "quick"), ""},
		"one that held pods may have":                   {template("ns", "template", 8), held(map[string]string{binding.GrantAnnotation: before}), "web 7 h100"},
		"the same one again":                            {template("ns", "former", 1), noted(template("ns", "former", 1)), ""},
		"others for fewer pods":                         {template("ns", "template", 1), noted(template("ns", "template", 2)), "web"},
		"a claim that nobody names":                     {claim("template", 8), map[string]string{binding.GrantAnnotation: grant}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c1 := newFake(t)
			c1.queues = queuelisters.NewQueueLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil))
			if _, err := c1.clients.Kubernetes.BatchV1().Jobs("ns").Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			for _, o := range c1.optional {
				if o.gvk == batchv1.SchemeGroupVersion.WithKind("Job") {
					go o.informer.RunWithContext(t.Context())
					if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) { return o.informer.HasSynced(), nil }); err != nil {
						t.Fatal(err)
					}
				}
			}
			add(t, c1, "DeviceClass", &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "h100"}})
			add(t, c1, "ResourceClaimTemplate", template("ns", "template", 1))
			add(t, c1, "ResourceClaim", claim("claim", 2))
			rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-job", Annotations: c.annotations}}
			rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Name: "web"}
			if strings.HasPrefix(name, "finished: ") {
				ended := &runtime.RawExtension{Raw: []byte(`{"conditions":[{"type":"Complete","status":"True"}]}`)}
				rb.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1"}}
				rb.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Status: ended}}
			}
			if err := c1.bindingInformer.GetStore().Add(rb); err != nil {
				t.Fatal(err)
			}
			grows, more, err := c1.GrowsWith(c.given, true)
			got := ""
			if grows != nil {
				got = grows.Name
			}
			for _, a := range more {
				got += fmt.Sprintf(" %s %s", a.Amount, a.Dimension)
			}
			if err != nil && !errors.Is(err, framework.ErrOtherDevices) || (err != nil) != (c.want == "web") || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// TestAClaimDoesNotReadTheGrantsOfOthers: users create claims at any rate, also in dry runs, beside any number of workloads that have named many.
func TestAClaimDoesNotReadTheGrantsOfOthers(t *testing.T) {
	c := newFake(t)
	c.queues = queuelisters.NewQueueLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil))
	grant := &binding.Grant{Queue: "team"}
	for i := range binding.MaxGiven {
		grant.Given = binding.AddGiven(grant.Given, []string{binding.ClaimNote(template("ns", fmt.Sprint(i), 1))})
	}
	const workloads = 10
	for i := range workloads {
		rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint(i), Annotations: map[string]string{binding.GrantAnnotation: grant.Annotation()}}}
		if err := c.bindingInformer.GetStore().Add(rb); err != nil {
			t.Fatal(err)
		}
	}
	allocated := testing.AllocsPerRun(1, func() {
		if _, _, err := c.GrowsWith(template("ns", "new", 8), true); err != nil {
			t.Error(err)
		}
	})
	if allocated > workloads*binding.MaxGiven/10 {
		t.Errorf("%v allocations, so that the %d notes of each of %d workloads are read", allocated, binding.MaxGiven, workloads)
	}
	if _, _, err := c.GrowsWith(template("ns", "7", 8), true); !errors.Is(err, framework.ErrOtherDevices) {
		t.Errorf("got %v, want %v", err, framework.ErrOtherDevices)
	}
}

func devices(count int64) (d resourceapi.DeviceClaim) {
	d.Requests = []resourceapi.DeviceRequest{{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: "h100", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
	}}}
	return d
}

func template(namespace, name string, count int64) *resourceapi.ResourceClaimTemplate {
	t := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	t.Spec.Spec.Devices = devices(count)
	return t
}

func claim(name string, count int64) *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	c.Spec.Devices = devices(count)
	return c
}
