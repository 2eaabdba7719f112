// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// FuzzBindings checks invariants of every update by a user other than the dispatcher, for any annotations.
func FuzzBindings(f *testing.F) {
	for _, seed := range []struct {
		old, asked string
		flags      uint16
	}{
		{"", "", 0}, {waiting, "", 0x11}, {"", waiting, 0x3ff}, {growing, growing, 0x155}, {returning, "null", 0x2aa},
		{"{", "[]", 0xffff}, {`{"reason":1}`, `{"dispatching":true}`, 0x0f0f}, {"", `{"reason":"Waiting"}`, 0xf0f0},
	} {
		f.Add(seed.old, seed.asked, granted, seed.flags)
	}
	f.Fuzz(func(t *testing.T, oldHold, hold, grant string, flags uint16) {
		if !utf8.ValidString(oldHold) || !utf8.ValidString(hold) || !utf8.ValidString(grant) {
			t.Skip("the API server stores no such text")
		}
		old, asked := arbitrary(oldHold, grant, flags), arbitrary(hold, grant, flags>>8)
		b := newWebhook()
		got, response := ask(t, b, detector, old, asked)
		if !response.Allowed {
			if !has(old, binding.HoldAnnotation) || response.Result.Code != 403 {
				t.Fatalf("refused although nothing is held: %v", response.Result)
			}
			return
		}
		checkStored(t, old, got)
		again, _ := ask(t, b, detector, old, got)
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("the second request changes more (-first +second):\n%s", diff)
		}
		if !has(got, binding.HoldAnnotation) {
			return
		}
		reset := got.DeepCopy()
		if h := holdOf(got); h != nil && (h.Dispatching || h.Reason == binding.Growing) {
			reset.Spec.Suspension.Dispatching = nil
		}
		if h := holdOf(got); h == nil || h.Dispatching || h.Reason != binding.Growing {
			if final, _ := ask(t, b, detector, got, reset); !cmp.Equal(got, final) {
				t.Errorf("the detector's reset changes what is stored:\n%s", cmp.Diff(got, final))
			}
		}
	})
}

// checkStored checks which changes of an update are stored.
func checkStored(t *testing.T, old, got *workv1alpha2.ResourceBinding) {
	t.Helper()
	for _, name := range annotations {
		if name == binding.HoldAnnotation && (!has(old, name) || holdOf(old) != nil) {
			continue // see below
		}
		if old.Annotations[name] != got.Annotations[name] || has(old, name) != has(got, name) {
			t.Errorf("annotation %s was %q and is %q", name, old.Annotations[name], got.Annotations[name])
		}
	}
	if slices.Contains(old.Finalizers, binding.Finalizer) != slices.Contains(got.Finalizers, binding.Finalizer) {
		t.Errorf("the finalizers were %q and are %q", old.Finalizers, got.Finalizers)
	}
	was, is := holdOf(old), holdOf(got)
	switch {
	case has(old, binding.HoldAnnotation) && !has(got, binding.HoldAnnotation):
		t.Error("the hold is gone")
	case was != nil && (is == nil || is.Reason != was.Reason || is.Queue != was.Queue):
		t.Errorf("the hold was %v and is %v", was, is)
	case has(got, binding.HoldAnnotation) && !got.Spec.SchedulingSuspended():
		t.Error("it is held and not suspended")
	case is != nil && is.Reason == binding.Waiting && len(got.Spec.Clusters) > len(old.Spec.Clusters):
		t.Errorf("it waits, and got the clusters %v", got.Spec.Clusters)
	case !has(got, binding.HoldAnnotation) && !has(got, binding.GrantAnnotation) && !got.Spec.SchedulingSuspended() && got.DeletionTimestamp == nil &&
		len(old.Spec.Clusters) == 0 && len(got.Spec.Clusters) > 0:
		t.Error("it runs, and nothing is charged")
	}
}

// arbitrary makes a binding from the bits in flags.
func arbitrary(hold, grant string, flags uint16) *workv1alpha2.ResourceBinding {
	rb := newBinding()
	bit := func(n int, o option) {
		if flags>>n&1 == 1 {
			o(rb)
		}
	}
	bit(0, annotated(binding.HoldAnnotation, hold))
	bit(1, scheduling(true))
	bit(2, dispatching)
	bit(3, annotated(binding.GrantAnnotation, grant))
	bit(4, finalizers(binding.Finalizer, "x"))
	bit(5, on("m1", 3))
	bit(6, objectAt("2", 5))
	bit(7, func(rb *workv1alpha2.ResourceBinding) {
		rb.DeletionTimestamp = &metav1.Time{Time: metav1.Unix(1700000000, 0).Time}
	})
	if rb.DeletionTimestamp != nil {
		text, _ := json.Marshal(rb.DeletionTimestamp)
		_ = json.Unmarshal(text, rb.DeletionTimestamp) // the same location as after a request
	}
	return rb
}
