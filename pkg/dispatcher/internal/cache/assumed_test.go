// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func at(version string) *workv1alpha2.ResourceBinding {
	return &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{UID: "1", ResourceVersion: version}}
}

// latest returns the version of a binding in a snapshot while the informer shows a given version. Meanwhile is called during the list.
func latest(t *testing.T, a *assumed, shown string, meanwhile func()) string {
	t.Helper()
	bindings, err := a.latest(func() ([]*workv1alpha2.ResourceBinding, error) {
		list := []*workv1alpha2.ResourceBinding{at(shown)}
		if meanwhile != nil {
			meanwhile()
		}
		return list, nil
	})
	if err != nil || len(bindings) != 1 {
		t.Fatalf("got %d bindings, %v", len(bindings), err)
	}
	return bindings[0].ResourceVersion
}

func TestAWriteIsVisibleToASnapshotDuringWhichTheInformerShowsIt(t *testing.T) {
	a := newAssumed()
	a.add(at("10"))
	if got := latest(t, a, "9", func() { a.shows(at("10")) }); got != "10" {
		t.Errorf("the latest is %s, want 10, which was written before the snapshot", got)
	}
}

func TestAWriteIsVisibleUntilTheInformerShowsItOrALaterOne(t *testing.T) {
	a := newAssumed()
	a.add(at("10"))
	a.add(at("9")) // the answers to two writes may arrive in the wrong order
	for _, tc := range []struct{ shown, want string }{{"8", "10"}, {"9", "10"}, {"10", "10"}, {"11", "11"}} {
		if got := latest(t, a, tc.shown, nil); got != tc.want {
			t.Errorf("while the informer shows version %s, the latest is %s, want %s", tc.shown, got, tc.want)
		}
	}
	a.shows(at("9"))
	if got := latest(t, a, "9", nil); got != "10" {
		t.Errorf("the latest is %s, want 10, which the informer has not shown", got)
	}
	a.shows(at("10"))
	if len(a.bindings) != 0 {
		t.Errorf("%d writes are kept that the informer shows", len(a.bindings))
	}
	gone := at("11")
	gone.DeletionTimestamp = &metav1.Time{}
	a.add(gone)
	a.add(at("12"))
	a.forget("1")
	a.add(gone)
	if len(a.bindings) != 0 {
		t.Errorf("%d writes of bindings that are gone are kept", len(a.bindings))
	}
}
