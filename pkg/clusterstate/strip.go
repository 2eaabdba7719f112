// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// keptAnnotations are the domains of the annotations that a scheduler may read.
var keptAnnotations = []string{"volcano.sh", "devicequota.io", "scheduling.k8s.io", "resource.kubernetes.io", "scheduler.alpha.kubernetes.io"}

// keptOfContainers are the fields of containers that decide where a pod can go.
var keptOfContainers = []string{"name", "resources", "ports", "restartPolicy"}

// strip removes what no scheduler reads, above all what may be secret: environments, images, commands, configuration of devices.
func strip(object *Object) {
	object.SetManagedFields(nil)
	object.SetSelfLink("")
	stripAnnotations(object.Object)
	switch object.GetKind() {
	case "Pod":
		stripPodSpec(object.Object, "spec")
		stripPodStatus(object.Object)
		nameEphemeral(object)
	case "Job":
		stripTasks(object.Object)
		unstructured.RemoveNestedField(object.Object, "status", "conditions")
		unstructured.RemoveNestedField(object.Object, "status", "taskStatusCount")
		unstructured.RemoveNestedField(object.Object, "status", "controlledResources")
		unstructured.RemoveNestedField(object.Object, "status", "state", "message")
		unstructured.RemoveNestedField(object.Object, "status", "state", "reason")
	case "PodGroup":
		stripConditions(object.Object)
	case "PersistentVolume":
		keepOnly(object.Object["spec"], "accessModes", "capacity", "claimRef", "csi", "nodeAffinity", "persistentVolumeReclaimPolicy", "storageClassName", "volumeMode")
		csi, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "csi")
		keepOnly(csi, "driver", "volumeHandle")
		unstructured.RemoveNestedField(object.Object, "status", "message")
	case "PersistentVolumeClaim":
		keepOnly(object.Object["spec"], "accessModes", "dataSource", "resources", "selector", "storageClassName", "volumeMode", "volumeName")
		unstructured.RemoveNestedField(object.Object, "status", "conditions")
	case "StorageClass":
		delete(object.Object, "parameters")
		delete(object.Object, "mountOptions")
	case "Service":
		keepOnly(object.Object["spec"], "selector")
		delete(object.Object, "status")
	case "ReplicaSet", "StatefulSet":
		unstructured.RemoveNestedField(object.Object, "spec", "template")
		unstructured.RemoveNestedField(object.Object, "spec", "volumeClaimTemplates")
	case "Node":
		for _, field := range []string{"images", "nodeInfo", "addresses", "daemonEndpoints", "volumesInUse", "volumesAttached", "config", "runtimeHandlers"} {
			unstructured.RemoveNestedField(object.Object, "status", field)
		}
		keepOnly(object.Object["spec"], "taints", "unschedulable")
		stripConditions(object.Object)
	case "ResourceClaim":
		unstructured.RemoveNestedField(object.Object, "spec", "devices", "config")
		unstructured.RemoveNestedField(object.Object, "status", "allocation", "devices", "config")
		unstructured.RemoveNestedField(object.Object, "status", "devices")
	case "ResourceClaimTemplate":
		unstructured.RemoveNestedField(object.Object, "spec", "spec", "devices", "config")
	case "DeviceClass":
		unstructured.RemoveNestedField(object.Object, "spec", "config")
	}
}

// stripAnnotations drops annotations, also of templates within the object.
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
	delete(pod, "ephemeralContainers")
	delete(pod, "imagePullSecrets")
	delete(pod, "serviceAccountName")
	delete(pod, "serviceAccount")
	delete(pod, "hostAliases")
	delete(pod, "dnsConfig")
	delete(pod, "securityContext")
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

func stripPodStatus(content map[string]any) {
	status, _ := content["status"].(map[string]any)
	keepOnly(status, "phase", "conditions", "startTime", "nominatedNodeName", "resourceClaimStatuses", "extendedResourceClaimStatus", "resize")
	stripConditions(content)
}

// stripConditions drops the messages of conditions, which name others.
func stripConditions(content map[string]any) {
	all, _, _ := unstructured.NestedFieldNoCopy(content, "status", "conditions")
	conditions, _ := all.([]any)
	for i := range conditions {
		keepOnly(conditions[i], "type", "status", "reason", "transitionID", "lastTransitionTime")
	}
}

// nameEphemeral names the claims of a pod's ephemeral volumes, which have the name of the pod in theirs: in a state without names it says nothing.
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
	unstructured.RemoveNestedField(content, "spec", "plugins")
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
