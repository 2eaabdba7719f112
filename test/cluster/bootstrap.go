// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/devicequota/devicequota/config"
)

const (
	// crdFolder is the folder with copies of Volcano's CRDs beside the binaries.
	crdFolder  = "crds"
	stagesFile = "stages.yaml"
)

// stages are kwok's rules for the lifecycle of nodes and pods.
//
//go:embed stages.yaml
var stages []byte

// rbac has the permissions of components other than the scheduler.
//
//go:embed rbac.yaml
var rbac []byte

// bootstrap creates what Volcano needs before it starts: its CRDs, with this project's Queue CRD as a replacement, its namespace, the
// permissions of its components, and the admission policies.
func (c *Cluster) bootstrap(ctx context.Context) error {
	all, err := c.crds()
	if err != nil {
		return err
	}
	rights, err := parseManifests("rbac.yaml", rbac)
	if err != nil {
		return err
	}
	shipped, err := embedded("rbac", "admission")
	if err != nil {
		return err
	}
	return c.apply(ctx, slices.Concat(all, rights, shipped))
}

// crds returns Volcano's CRDs. The CRDs in config/crd replace Volcano's CRDs of the same name.
func (c *controlPlane) crds() ([]manifest, error) {
	theirs, err := readManifests(filepath.Join(c.bin, crdFolder))
	if err != nil {
		return nil, err
	}
	ours, err := embedded("crd")
	if err != nil {
		return nil, err
	}
	replaced := map[string]bool{}
	for _, m := range ours {
		replaced[m.object.GetName()] = true
	}
	all := ours
	for _, m := range theirs {
		if !replaced[m.object.GetName()] {
			all = append(all, m)
		}
	}
	return all, nil
}

// embedded parses all manifests of files and folders of package config.
func embedded(paths ...string) ([]manifest, error) {
	var all []manifest
	add := func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := config.FS.ReadFile(path)
		if err != nil {
			return err
		}
		manifests, err := parseManifests("config/"+path, data)
		all = append(all, manifests...)
		return err
	}
	for _, path := range paths {
		if err := fs.WalkDir(config.FS, path, add); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// waitForCondition waits until an object without a namespace has a condition, and returns the object.
func (c *controlPlane) waitForCondition(ctx context.Context, resource schema.GroupVersionResource, name, condition string) (*unstructured.Unstructured, error) {
	var object *unstructured.Unstructured
	err := wait.PollUntilContextTimeout(ctx, readyPoll, readyTimeout, true, func(ctx context.Context) (bool, error) {
		var err error
		if object, err = c.dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(entry any) bool {
			c, is := entry.(map[string]any)
			return is && c["type"] == condition && c["status"] == "True"
		}), nil
	})
	return object, err
}

// waitForCRDs waits until the API server serves the CRDs and their watches.
func (c *controlPlane) waitForCRDs(ctx context.Context, crds []manifest) error {
	if len(crds) == 0 {
		return nil
	}
	var served []schema.GroupVersionResource
	for _, m := range crds {
		crd, err := c.waitForCondition(ctx, crdResource, m.object.GetName(), "Established")
		if err != nil {
			return fmt.Errorf("waiting for CustomResourceDefinition %s to be established: %w", m.object.GetName(), err)
		}
		served = append(served, storedResource(crd))
	}
	c.applier.mapper.Reset()
	return c.waitForWatches(ctx, served)
}

// waitForWatches waits until the API server has filled its watch caches. Until then, it answers lists from etcd, and refuses watches for a second.
// Informers then list again, and may see objects for the first time that have changed meanwhile. Volcano's job controller handles only updates of
// PodGroups: it would never create the pods of a job that was let in before.
func (c *controlPlane) waitForWatches(ctx context.Context, resources []schema.GroupVersionResource) error {
	for _, resource := range resources { // the first request makes the API server begin
		err := wait.PollUntilContextTimeout(ctx, readyPoll, readyTimeout, true, func(ctx context.Context) (bool, error) {
			_, err := c.dynamic.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil, err
		})
		if err != nil {
			return fmt.Errorf("listing %s: %w", resource, err)
		}
	}
	for _, resource := range resources {
		watch, err := c.dynamic.Resource(resource).Watch(ctx, metav1.ListOptions{}) // the client tries again as long as the API server asks for it
		if err != nil {
			return fmt.Errorf("watching %s: %w", resource, err)
		}
		watch.Stop()
	}
	return nil
}

// storedResource returns the resource of a CRD in the version in which it is stored.
func storedResource(crd *unstructured.Unstructured) schema.GroupVersionResource {
	resource := schema.GroupVersionResource{}
	resource.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	resource.Resource, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, entry := range versions {
		if version, is := entry.(map[string]any); is && version["storage"] == true {
			resource.Version, _ = version["name"].(string)
		}
	}
	return resource
}
