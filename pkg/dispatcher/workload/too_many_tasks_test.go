// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"runtime"
	"strings"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// TestAJobOfManyTasksTakesLittleMemory: its user writes three bytes for a task, and each request and each replica had more than a kilobyte in memory for it.
func TestAJobOfManyTasksTakesLittleMemory(t *testing.T) {
	scheme := apiruntime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := Tolerant(serializer.NewCodecFactory(scheme).UniversalDeserializer())
	const many = 50_000
	job := `{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"a"},"spec":{"queue":"q","tasks":[{}` + strings.Repeat(",{}", many-1) + `]}}`
	small := `{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"b"},"spec":{"tasks":[{"name":"t"}]}}`
	list := `{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"JobList","metadata":{"resourceVersion":"1"},"items":[` + job + "," + small + `]}`
	for _, text := range []string{job, list} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		object, _, err := decoder.Decode([]byte(text), nil, nil)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 100*uint64(len(text)) {
			t.Errorf("%d bytes of JSON used %d bytes of memory", len(text), used)
		}
		first := object
		if jobs, is := object.(*batchv1alpha1.JobList); is {
			first = &jobs.Items[0]
			if other := &jobs.Items[1]; Unreadable(other) != nil || len(other.Spec.Tasks) != 1 {
				t.Errorf("another job of the list: got %v", other)
			}
		}
		if got := first.(*batchv1alpha1.Job); Unreadable(got) == nil || !strings.Contains(Unreadable(got).Error(), "has 50000 tasks") || got.Spec.Queue != "q" {
			t.Errorf("got queue %q and the error %v", got.Spec.Queue, Unreadable(got))
		}
	}
	if err := TooManyTasks([]byte(job)); err == nil {
		t.Error("the webhook does not refuse it")
	}
	if err := TooManyTasks([]byte(strings.Replace(job, "batch.volcano.sh/v1alpha1", "example.com/v1", 1))); err != nil {
		t.Errorf("an object of another kind is refused: %v", err)
	}
}

// TestAJobOfManyContainersTakesLittleMemory: some tens of requests with a megabyte and a half of containers without anything used up the memory of all replicas.
func TestAJobOfManyContainersTakesLittleMemory(t *testing.T) {
	scheme := apiruntime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := Tolerant(serializer.NewCodecFactory(scheme).UniversalDeserializer())
	many := func(one string) string { return "[" + one + strings.Repeat(","+one, 600_000/len(one)) + "]" }
	inTask := func(fields string) string { return `"tasks":[{"template":{"spec":{` + fields + `}}}]` }
	for name, spec := range map[string]string{
		"containers":           inTask(`"containers":` + many(`{"name":""}`)),
		"init containers":      inTask(`"initContainers":` + many(`{"name":""}`)),
		"ephemeral containers": inTask(`"ephemeralContainers":` + many(`{"name":""}`)),
		"volumes":              inTask(`"volumes":` + many(`{"name":""}`)),
		"tolerations":          inTask(`"tolerations":` + many(`{}`)),
		"policies of a task":   `"tasks":[{"policies":` + many(`{}`) + `}]`,
		"nodes":                inTask(`"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":` + many(`{}`) + `}}}`),
		"policies":             `"policies":` + many(`{}`),
	} {
		text := `{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"a"},"spec":{"queue":"q",` + spec + `}}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		object, _, err := decoder.Decode([]byte(text), nil, nil)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 10*uint64(len(text)) {
			t.Errorf("%s: %d bytes of JSON used %d bytes of memory", name, len(text), used)
		}
		if job := object.(*batchv1alpha1.Job); Unreadable(job) == nil || job.Spec.Queue != "q" || TooManyTasks([]byte(text)) == nil {
			t.Errorf("%s: it is read, or the webhook does not refuse it", name)
		}
	}
}

func TestObjectsAreCountedOutsideOfTexts(t *testing.T) {
	if n := objectsIn([]byte(`{"a{":"{\\\"{","b":[{},{"c\\\\":{}}]}`)); n != 4 {
		t.Errorf("counted %d objects, want 4", n)
	}
}
