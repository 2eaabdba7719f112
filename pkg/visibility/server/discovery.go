// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

const groupPath = "/apis/" + v1alpha1.GroupName

var (
	reading  = metav1.Verbs{"get"}
	listing  = metav1.Verbs{"get", "list"}
	watching = metav1.Verbs{"get", "list", "watch"}
)

// resources are the resources that clients discover. None can be deleted, so controllers ignore them.
var resources = []metav1.APIResource{
	{Name: "configuration", SingularName: "configuration", Kind: "Configuration", Verbs: listing},
	{Name: "history", SingularName: "history", Kind: "History", Verbs: listing},
	{Name: "holders", SingularName: "holder", Namespaced: true, Kind: "HolderList", Verbs: listing},
	{Name: "jobs/explanation", Namespaced: true, Kind: "Explanation", Verbs: reading},
	{Name: "podgroups/explanation", Namespaced: true, Kind: "Explanation", Verbs: reading},
	{Name: "pods/explanation", Namespaced: true, Kind: "Explanation", Verbs: reading},
	{Name: "queues", SingularName: "queue", Kind: "QueueList", Verbs: listing},
	{Name: "updates", SingularName: "update", Kind: "Snapshot", Verbs: watching},
	{Name: "workloads", SingularName: "workload", Namespaced: true, Kind: "WorkloadList", Verbs: listing},
}

func discover(mux *http.ServeMux) {
	version := metav1.GroupVersionForDiscovery{GroupVersion: v1alpha1.SchemeGroupVersion.String(), Version: v1alpha1.SchemeGroupVersion.Version}
	group := metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: v1alpha1.GroupName,
		Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group}}
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.GroupVersion, APIResources: resources,
	}
	// API servers ask for schemas, and log errors until they get some. These are empty.
	v2 := map[string]any{"swagger": "2.0", "info": map[string]any{"title": v1alpha1.GroupName, "version": version.Version}, "paths": map[string]any{}}
	v3 := map[string]any{"paths": map[string]any{}}
	for path, document := range map[string]any{"/apis": groups, groupPath: group, versionPath: list, "/openapi/v2": v2, "/openapi/v3": v3} {
		for _, pattern := range []string{path, path + "/{$}"} {
			mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { answer(w, r, document) })
		}
	}
}
