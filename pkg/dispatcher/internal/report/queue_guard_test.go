// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// TestNoWriteDropsTheQuotaOfAQueue: an API server whose CRD lacks spec.dra drops the field with any write that it accepts.
func TestNoWriteDropsTheQuotaOfAQueue(t *testing.T) {
	f := newQueues(t, "without")
	f.create(&schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "with", ResourceVersion: "0"}, Spec: schedulingv1beta1.QueueSpec{DRA: &schedulingv1beta1.DRAQuota{}}})
	writes := 0
	f.client.PrependReactor("*", "queues", func(action clienttesting.Action) (bool, runtime.Object, error) {
		switch a := action.(type) {
		case clienttesting.UpdateActionImpl:
			writes++
			if queue := a.Object.(*schedulingv1beta1.Queue); a.UpdateOptions.FieldValidation != metav1.FieldValidationStrict || queue.Spec.DRA == nil {
				t.Errorf("the status of queue %s is written with options %v and spec.dra %v", queue.Name, a.UpdateOptions, queue.Spec.DRA)
			}
		case clienttesting.PatchActionImpl:
			writes++
			const want = `{"metadata":{},"spec":{"dra":{}}}`
			if patch := string(a.Patch); a.PatchOptions.FieldValidation != metav1.FieldValidationStrict || a.Name == "with" && patch != want || a.Name != "with" && patch != `{"metadata":{}}` {
				t.Errorf("queue %s is patched with options %v: %s", a.Name, a.PatchOptions, patch)
			}
		}
		return false, nil, nil
	})
	for _, hidden := range []error{errors.New("the CRD lacks it"), nil} {
		f.hidesDRA = func(*schedulingv1beta1.Queue) error { return hidden }
		f.set(map[string]*queueReport{"with": cores(1), "without": cores(1)})
		err := f.write(t.Context())
		for _, queue := range []string{"with", "without"} {
			err = errors.Join(err, f.patchUsage(t.Context(), queue, []byte(`{"metadata":{}}`)))
		}
		if want := map[bool]int{true: 4}[hidden == nil]; writes != want || err != nil {
			t.Errorf("hidden: %v: got %d writes and error %v, want %d writes", hidden, writes, err, want)
		}
	}
}
