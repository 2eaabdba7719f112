// SPDX-License-Identifier: Apache-2.0

package clusterstate

// namedKinds are the kinds with names to replace. The names of DeviceClasses and StorageClasses describe hardware, and stay.
var namedKinds = []string{
	"Node", "Namespace", "Pod", "PodGroup", "Job", "Queue", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "PersistentVolume", "PersistentVolumeClaim",
	"ResourceQuota", "Service", "ReplicaSet", "StatefulSet", "PodDisruptionBudget", "CSINode", "PriorityClass", "HyperNode", "Numatopology",
}

// keptParts are the unchanged parts of objects of a kind that keeps its name or describes only hardware.
var keptParts = map[string][]string{
	"DeviceClass": {"spec"}, "StorageClass": {"provisioner", "volumeBindingMode", "allowedTopologies", "reclaimPolicy"}, "Numatopology": {"spec"},
}

// keptNames have a meaning for the scheduler.
var keptNames = []string{"root", "default", "kube-system", "volcano-system", "system-node-critical", "system-cluster-critical"}

// keptFields contain names of APIs, drivers, classes, attributes, or labels, or one of a few words. Decisions depend on cards and devices.
var keptFields = []string{
	"apiVersion", "kind", "apiGroup", "resource", "resourceName", "schedulerName", "finalizers",
	"deviceClassName", "driver", "expression", "matchAttribute", "distinctAttribute", "attributes", "bindingConditions", "bindingFailureConditions", "dra",
	"storageClassName", "provisioner", "key", "topologyKey", "topologyKeys", "labelKey", "matchLabelKeys", "mismatchLabelKeys",
	"mode", "topologyPolicy", "dequeueStrategy",
}

// keptMaps contain quantities or numbers, by the name of a resource or of a capacity.
var keptMaps = []string{
	"allocatable", "allocated", "allocatedResources", "capability", "capacity", "consumedCapacity", "deserved", "hard", "limits", "minResources", "overhead", "requests",
	"resource", "reserved", "used",
}

// keyedByName are maps with the names of tasks as keys.
var keyedByName = []string{"minTaskMember"}

// labelFields contain labels or conditions on labels.
var labelFields = []string{"labels", "matchLabels", "nodeSelector", "selector"}

// keptLabels are the domains of labels that describe the kind of an object.
var keptLabels = []string{"kubernetes.io", "k8s.io", "nvidia.com", "amd.com", "intel.com", "huawei.com"}

// namingLabels are subdomains with labels that contain names, or values that administrators choose.
var namingLabels = []string{
	"app.kubernetes.io", "batch.kubernetes.io", "apps.kubernetes.io", "statefulset.kubernetes.io", "node-restriction.kubernetes.io", "kops.k8s.io", "sigs.k8s.io",
}

// keptAnnotationValues are annotations with numbers of cards, or with one of a few words.
var keptAnnotationValues = []string{
	"volcano.sh/card.quota", "volcano.sh/card.deserved", "volcano.sh/card.guarantee", "volcano.sh/card.name", "volcano.sh/card.request", "volcano.sh/charged-cards",
	"volcano.sh/last-valid-quota", "volcano.sh/max-devices", "volcano.sh/hierarchy-weights", "volcano.sh/jdb-max-unavailable", "volcano.sh/jdb-min-available",
	"volcano.sh/numa-topology-policy", "volcano.sh/qos-level", "volcano.sh/revocable-zone", "volcano.sh/network-topology-mode",
}

// isSlice reports whether an object is the spec of a ResourceSlice.
func isSlice(content map[string]any) bool {
	_, has := content["pool"].(map[string]any)
	return has
}
