// SPDX-License-Identifier: Apache-2.0

package priority_test

import (
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/plugins/priority"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

func TestWorkloadsOfHigherPriorityComeFirst(t *testing.T) {
	framework.Register(priority.Name, priority.Registration)
	config, err := framework.ParseConfig([]byte("tiers: [{plugins: [{name: priority}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]*schedulingv1.PriorityClass{"high": {Value: 10}, "low": {Value: -10}, "highest": {Value: 1e9}, "system-cluster-critical": {Value: 2e9}}
	byDefault := map[string]*schedulingv1.PriorityClass{"high": {Value: 10}, "low": {Value: -10}, "default": {Value: 20, GlobalDefault: true}, "other": {Value: 30, GlobalDefault: true}}
	for name, c := range map[string]struct {
		classes map[string]*schedulingv1.PriorityClass
		a, b    string
		first   string
	}{
		"the higher class comes first":      {classes, "low", "high", "b"},
		"none is zero":                      {classes, "low", "", "b"},
		"a class that is missing is zero":   {classes, "high", "gone", "a"},
		"the default holds without a class": {byDefault, "high", "", "b"},
		"and for a class that is missing":   {byDefault, "high", "gone", "b"},
		"the lowest default holds":          {byDefault, "", "default", "a"},
		"the older comes first":             {classes, "high", "high", "a"},
		"no user is critical for a cluster": {classes, "high", "system-cluster-critical", "a"},
		"the highest class of users":        {classes, "high", "highest", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := framework.Open(config, &framework.Snapshot{PriorityClasses: c.classes})
			defer s.Close()
			make := func(name, class string, age time.Duration) *framework.Workload {
				return &framework.Workload{
					Binding:  &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: name}},
					Template: &workload.Template{PriorityClass: class}, Created: time.Unix(0, 0).Add(-age),
				}
			}
			a, b := make("a", c.a, time.Hour), make("b", c.b, 0)
			first := "a"
			if s.JobOrder(a, b) > 0 {
				first = "b"
			}
			if first != c.first {
				t.Errorf("%s comes first, want %s", first, c.first)
			}
		})
	}
	if err := priority.Registration.Check(framework.Arguments{"weight": 1}); err == nil {
		t.Error("an argument that does not exist is accepted")
	}
}

func TestAWorkloadThatCannotBeReadHasTheDefault(t *testing.T) {
	s := &framework.Snapshot{PriorityClasses: map[string]*schedulingv1.PriorityClass{"default": {Value: 7, GlobalDefault: true}}}
	if value := s.Priorities()(&framework.Workload{}); value != 7 {
		t.Errorf("its priority is %d", value)
	}
}
