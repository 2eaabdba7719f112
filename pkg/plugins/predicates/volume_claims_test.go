// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// TestClaimsOfVolumesThatTakeLongToCompare: upstream's plugin compares and parses them again for each node, in each cycle. Who may create claims could stop the
// scheduler.
func TestClaimsOfVolumesThatTakeLongToCompare(t *testing.T) {
	manyValues := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: metav1.LabelSelectorOpIn}}}
	for i := range 255 {
		manyValues.MatchExpressions[0].Values = append(manyValues.MatchExpressions[0].Values, fmt.Sprint("v", i))
	}
	for name, c := range map[string]struct {
		change func(claim *corev1.PersistentVolumeClaim)
		want   string
	}{
		"an ordinary claim": {func(*corev1.PersistentVolumeClaim) {}, ""},
		"a size that is the same for all": {func(claim *corev1.PersistentVolumeClaim) {
			claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("7Ei")}
		}, ""},
		"a size that takes minutes to compare": {func(claim *corev1.PersistentVolumeClaim) {
			claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1e999999999")}
		}, "PersistentVolumeClaim a requests <1e999999999> of storage, which no volume has: request less"},
		"a selector that takes long to parse": {func(claim *corev1.PersistentVolumeClaim) { claim.Spec.Selector = manyValues },
			"the PersistentVolumeClaims of the pod select by more than 256 labels and values: use fewer"},
	} {
		t.Run(name, func(t *testing.T) {
			world := oneVolume("a")
			c.change(world.PVCs[0])
			world.Plugins = map[string]framework.PluginBuilder{Name: func(arguments framework.Arguments) framework.Plugin { return NewBuilder()(arguments) }}
			session := world.RegisterSession([]conf.Tier{{Plugins: []conf.PluginOption{{Name: Name, EnabledPredicate: ptr.To(true)}}}}, nil)
			defer world.Close()
			var pod *api.TaskInfo
			for _, task := range session.Jobs["ns/gang"].Tasks {
				pod = task
			}
			deadline, got := time.Now().Add(10*time.Second), ""
			for { // until the caches of the session have the claim
				got = ""
				if err := session.PrePredicateFn(pod); err != nil {
					got = err.Error()
				}
				if (got == "") == (c.want == "") && strings.Contains(got, c.want) || time.Now().After(deadline) {
					break
				}
			}
			if !strings.Contains(got, c.want) || got != "" && c.want == "" {
				t.Errorf("refused with %q, want %q", got, c.want)
			}
		})
	}
}
