// SPDX-License-Identifier: Apache-2.0

// Command monitoring writes docs/metrics.md and the files in config/monitoring. It generates them from the list of metrics in pkg/metric and
// from the alerts and panels in this folder. The working directory is the root of the repository.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintf(os.Stderr, "monitoring: %v\n", err)
		os.Exit(1)
	}
}

// files returns the generated files by path.
func files() (map[string][]byte, error) {
	generated := map[string][]byte{"docs/metrics.md": metricsPage()}
	for path, generate := range map[string]func() ([]byte, error){
		"config/monitoring/rules.yaml":          rules,
		"config/monitoring/prometheusrule.yaml": prometheusRule,
		"config/monitoring/servicemonitor.yaml": serviceMonitor,
		"config/monitoring/dashboard.json":      dashboard,
	} {
		data, err := generate()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		generated[path] = data
	}
	return generated, nil
}

func write(root string) error {
	generated, err := files()
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(generated)) {
		if err := os.WriteFile(filepath.Join(root, path), generated[path], 0o644); err != nil { //nolint:gosec // everybody may read it
			return err
		}
	}
	return nil
}
