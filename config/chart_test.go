// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestTheChartHasTheManifests as they are here: it has copies.
func TestTheChartHasTheManifests(t *testing.T) {
	chart := filepath.Join("..", "charts", "devicequota", "config")
	var copies []string
	err := filepath.WalkDir(chart, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(chart, path)
		if err != nil {
			return err
		}
		copies = append(copies, name)
		copied, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if manifest, err := os.ReadFile(name); err != nil || !bytes.Equal(copied, manifest) {
			t.Errorf("%s is not what config/%s is: run `make generate`: %v", path, name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"admission", "crd", "crd-before-1.34", "rbac", "visibility", "webhook"} {
		manifests, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range manifests {
			if filepath.Base(name) != "kustomization.yaml" && !slices.Contains(copies, name) {
				t.Errorf("%s has no copy of config/%s: run `make generate`", chart, name)
			}
		}
	}
}
