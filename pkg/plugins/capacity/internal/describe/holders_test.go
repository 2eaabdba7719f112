// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

func TestHoldersThatHaveHeldLongestComeFirst(t *testing.T) {
	holder := func(namespace, name string, since *metav1.Time) v1alpha1.Holder {
		return v1alpha1.Holder{Object: v1alpha1.Object{Namespace: namespace, Name: name}, Since: since}
	}
	old, young := ptr.To(metav1.Unix(1, 0)), ptr.To(metav1.Unix(2, 0))
	holders := []v1alpha1.Holder{
		holder("a", "unknown", nil), holder("b", "young", young), holder("b", "old", old), holder("a", "old", old), holder("a", "also-old", old), holder("b", "unknown", nil),
	}
	slices.SortFunc(holders, compareHolders)
	var names []string
	for _, h := range holders {
		names = append(names, h.Namespace+"/"+h.Name)
	}
	if got, want := strings.Join(names, " "), "a/also-old a/old b/old b/young a/unknown b/unknown"; got != want {
		t.Errorf("the order is %s, want %s", got, want)
	}
}
