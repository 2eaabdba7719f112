// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// waitingJob has a job without pods: its minimum, the catalog of all rounds, and the value of the priority class "other".
type waitingJob struct {
	*fixture
	group   Group
	catalog *dra.Catalog
	other   int32
}

// awaitPods returns a job without pods that has these tasks and this annotation volcano.sh/card.request.
func (f *fixture) awaitPods(request string, tasks ...batchv1alpha1.TaskSpec) *waitingJob {
	w := &waitingJob{fixture: f, catalog: catalog()}
	created := job(1, tasks...)
	w.group = Group{MinMember: 1, Annotations: map[string]string{card.RequestAnnotation: request}, Priority: func(string) int32 { return w.other }}
	w.group.Job = func() (*batchv1alpha1.Job, error) { return created, nil }
	return w
}

// round begins a round, and returns what the job needs.
func (w *waitingJob) round() Needs {
	w.Begin(w.reader, w.catalog)
	needs, err := w.JobNeeds(w.books, w.group, JobPods{}, true)
	if err != nil {
		w.Error(err)
	}
	return needs
}

// remembers fails the test if a round costs as much as one that begins with nothing.
func (w *waitingJob) remembers() {
	w.Helper()
	all := testing.AllocsPerRun(1, func() {
		w.templates.forget()
		w.round()
	})
	if again := testing.AllocsPerRun(1, func() { w.round() }); again > all/20 {
		w.Errorf("a later round allocates %.0f times, and the first one %.0f times", again, all)
	}
}

// TestTemplatesThatHaveNotChangedAreNotCountedAnew: jobs of thousands of tasks wait for days.
func TestTemplatesThatHaveNotChangedAreNotCountedAnew(t *testing.T) {
	f := newFixture(t)
	var tasks []batchv1alpha1.TaskSpec
	for range 200 {
		one := task("", 1, 0)
		one.Template.Spec.Containers = cardPod("nvidia.com/gpu=2").Containers
		one.Template.Annotations = map[string]string{card.NameAnnotation: "A|" + strings.Repeat("x|", 10) + "y"}
		tasks = append(tasks, one)
	}
	w := f.awaitPods("{}", tasks...)
	w.remembers()
	if got := text(f.Dimensions, w.round().Amounts); got != "A:2" {
		t.Errorf("the job needs %q", got)
	}

	t.Log("another card, for which the same resource stands")
	f.Fleet.Set("new", card.Node{Model: "x", Offers: []card.Offer{{Resource: "nvidia.com/gpu", Card: "x", Count: 8}}})
	if needs := w.round(); len(needs.Splits) != 1 || len(needs.Amounts) != 0 {
		t.Errorf("the job needs %q and %d splits", text(f.Dimensions, needs.Amounts), len(needs.Splits))
	}
	w.remembers()

	t.Log("nodes without plugins for the resource")
	w.Configure(Options{}, Serving{ByPlugins: map[corev1.ResourceName]bool{}, ByDevices: [][]corev1.ResourceName{{gpu}}, Class: func(corev1.ResourceName) string { return "" }})
	if len(w.templates.jobs) != 0 {
		t.Error("the templates are remembered although nodes serve other resources")
	}
}

func TestTemplatesFollowThePriorityOfTasks(t *testing.T) {
	small, large := task("", 1, 0), task("other", 1, 0)
	small.Template.Spec.Containers, large.Template.Spec.Containers = cardPod("nvidia.com/gpu=1").Containers, cardPod("nvidia.com/gpu=4").Containers
	for _, one := range []*batchv1alpha1.TaskSpec{&small, &large} {
		one.Template.Annotations = map[string]string{card.NameAnnotation: "A"}
	}
	w := newFixture(t).awaitPods("{}", small, large)
	w.group.Priority = func(class string) int32 {
		if class == "other" {
			return w.other
		}
		return 0
	}
	for _, c := range []struct {
		other int32
		want  string
	}{{-1, "A:1"}, {1, "A:4"}, {-1, "A:1"}} {
		w.other = c.other
		if got := text(w.Dimensions, w.round().Amounts); got != c.want {
			t.Errorf("with priority %d, the job needs %q, want %q", c.other, got, c.want)
		}
	}
}

// TestARequestForCardsIsParsedOnce: an annotation has room for thousands of names.
func TestARequestForCardsIsParsedOnce(t *testing.T) {
	var entries []string
	for i := range 60 {
		entries = append(entries, fmt.Sprintf(`"%sA": 1`, strings.Repeat(fmt.Sprintf("x%d|", i), 60)))
	}
	w := newFixture(t).awaitPods("{" + strings.Join(entries, ",") + "}")
	w.remembers()
	if got := text(w.Dimensions, w.round().Amounts); got != "A:60" {
		t.Errorf("the job needs %q", got)
	}
	w.group.Annotations = nil
	w.round()
	w.round()
	if len(w.templates.requests) != 0 {
		t.Error("an annotation is remembered that no job has any more")
	}
}

func TestTheTemplatesOfAJobNameNotTooManyClaims(t *testing.T) {
	f := newFixture(t)
	var refs []string
	for i := range maxClaims + 1 {
		name := fmt.Sprint("c", i)
		f.reader.claims[name] = claim(name, exactly("h100", 1))
		refs = append(refs, "="+name)
	}
	half, rest := task("", 1, -1, refs[:40]...), task("", 1, -1, refs[40:]...)
	if _, err := ofJob(f.Claims, job(2, half, rest), f.reader); err == nil || !strings.HasSuffix(err.Error(), "name more than 64 ResourceClaims: use a ResourceClaimTemplate, or request more devices in one claim") {
		t.Errorf("65 claims: %v", err)
	}
	most := task("", 1, -1, refs[41:]...)
	if minimum, err := ofJob(f.Claims, job(3, half, most, half), f.reader); err != nil || len(minimum.Named) != maxClaims {
		t.Errorf("64 claims, some of them named twice: %d, %v", len(minimum.Named), err)
	}
}

func TestTheTemplatesOfAJobNameNotTooManyClaimTemplates(t *testing.T) {
	f := newFixture(t)
	f.reader.templates = map[string][]resourceapi.DeviceRequest{}
	var refs []string
	for i := range maxClaims + 1 {
		refs = append(refs, fmt.Sprint("t", i))
		f.reader.templates[refs[i]] = []resourceapi.DeviceRequest{{Name: "r", Exactly: ptr.To(exactly("h100", 1))}}
	}
	half, rest, most := task("", 1, -1, refs[:40]...), task("", 1, -1, refs[40:]...), task("", 1, -1, refs[41:]...)
	for _, c := range []struct {
		job  *batchv1alpha1.Job
		want string
	}{
		{job(2, half, rest), "the Job ns/job: its pod templates name more than 64 ResourceClaimTemplates: use the same one for pods that request the same"},
		{job(1, task("", 1, -1, refs...)), "task task: it has 65 ResourceClaims, and a pod can have at most 64: request more devices in one claim"},
	} {
		if _, err := ofJob(f.Claims, c.job, f.reader); err == nil || err.Error() != c.want {
			t.Errorf("65 claim templates: %v, want %s", err, c.want)
		}
	}
	if minimum, err := ofJob(f.Claims, job(3, half, most, half), f.reader); err != nil || minimum.Amounts[0].Amount != ledger.Units(104) {
		t.Errorf("64 claim templates, some of them named twice: %v, %v", minimum.Amounts, err)
	}
}

// TestTheTemplatesOfAJobFollowTheNodesThatTheySelect: nobody else keeps the selection of a template.
func TestTheTemplatesOfAJobFollowTheNodesThatTheySelect(t *testing.T) {
	fleet := &card.Fleet{}
	set := func(name, model, zone string) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"nvidia.com/gpu.product": model, "zone": zone}}}
		n.Status.Allocatable = resourceList("nvidia.com/gpu=8")
		fleet.Set(name, card.Read(n, nil))
	}
	set("a", "A", "east")
	set("a2", "A", "west")
	set("b", "B", "west")
	c := NewCounter(fleet, func(corev1.ResourceName) bool { return false })
	task := batchv1alpha1.TaskSpec{Name: "t", Replicas: 1, Template: corev1.PodTemplateSpec{Spec: *cardPod("nvidia.com/gpu=8")}}
	task.Template.Spec.NodeSelector = map[string]string{"zone": "east"}
	job := &batchv1alpha1.Job{Spec: batchv1alpha1.JobSpec{MinAvailable: 1, Tasks: []batchv1alpha1.TaskSpec{task}}}
	asks := func() string {
		c.Begin(nil, nil)
		return c.templatesOf(job, priority).cards.text(c.Dimensions)
	}
	for range 2 { // the first round knows another number of dimensions than the second
		if got := asks(); got != "A:8" {
			t.Errorf("the job asks for %s in a zone with A, want A:8", got)
		}
	}
	runtime.GC()
	set("a", "A", "west")
	set("b", "B", "east")
	if got := asks(); got != "B:8" {
		t.Errorf("the job asks for %s in a zone with B, want B:8", got)
	}
}
