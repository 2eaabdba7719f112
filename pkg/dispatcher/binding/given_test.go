// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"fmt"
	"slices"
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAGrantNotesTheClaimsThatPodsMayName(t *testing.T) {
	spec := func(count int64) (s resourceapi.ResourceClaimSpec) {
		s.Devices.Requests = []resourceapi.DeviceRequest{{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "h100", Count: count}}}
		return s
	}
	claim := func(name string, count int64) metav1.Object {
		return &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "new"}, Spec: spec(count)}
	}
	template := func(name string, count int64) metav1.Object {
		return &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.ResourceClaimTemplateSpec{Spec: spec(count)}}
	}
	var many []string
	for i := range MaxGiven {
		many = AddGiven(many, []string{ClaimNote(claim(fmt.Sprint(i), 1))})
	}
	if len(many) != MaxGiven || !slices.IsSorted(many) || !slices.Equal(AddGiven(many, many), many) {
		t.Fatalf("%d are noted", len(many))
	}
	two := AddGiven([]string{ClaimNote(claim("a", 1))}, []string{ClaimNote(template("b", 1))})
	for name, c := range map[string]struct {
		given []string
		claim metav1.Object
		want  bool
	}{
		"nothing is noted":                      {nil, claim("a", 8), false},
		"the same devices":                      {two, claim("a", 1), false},
		"others":                                {two, claim("a", 8), true},
		"less":                                  {two, template("b", 0), true},
		"another name":                          {two, claim("c", 8), false},
		"another kind":                          {two, template("a", 8), false},
		"one of many":                           {many, claim("7", 8), true},
		"too many are noted to tell":            {AddGiven(many, two), claim("c", 8), true},
		"and they stay too many":                {AddGiven(AddGiven(many, two), two), claim("c", 8), true},
		"what two contents gave, in two rounds": {AddGiven(two, []string{ClaimNote(claim("a", 2))}), claim("a", 2), false},
	} {
		if got := (&State{Grant: &Grant{Given: c.given}}).GivesOther(ClaimNote(c.claim)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		compareWithoutParsing(t, name, c.given, ClaimNote(c.claim), c.want)
	}
}

// compareWithoutParsing compares MayGiveOther with GivesOther. Users choose other texts in the annotations, such as the group.
func compareWithoutParsing(t *testing.T, name string, given []string, note string, want bool) {
	t.Helper()
	for _, group := range []string{"", note, `"given":["` + note} {
		granted := map[string]string{GrantAnnotation: (&Grant{Given: given, Group: group}).Annotation(), ChangeAnnotation: (&Change{Replaces: group}).Annotation()}
		changing := map[string]string{GrantAnnotation: (&Grant{Group: group}).Annotation(), ChangeAnnotation: (&Change{Given: given}).Annotation()}
		for _, annotations := range []map[string]string{granted, changing} {
			if MayGiveOther(&workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}, note) != want {
				t.Errorf("%s: got %t without parsing %v", name, !want, annotations)
			}
		}
	}
}
