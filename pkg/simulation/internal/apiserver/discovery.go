// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// discover answers requests about the server. It reports whether the path is one of these.
func (s *Server) discover(parts []string) (any, bool) {
	switch {
	case len(parts) == 1 && parts[0] == "version":
		major, rest, _ := strings.Cut(strings.TrimPrefix(s.version, "v"), ".")
		minor, _, _ := strings.Cut(rest, ".")
		return version.Info{Major: major, Minor: minor, GitVersion: s.version}, true
	case len(parts) == 1 && parts[0] == "api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}, true
	case len(parts) == 1 && parts[0] == "apis":
		return s.groups(), true
	case len(parts) == 2 && parts[0] == "api":
		return s.resources("", parts[1])
	case len(parts) == 3 && parts[0] == "apis":
		return s.resources(parts[1], parts[2])
	}
	return nil, false
}

func (s *Server) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
	for _, r := range Resources {
		known := slices.ContainsFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == r.Group })
		if r.Group != "" && !known {
			served := metav1.GroupVersionForDiscovery{GroupVersion: r.GroupVersion().String(), Version: r.Version}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: r.Group, Versions: []metav1.GroupVersionForDiscovery{served}, PreferredVersion: served})
		}
	}
	return list
}

// resources lists the resources of a group and version. It returns false if the server does not serve them.
func (s *Server) resources(group, version string) (any, bool) {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}}
	for _, r := range Resources {
		if r.Group != group || r.Version != version {
			continue
		}
		list.GroupVersion = r.GroupVersion().String()
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: r.Resource, Kind: r.Kind, Namespaced: r.Namespaced, Verbs: metav1.Verbs{"get", "list", "watch", "create", "update", "patch", "delete"}})
	}
	return list, len(list.APIResources) > 0
}
