// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// keptAnnotations are the domains of the annotations that a scheduler may read.
var keptAnnotations = []string{"volcano.sh", "devicequota.io", "scheduling.k8s.io", "resource.kubernetes.io", "scheduler.alpha.kubernetes.io"}

// keptOfContainers are the fields of containers that decide about nodes.
var keptOfContainers = []string{"name", "resources", "ports", "restartPolicy"}

// droppedOfPods are the fields of pod specs that no scheduler reads.
var droppedOfPods = []string{"ephemeralContainers", "imagePullSecrets", "serviceAccountName", "serviceAccount", "hostAliases", "dnsConfig", "securityContext"}

// dropped are the fields that no scheduler reads, by kind.
var dropped = map[string][]string{
	"Job": {
		"spec.plugins", "status.conditions", "status.taskStatusCount", "status.controlledResources", "status.state.message", "status.state.reason",
	},
	"PersistentVolume":      {"status.message"},
	"PersistentVolumeClaim": {"status.conditions"},
	"StorageClass":          {"parameters", "mountOptions"},
	"Service":               {"status"},
	"ReplicaSet":            {"spec.template"},
	"StatefulSet":           {"spec.template", "spec.volumeClaimTemplates"},
	"Node": {
		"status.images", "status.nodeInfo", "status.addresses", "status.daemonEndpoints", "status.volumesInUse", "status.volumesAttached", "status.config",
		"status.runtimeHandlers",
	},
	"ResourceClaim":         {"spec.devices.config", "status.allocation.devices.config", "status.devices"},
	"ResourceClaimTemplate": {"spec.spec.devices.config"},
	"DeviceClass":           {"spec.config"},
}

// keptWithin are the only fields of a part that a scheduler reads, by kind and part.
var keptWithin = map[string]map[string][]string{
	"Pod": {"status": {"phase", "conditions", "startTime", "nominatedNodeName", "resourceClaimStatuses", "extendedResourceClaimStatus", "resize"}},
	"PersistentVolume": {
		"spec":     {"accessModes", "capacity", "claimRef", "csi", "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName", "volumeMode"},
		"spec.csi": {"driver", "volumeHandle"},
	},
	"PersistentVolumeClaim": {"spec": {"accessModes", "dataSource", "resources", "selector", "storageClassName", "volumeMode", "volumeName"}},
	"Service":               {"spec": {"selector"}},
	"Node":                  {"spec": {"taints", "unschedulable"}},
}

// strip removes the fields that no scheduler reads, above all possible secrets: environments, images, commands, and configuration of devices.
func strip(object *Object) {
	object.SetManagedFields(nil)
	object.SetSelfLink("")
	stripAnnotations(object.Object)
	kind := object.GetKind()
	for _, field := range dropped[kind] {
		unstructured.RemoveNestedField(object.Object, strings.Split(field, ".")...)
	}
	for part, fields := range keptWithin[kind] {
		content, _, _ := unstructured.NestedFieldNoCopy(object.Object, strings.Split(part, ".")...)
		keepOnly(content, fields...)
	}
	switch kind {
	case "Pod":
		stripPodSpec(object.Object, "spec")
		nameEphemeral(object)
		stripConditions(object.Object)
	case "PodGroup", "Node":
		stripConditions(object.Object)
	case "Job":
		stripTasks(object.Object)
	}
}

// stripAnnotations drops annotations that no scheduler reads.
func stripAnnotations(content map[string]any) {
	metadata, _ := content["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for key := range annotations {
		domain, _, _ := strings.Cut(key, "/")
		if !slices.ContainsFunc(keptAnnotations, func(kept string) bool { return domain == kept || strings.HasSuffix(domain, "."+kept) }) {
			delete(annotations, key)
		}
	}
}

func stripPodSpec(content map[string]any, fields ...string) {
	spec, has, _ := unstructured.NestedFieldNoCopy(content, fields...)
	pod, is := spec.(map[string]any)
	if !has || !is {
		return
	}
	for _, field := range droppedOfPods {
		delete(pod, field)
	}
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := pod[list].([]any)
		for i := range containers {
			keepOnly(containers[i], keptOfContainers...)
		}
	}
	volumes, _ := pod["volumes"].([]any)
	for i := range volumes {
		volume, _ := volumes[i].(map[string]any)
		_, persistent := volume["persistentVolumeClaim"]
		_, ephemeral := volume["ephemeral"]
		if !persistent && !ephemeral {
			volumes[i] = map[string]any{"name": volume["name"], "emptyDir": map[string]any{}}
		}
	}
}

// stripConditions drops the messages of conditions, which name other objects.
func stripConditions(content map[string]any) {
	all, _, _ := unstructured.NestedFieldNoCopy(content, "status", "conditions")
	conditions, _ := all.([]any)
	for i := range conditions {
		keepOnly(conditions[i], "type", "status", "reason", "transitionID", "lastTransitionTime")
	}
}

// nameEphemeral sets the claim names of a pod's ephemeral volumes. These names contain the pod's name, which an anonymous state does not have.
func nameEphemeral(pod *Object) {
	all, _, _ := unstructured.NestedFieldNoCopy(pod.Object, "spec", "volumes")
	volumes, _ := all.([]any)
	for i := range volumes {
		volume, _ := volumes[i].(map[string]any)
		name, _ := volume["name"].(string)
		if _, ephemeral := volume["ephemeral"]; ephemeral {
			delete(volume, "ephemeral")
			volume["persistentVolumeClaim"] = map[string]any{"claimName": pod.GetName() + "-" + name}
		}
	}
}

func stripTasks(content map[string]any) {
	tasks, _, _ := unstructured.NestedFieldNoCopy(content, "spec", "tasks")
	all, _ := tasks.([]any)
	for i := range all {
		task, _ := all[i].(map[string]any)
		stripPodSpec(task, "template", "spec")
		if template, is := task["template"].(map[string]any); is {
			stripAnnotations(template)
		}
	}
}

func keepOnly(object any, fields ...string) {
	content, is := object.(map[string]any)
	if !is {
		return
	}
	for field := range content {
		if !slices.Contains(fields, field) {
			delete(content, field)
		}
	}
}
