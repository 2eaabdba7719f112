// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is one kind of objects that the server serves.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// status reports whether the status is a subresource. Other writes do not change it.
	status bool
}

const (
	withStatus, plain   = true, false
	namespaced, cluster = true, false
)

func resource(group, version, plural, kind string, isNamespaced, status bool) Resource {
	gvr := schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
	return Resource{GroupVersionResource: gvr, Kind: kind, Namespaced: isNamespaced, status: status}
}

// Resources are all resources of the server: those that the scheduler reads, and those that it writes.
var Resources = []Resource{
	resource("", "v1", "nodes", "Node", cluster, withStatus),
	resource("", "v1", "pods", "Pod", namespaced, withStatus),
	resource("", "v1", "namespaces", "Namespace", cluster, withStatus),
	resource("", "v1", "services", "Service", namespaced, withStatus),
	resource("", "v1", "events", "Event", namespaced, plain),
	resource("", "v1", "replicationcontrollers", "ReplicationController", namespaced, withStatus),
	resource("", "v1", "persistentvolumes", "PersistentVolume", cluster, withStatus),
	resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", namespaced, withStatus),
	resource("", "v1", "resourcequotas", "ResourceQuota", namespaced, withStatus),
	resource("apps", "v1", "replicasets", "ReplicaSet", namespaced, withStatus),
	resource("apps", "v1", "statefulsets", "StatefulSet", namespaced, withStatus),
	resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", namespaced, withStatus),
	resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", cluster, plain),
	resource("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", cluster, withStatus),
	resource("storage.k8s.io", "v1", "csinodes", "CSINode", cluster, plain),
	resource("storage.k8s.io", "v1", "csidrivers", "CSIDriver", cluster, plain),
	resource("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity", namespaced, plain),
	resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", cluster, plain),
	resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", cluster, plain),
	resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", cluster, plain),
	resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", namespaced, withStatus),
	resource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate", namespaced, plain),
	resource("resource.k8s.io", "v1alpha3", "devicetaintrules", "DeviceTaintRule", cluster, plain),
	resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", cluster, withStatus),
	resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", namespaced, plain),
	resource("batch.volcano.sh", "v1alpha1", "jobs", "Job", namespaced, withStatus),
	resource("topology.volcano.sh", "v1alpha1", "hypernodes", "HyperNode", cluster, withStatus),
	resource("nodeinfo.volcano.sh", "v1alpha1", "numatopologies", "Numatopology", cluster, plain),
}
