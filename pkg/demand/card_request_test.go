// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestTheCardRequestOfAJobDoesNotCountBesideItsTemplates checks that a job with the annotation does not need its cards twice once DRA
// serves them. Otherwise, it never enters a queue that has room for them once.
func TestTheCardRequestOfAJobDoesNotCountBesideItsTemplates(t *testing.T) {
	for _, c := range []struct {
		name             string
		cards            string
		plugins, devices bool
		claims           bool
		want, choices    string
	}{
		{name: "device plugins", cards: "A", plugins: true, want: "A:6"},
		{name: "DRA", devices: true, want: "H100:6 h100:6"},
		{name: "both", cards: "H100|B", plugins: true, devices: true, choices: "3 of H100:2 h100:2 or B:2"},
		{name: "a claim by name", devices: true, claims: true, want: "H100:2 h100:2 nvidia.com/gpu:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := world(t, c.plugins, c.devices)
			f.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "H100"})
			f.reader.claims["shared"] = claim("shared", exactly("h100", 2))
			template := corev1.PodTemplateSpec{Spec: *cardPod("nvidia.com/gpu=2")}
			if c.claims {
				template.Spec = pod("shared").Spec
			}
			if c.cards != "" {
				template.Annotations = map[string]string{card.NameAnnotation: c.cards}
			}
			group := ofThree(3, template)
			group.Annotations = map[string]string{card.RequestAnnotation: `{"H100": 6}`}
			f.expectNeeds("before its pods exist", f.needs(group, JobPods{}), c.want, c.choices)
		})
	}
}

// TestTheCardRequestOfAPodGroupCountsBeyondTheDevicesOfItsPods covers PodGroups whose pods are created one by one.
func TestTheCardRequestOfAPodGroupCountsBeyondTheDevicesOfItsPods(t *testing.T) {
	f := world(t, false, true)
	var pods []JobPod
	for _, name := range []string{"a", "b"} {
		p := object(name, "", "nvidia.com/gpu=2")
		pods = append(pods, JobPod{Pod: f.requesting(p, false), Allocated: name == "a"})
	}
	if err := f.books.Charge(0, "a", pods[0].Demand); err != nil {
		t.Fatal(err)
	}
	sum, errs := OfJobPods(f.books, pods, 3)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	needs := f.needs(Group{
		MinMember: 3, Pods: 2, Job: func() (*batchv1alpha1.Job, error) { return nil, nil },
		Annotations: map[string]string{card.RequestAnnotation: `{"H100": 6}`},
	}, sum)
	f.expectNeeds("with one of three pods charged, and one waiting", needs, "H100:4 h100:2", "")
}
