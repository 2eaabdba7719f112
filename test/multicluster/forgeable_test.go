// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// forgeable has the objects by kind. The placeholders are the metadata of the object and of its pods.
var forgeable = map[string]struct {
	resource schema.GroupVersionResource
	text     string
}{
	"Deployment":  {schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, `{apiVersion: apps/v1, kind: Deployment, %[1]s, spec: {selector: {matchLabels: {a: b}}, template: %[2]s}}`},
	"StatefulSet": {schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, `{apiVersion: apps/v1, kind: StatefulSet, %[1]s, spec: {serviceName: s, selector: {matchLabels: {a: b}}, template: %[2]s}}`},
	"DaemonSet":   {schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}, `{apiVersion: apps/v1, kind: DaemonSet, %[1]s, spec: {selector: {matchLabels: {a: b}}, template: %[2]s}}`},
	"CronJob":     {schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}, `{apiVersion: batch/v1, kind: CronJob, %[1]s, spec: {schedule: "@daily", jobTemplate: {spec: {template: %[2]s}}}}`},
	"Job":         {schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, `{apiVersion: batch/v1, kind: Job, %[1]s, spec: {template: %[2]s}}`},
}

// naming returns the creation of an object with annotations, annotations of its pods, labels, and labels of its pods.
func (f *fixture) naming(kind string, metadata ...string) write {
	for len(metadata) < 4 {
		metadata = append(metadata, "")
	}
	of := forgeable[kind]
	restart := "Always"
	if of.resource.Group == "batch" {
		restart = "Never"
	}
	labels := "{a: b"
	if metadata[3] != "" {
		labels += ", " + metadata[3][1:len(metadata[3])-1]
	}
	object := fmt.Sprintf("metadata: {name: forged, annotations: %s, labels: %s}", orNone(metadata[0]), orNone(metadata[2]))
	pods := fmt.Sprintf("{metadata: {annotations: %s, labels: %s}}, spec: {schedulerName: volcano, restartPolicy: %s, containers: [{name: main, image: main}]}}", orNone(metadata[1]), labels, restart)
	return write{resource: of.resource, namespace: f.namespace, create: fmt.Sprintf(of.text, object, pods)}
}

func (f *fixture) creating(object string) write {
	GinkgoHelper()
	read := &unstructured.Unstructured{}
	f.Expect(yaml.UnmarshalStrict([]byte(object), &read.Object)).To(Succeed(), object)
	resource, _ := meta.UnsafeGuessKindToResource(read.GroupVersionKind())
	return write{resource: resource, namespace: f.namespace, create: object}
}

func orNone(text string) string {
	if text == "" {
		return "null"
	}
	return text
}
