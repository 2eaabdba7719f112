// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// manifest is an object and its source, for errors.
type manifest struct {
	source string
	object *unstructured.Unstructured
}

// readManifests reads files, and all files in folders that end in .yaml, .yml or .json, in the order of their names. The error names the file
// and the document.
func readManifests(paths ...string) ([]manifest, error) {
	var all []manifest
	for _, path := range paths {
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || file != path && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
				return err
			}
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			manifests, err := parseManifests(file, data)
			all = append(all, manifests...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("manifests: %w", err)
		}
	}
	return all, nil
}

// parseManifests parses YAML documents. It skips empty documents and splits lists into their items.
func parseManifests(source string, data []byte) ([]manifest, error) {
	var all []manifest
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		where := fmt.Sprintf("%s, document %d", source, number)
		json, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if string(json) == "null" {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(json); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if object.IsList() {
			items, err := object.ToList()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", where, err)
			}
			for i := range items.Items {
				all = append(all, manifest{where, &items.Items[i]})
			}
			continue
		}
		if object.GetAPIVersion() == "" || object.GetKind() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("%s: an object needs apiVersion, kind and metadata.name", where)
		}
		all = append(all, manifest{where, object})
	}
}

// ranks order kinds, each after those it depends on. Other kinds come last.
var ranks = map[string]int{
	"Namespace":             1,
	"ServiceAccount":        2,
	"ClusterRole":           2,
	"Role":                  2,
	"ClusterRoleBinding":    3,
	"RoleBinding":           3,
	"PriorityClass":         4,
	"ResourceQuota":         4,
	"ConfigMap":             4,
	"Secret":                4,
	"DeviceClass":           4,
	"Node":                  5,
	"ResourceSlice":         6,
	"Queue":                 7,
	"ResourceClaimTemplate": 8,
	"ResourceClaim":         8,
}

// sortManifests sorts the manifests by rank. Manifests of equal rank keep their order.
func sortManifests(manifests []manifest) []manifest {
	rank := func(m manifest) int {
		if r, listed := ranks[m.object.GetKind()]; listed {
			return r
		}
		return len(ranks)
	}
	sorted := slices.Clone(manifests)
	slices.SortStableFunc(sorted, func(a, b manifest) int { return cmp.Compare(rank(a), rank(b)) })
	return sorted
}

func separateCRDs(manifests []manifest) (crds, others []manifest) {
	for _, m := range manifests {
		if m.object.GetKind() == "CustomResourceDefinition" {
			crds = append(crds, m)
		} else {
			others = append(others, m)
		}
	}
	return crds, others
}
