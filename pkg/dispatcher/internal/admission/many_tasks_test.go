// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// TestAnUpdateOfAJobOfManyTasksKeepsNobodyWaiting: tasks without replicas cost no quota, and who may update a job sends any number of updates.
func TestAnUpdateOfAJobOfManyTasksKeepsNobodyWaiting(t *testing.T) {
	job := &workload.Template{}
	for i := range 200_000 {
		job.Tasks = append(job.Tasks, fmt.Sprintf("task-%06d", i))
	}
	c := &change{before: job, after: job}
	why := make(chan string)
	go func() { why <- c.forbidden(&workv1alpha2.ResourceBinding{}, nil) }()
	select {
	case why := <-why:
		if why != "" {
			t.Errorf("it is refused: %s", why)
		}
	case <-time.After(30 * time.Second):
		t.Error("each task is compared with all others")
	}
}

// TestAJobOfTooManyTasksIsRefused: all replicas would have it in memory. Whoever has such a job from before may change it.
func TestAJobOfTooManyTasksIsRefused(t *testing.T) {
	few, many := raw(t, job(2)), job(2)
	for range 1000 {
		many.Spec.Tasks = append(many.Spec.Tasks, batchv1alpha1.TaskSpec{})
	}
	for name, c := range map[string]struct {
		before, after runtime.RawExtension
		allowed       bool
	}{
		"a new one":              {runtime.RawExtension{}, raw(t, many), false},
		"one that gets more":     {few, raw(t, many), false},
		"one that had them":      {raw(t, many), raw(t, many), true},
		"one that gets less now": {raw(t, many), few, true},
	} {
		p := &controlPlane{binding: newBinding(ofJob, granting)}
		w := &Workloads{Binding: p.Binding, Exceeds: exceedsTwoPods, Spares: sparesTwoPods, Patch: p.Patch, Now: func() time.Time { return noon }}
		operation := admissionv1.Update
		if c.before.Raw == nil {
			operation = admissionv1.Create
		}
		response := w.Handle(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: operation, OldObject: c.before, Object: c.after}})
		if response.Allowed != c.allowed {
			t.Errorf("%s: allowed is %t, want %t: %s", name, response.Allowed, c.allowed, messageOf(response))
		}
	}
}
