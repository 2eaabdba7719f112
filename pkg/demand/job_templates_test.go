// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

type library struct {
	claims
	templates map[string][]resourceapi.DeviceRequest
}

func (l library) ClaimTemplate(_, name string) (*resourceapi.ResourceClaimTemplate, error) {
	requests, found := l.templates[name]
	if !found {
		return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaimtemplates"), name)
	}
	return &resourceapi.ResourceClaimTemplate{Spec: resourceapi.ResourceClaimTemplateSpec{Spec: resourceapi.ResourceClaimSpec{
		Devices: resourceapi.DeviceClaim{Requests: requests},
	}}}, nil
}

// task returns a task with replicas of a pod that refers to claims: "=x" refers to claim x, "x" to template x.
func task(priority string, replicas, least int32, refs ...string) batchv1alpha1.TaskSpec {
	t := batchv1alpha1.TaskSpec{Name: "task", Replicas: replicas}
	if least >= 0 {
		t.MinAvailable = ptr.To(least)
	}
	t.Template.Spec.PriorityClassName = priority
	for _, ref := range refs {
		podClaim := corev1.PodResourceClaim{Name: ref, ResourceClaimTemplateName: ptr.To(ref)}
		if ref[0] == '=' {
			podClaim = corev1.PodResourceClaim{Name: ref, ResourceClaimName: ptr.To(ref[1:])}
		}
		t.Template.Spec.ResourceClaims = append(t.Template.Spec.ResourceClaims, podClaim)
	}
	return t
}

func job(least int32, tasks ...batchv1alpha1.TaskSpec) *batchv1alpha1.Job {
	return &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job"}, Spec: batchv1alpha1.JobSpec{MinAvailable: least, Tasks: tasks}}
}

func priority(class string) int32 {
	return map[string]int32{"high": 10}[class]
}

// ofJob returns the devices of a Volcano Job's minimum.
func ofJob(cs *Claims, job *batchv1alpha1.Job, reader dra.ClaimReader) (Minimum, error) {
	return cs.ofNamed(job.Namespace, claimsOfJob(job, MinimumPods(job, priority)), reader)
}

func TestOfJob(t *testing.T) {
	exact := func(r resourceapi.ExactDeviceRequest) resourceapi.DeviceRequest {
		return resourceapi.DeviceRequest{Name: "r", Exactly: &r}
	}
	source := library{
		claims: claims{"shared": claim("shared", exactly("a100", 4))},
		templates: map[string][]resourceapi.DeviceRequest{
			"two": {exact(exactly("a100", 2))}, "one": {exact(exactly("h200", 1))}, "vast": {exact(exactly("a100", 1<<62))},
			"any":  {firstAvailable(exactly("h200", 3), exactly("h200", 1)), firstAvailable(exactly("h200", 1), exactly("a100", 1))},
			"lost": {exact(exactly("b200", 1))}, "new": {{Name: "new"}},
		},
	}
	for _, c := range []struct {
		name      string
		job       *batchv1alpha1.Job
		want      string
		wantNamed []string
		// wantChoices lists the pods and the alternatives of each choice.
		wantChoices []string
		wantErr     string
	}{
		{name: "no claims", job: job(2, task("", 2, -1))},
		{name: "all pods are needed", job: job(3, task("", 3, -1, "two")), want: "a100:6"},
		{name: "some pods are needed", job: job(2, task("", 5, -1, "two")), want: "a100:4"},
		{name: "several claims and tasks", job: job(5, task("", 2, -1, "two", "one"), task("", 3, -1, "one")), want: "a100:4 h200:5"},
		{name: "pods of high priority come first", job: job(2, task("", 2, -1, "two"), task("high", 2, -1, "one")), want: "h200:2"},
		{name: "what each task needs, and then the first", job: job(3, task("", 5, 1, "two"), task("", 5, 1, "one")), want: "a100:4 h200:1"},
		{name: "a claim that is named counts once", job: job(3, task("", 3, -1, "=shared")), wantNamed: []string{"shared"}},
		{name: "of alternatives what they have in common", job: job(4, task("", 4, -1, "any")), want: "h200:4", wantChoices: []string{"4: h200:2 |", "4: h200:1 | a100:1"}},
		{name: "counts beyond an int64 are exact", job: job(4, task("", 4, -1, "vast")), want: "a100:18446744073709551616"},
		{name: "a template that nobody needs does not matter", job: job(1, task("", 1, -1, "one"), task("", 3, 0, "missing")), want: "h200:1"},
		{name: "a template that is missing", job: job(1, task("", 1, -1, "missing")), wantErr: "task task: ResourceClaimTemplate ns/missing does not exist: create it or correct the name"},
		{name: "a claim that is missing", job: job(1, task("", 1, -1, "=gone")), wantErr: "task task: ResourceClaim ns/gone does not exist: create it or correct the name"},
		{name: "a class that is missing", job: job(1, task("", 1, -1, "lost")), wantErr: "task task: ResourceClaimTemplate ns/lost: DeviceClass b200 does not exist: create it or correct the name"},
		{name: "a request that cannot be counted", job: job(1, task("", 1, -1, "new")),
			wantErr: "task task: ResourceClaimTemplate ns/new: request new: it has neither exactly nor firstAvailable: it may come from an API that is newer than this scheduler; use one of the two, or update the scheduler"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dimensions, memory := scale()
			got, err := ofJob(memory, c.job, source)
			if (err != nil || c.wantErr != "") && (err == nil || err.Error() != c.wantErr) {
				t.Fatalf("error %v, want %q", err, c.wantErr)
			}
			var named []string
			for _, claim := range got.Named {
				named = append(named, claim.Object.Name)
			}
			var choices []string
			for _, choice := range got.Choices {
				var alternatives []string
				for _, a := range choice.Alternatives {
					alternatives = append(alternatives, text(dimensions, a))
				}
				choices = append(choices, strings.TrimSpace(fmt.Sprintf("%d: %s", choice.Pods, strings.Join(alternatives, " | "))))
			}
			if diff := cmp.Diff(c.wantChoices, choices); diff != "" {
				t.Errorf("choices (-want +got):\n%s", diff)
			}
			if text(dimensions, got.Amounts) != c.want || !cmp.Equal(named, c.wantNamed) {
				t.Errorf("got %s and %v, want %s and %v", text(dimensions, got.Amounts), named, c.want, c.wantNamed)
			}
		})
	}
}

// TestATemplateIsReadOnceForAllTasksOfAJob: a Job has room for thousands of tasks that name the same ones.
func TestATemplateIsReadOnceForAllTasksOfAJob(t *testing.T) {
	reads := 0
	source := countedLibrary{library{templates: map[string][]resourceapi.DeviceRequest{"a": {{Exactly: ptr.To(exactly("a100", 1))}}, "b": {{Exactly: ptr.To(exactly("h100", 2))}}}}, &reads}
	dimensions, counted := scale()
	var tasks []batchv1alpha1.TaskSpec
	for range 1000 {
		tasks = append(tasks, task("", 3, -1, "a", "b", "b"))
	}
	minimum, err := ofJob(counted, job(3000, tasks...), source)
	if got := text(dimensions, minimum.Amounts); err != nil || got != "H100:12000 a100:3000 h100:12000" || reads != 2 {
		t.Errorf("the Job asks for %s (%v) with %d reads, want 2", got, err, reads)
	}
}

// countedLibrary counts how often a template is read and counted.
type countedLibrary struct {
	library
	reads *int
}

func (l countedLibrary) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	*l.reads++
	return l.library.ClaimTemplate(namespace, name)
}

// TestATemplateThatPodsNameOftenIsCountedOnce matters because many tasks and jobs may name it.
func TestATemplateThatPodsNameOftenIsCountedOnce(t *testing.T) {
	reads := 0
	source := countedLibrary{library{templates: map[string][]resourceapi.DeviceRequest{
		"any": {firstAvailable(exactly("h100", 1), exactly("a100", 1)), {Name: "r", Exactly: ptr.To(exactly("h100", 2))}},
	}}, &reads}
	_, claims := scale()
	minimum, err := ofJob(claims, job(3, task("", 3, -1, slices.Repeat([]string{"any"}, maxClaims)...)), source)
	if err != nil {
		t.Fatal(err)
	}
	if reads != 1 {
		t.Errorf("the template is read %d times, want once", reads)
	}
	if len(minimum.Choices) != 1 || minimum.Choices[0].Pods != 3*maxClaims || minimum.Amounts[0].Amount != ledger.Units(6*maxClaims) {
		t.Errorf("the job needs %v, and its pods make %d choices", minimum.Amounts, len(minimum.Choices))
	}
}

// TestOnlySomeChoicesOfAJobCount checks the bound, because each choice is compared with all others.
func TestOnlySomeChoicesOfAJobCount(t *testing.T) {
	var choices []Choice
	for range 2 {
		for each := range int64(2 * maxChoices) {
			choices = addChoice(choices, choosing(1, each+1))
		}
	}
	if len(choices) != maxChoices || choices[0].Pods != 2 {
		t.Errorf("%d choices count, the first for %d pods, want %d for 2", len(choices), choices[0].Pods, maxChoices)
	}
}

// BenchmarkSlowJob counts a Volcano Job whose tasks name the same templates. Their requests have alternatives that differ at the end only.
func BenchmarkSlowJob(b *testing.B) {
	source := library{templates: map[string][]resourceapi.DeviceRequest{}}
	var names []string
	for k := range maxClaims {
		var requests []resourceapi.DeviceRequest
		for i := range 32 {
			request := resourceapi.DeviceRequest{Name: fmt.Sprint("r", i)}
			for a := range 8 {
				request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{
					Name: fmt.Sprint("a", a), DeviceClassName: []string{"h100", "a100"}[a%2], AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: int64(1 + (k*32+i)*(a/7)),
				})
			}
			requests = append(requests, request)
		}
		names = append(names, fmt.Sprint("t", k))
		source.templates[names[k]] = requests
	}
	var tasks []batchv1alpha1.TaskSpec
	for range 400 {
		tasks = append(tasks, task("", 1, -1, names...))
	}
	slow := job(400, tasks...)
	_, counted := scale()
	for b.Loop() {
		if _, err := ofJob(counted, slow, source); err != nil {
			b.Fatal(err)
		}
	}
}
