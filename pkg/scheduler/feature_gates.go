// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	resourcealpha "k8s.io/api/resource/v1alpha3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
)

// readWithGates are the resources that Volcano's cache reads only with a feature gate. It reads only this version, and waits forever if the API
// server does not serve them.
var readWithGates = []struct {
	gate     featuregate.Feature
	resource schema.GroupVersionResource
}{
	{features.DynamicResourceAllocation, resourceapi.SchemeGroupVersion.WithResource("resourceclaims")},
	{features.DRADeviceTaints, resourcealpha.SchemeGroupVersion.WithResource("devicetaintrules")},
}

// setFeatureGates gives feature gates the defaults of the cluster's version. On an older cluster, the scheduler then does not use APIs that the
// server lacks. If Volcano's cache would wait forever, setFeatureGates turns off the gate DynamicResourceAllocation. This gate affects only Volcano's
// own use of resource.k8s.io. The plugin capacity reads the versions that the API server serves.
func setFeatureGates(server discovery.DiscoveryInterface, gates featuregate.MutableVersionedFeatureGate) error {
	if err := followVersion(server, gates); err != nil {
		return err
	}
	for _, read := range readWithGates {
		if !gates.Enabled(features.DynamicResourceAllocation) {
			return nil
		}
		if !gates.Enabled(read.gate) {
			continue
		}
		served, err := serves(server, read.resource)
		if err != nil {
			return err
		}
		if !served {
			klog.InfoS("The API server does not serve what Volcano's own code reads of resource.k8s.io, only the plugin capacity allocates devices",
				"resource", read.resource, "turnedOff", features.DynamicResourceAllocation)
			return gates.SetFromMap(map[string]bool{string(features.DynamicResourceAllocation): false})
		}
	}
	return nil
}

func followVersion(server discovery.ServerVersionInterface, gates featuregate.MutableVersionedFeatureGate) error {
	version, err := server.ServerVersion()
	if err != nil {
		return err
	}
	cluster := compatibility.NewEffectiveVersionFromString(fmt.Sprintf("%s.%s", version.Major, version.Minor), "", "")
	registry := compatibility.NewComponentGlobalsRegistry()
	if err := registry.Register(compatibility.DefaultKubeComponent, cluster, gates); err != nil {
		return err
	}
	return registry.Set()
}

func serves(server discovery.ServerResourcesInterface, resource schema.GroupVersionResource) (bool, error) {
	list, err := server.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find out whether the API server serves %s: %w", resource, err)
	}
	return slices.ContainsFunc(list.APIResources, func(served metav1.APIResource) bool { return served.Name == resource.Resource }), nil
}
