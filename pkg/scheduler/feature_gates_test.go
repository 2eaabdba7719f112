// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/features"
)

func TestVolcanosCacheReadsOnlyWhatTheAPIServerServes(t *testing.T) {
	claims := &metav1.APIResourceList{GroupVersion: "resource.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "resourceclaims"}}}
	old := &metav1.APIResourceList{GroupVersion: "resource.k8s.io/v1beta2", APIResources: []metav1.APIResource{{Name: "resourceclaims"}}}
	leases := &metav1.APIResourceList{GroupVersion: "resource.k8s.io/v1alpha3", APIResources: []metav1.APIResource{{Name: "others"}}}
	rules := &metav1.APIResourceList{GroupVersion: "resource.k8s.io/v1alpha3", APIResources: []metav1.APIResource{{Name: "devicetaintrules"}}}
	for name, tt := range map[string]struct {
		minor      string
		served     []*metav1.APIResourceList
		flags      string
		want       bool
		wantTaints bool
	}{
		"all is served":                          {"34", []*metav1.APIResourceList{claims, rules}, "DRADeviceTaints=true", true, true},
		"taint rules are not needed":             {"34", []*metav1.APIResourceList{claims}, "", true, false},
		"taint rules are not served":             {"34", []*metav1.APIResourceList{claims}, "DRADeviceTaints=true", false, true},
		"others of their version are":            {"34", []*metav1.APIResourceList{claims, leases}, "DRADeviceTaints=true", false, true},
		"claims are served in an older version":  {"33", []*metav1.APIResourceList{old}, "DynamicResourceAllocation=true", false, false},
		"the group is not served":                {"34", nil, "", false, false},
		"the default of the cluster's version":   {"33", []*metav1.APIResourceList{old}, "", false, false},
		"the gate is off though all is served":   {"34", []*metav1.APIResourceList{claims}, "DynamicResourceAllocation=false", false, false},
		"no gate is needed by what is left off ": {"33", []*metav1.APIResourceList{old}, "DRADeviceTaints=true", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			gates := featuregate.NewVersionedFeatureGate(version.MajorMinor(1, 34))
			if err := gates.AddVersioned(map[featuregate.Feature]featuregate.VersionedSpecs{
				features.DynamicResourceAllocation: {
					{Version: version.MajorMinor(1, 32), Default: false, PreRelease: featuregate.Beta}, {Version: version.MajorMinor(1, 34), Default: true, PreRelease: featuregate.GA},
				},
				features.DRADeviceTaints: {{Version: version.MajorMinor(1, 33), Default: false, PreRelease: featuregate.Alpha}},
			}); err != nil {
				t.Fatal(err)
			}
			if err := gates.Set(tt.flags); err != nil {
				t.Fatal(err)
			}
			server := &fake.FakeDiscovery{Fake: &clienttesting.Fake{Resources: tt.served}, FakedServerVersion: &apiversion.Info{Major: "1", Minor: tt.minor}}
			if err := setFeatureGates(server, gates); err != nil {
				t.Fatal(err)
			}
			if got := gates.Enabled(features.DynamicResourceAllocation); got != tt.want {
				t.Errorf("DynamicResourceAllocation is %v, want %v", got, tt.want)
			}
			if got := gates.Enabled(features.DRADeviceTaints); got != tt.wantTaints {
				t.Errorf("DRADeviceTaints, which also holds for the plugin capacity, is %v, want %v", got, tt.wantTaints)
			}
		})
	}
}
