// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/devicequota/devicequota/config"
)

type object = map[string]any

// TestQueueCRDIsASupersetOfUpstreams compares our CRD with Volcano's: it adds spec.dra and columns, and nothing
// else differs.
func TestQueueCRDIsASupersetOfUpstreams(t *testing.T) {
	const file = "scheduling.volcano.sh_queues.yaml"
	oursYAML, err := config.FS.ReadFile("crd/" + file)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "volcano.sh/volcano").Output()
	if err != nil {
		t.Fatal(err)
	}
	upstreamsYAML, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "config/crd/volcano/bases", file))
	if err != nil {
		t.Fatal(err)
	}
	ours, upstreams := parse(t, oursYAML), parse(t, upstreamsYAML)

	spec := at(t, ours, "spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "properties").(object)
	if spec["dra"] == nil {
		t.Error("our CRD has no spec.dra")
	}
	delete(spec, "dra")
	version := at(t, ours, "spec", "versions", 0).(object)
	columns := version["additionalPrinterColumns"].([]any)
	if got := fmt.Sprint(at(t, columns, 1, "name"), " ", at(t, columns, 2, "name")); len(columns) != 3 || got != "DEVICES CARDS" {
		t.Errorf("the columns of our CRD are %v", columns)
	}
	version["additionalPrinterColumns"] = columns[:1]
	for _, crd := range []object{ours, upstreams} {
		delete(at(t, crd, "metadata").(object), "annotations") // controller-gen's version
	}
	if diff := cmp.Diff(withoutDescriptions(upstreams), withoutDescriptions(ours)); diff != "" {
		t.Errorf("our CRD without spec.dra and columns is not upstream's (-upstream's +ours):\n%s", diff)
	}
}

// TestCRDForOlderKubernetes checks that the CRD for older versions of Kubernetes lacks exactly the rules that
// read quantities.
func TestCRDForOlderKubernetes(t *testing.T) {
	current, err := os.ReadFile("crd/scheduling.volcano.sh_queues.yaml")
	if err != nil {
		t.Fatal(err)
	}
	older, err := os.ReadFile("crd-before-1.34/scheduling.volcano.sh_queues.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, left := withoutQuantities(parse(t, current))
	if diff := cmp.Diff(want, any(parse(t, older))); diff != "" {
		t.Errorf("the CRD for older versions of Kubernetes (-want +got):\n%s", diff)
	}
	if left == 0 {
		t.Error("no rule reads quantities, so one CRD is enough")
	}
}

// withoutQuantities removes the rules that read quantities, and returns their number.
func withoutQuantities(value any) (any, int) {
	left := 0
	switch value := value.(type) {
	case object:
		for key, child := range value {
			var n int
			value[key], n = withoutQuantities(child)
			left += n
		}
	case []any:
		kept := []any{}
		for _, child := range value {
			if rule, isRule := child.(object); isRule && strings.Contains(fmt.Sprint(rule["rule"]), "quantity(") {
				left++
				continue
			}
			child, n := withoutQuantities(child)
			kept, left = append(kept, child), left+n
		}
		return kept, left
	}
	return value, left
}

// TestEveryFieldOfDRAIsDescribed checks the descriptions that kubectl explain shows for spec.dra.
func TestEveryFieldOfDRAIsDescribed(t *testing.T) {
	data, err := config.FS.ReadFile("crd/scheduling.volcano.sh_queues.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dra := at(t, parse(t, data), "spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "properties", "dra").(object)
	if fields := checkDescribed(t, "dra", dra); fields != 1+3+3*2 {
		t.Errorf("checked %d fields, want dra, its three limits, and count and capacity of each", fields)
	}
}

// checkDescribed returns the number of named fields in a schema and below.
func checkDescribed(t *testing.T, name string, schema object) int {
	if d, _ := schema["description"].(string); len(d) < 20 {
		t.Errorf("%s has no useful description: %q", name, d)
	}
	fields := 1
	for of := schema; of != nil; of, _ = of["additionalProperties"].(object) {
		properties, _ := of["properties"].(object)
		for property, s := range properties {
			fields += checkDescribed(t, name+"."+property, s.(object))
		}
	}
	return fields
}

func parse(t *testing.T, data []byte) object {
	t.Helper()
	var crd object
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// at follows keys of maps and indices of lists.
func at(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			value = value.(object)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	if value == nil {
		t.Fatalf("no value at %v", path)
	}
	return value
}

// withoutDescriptions removes descriptions, but not a property of that name.
func withoutDescriptions(value any) any {
	switch value := value.(type) {
	case object:
		kept := object{}
		for key, v := range value {
			if _, text := v.(string); key == "description" && text {
				continue
			}
			kept[key] = withoutDescriptions(v)
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i, v := range value {
			kept[i] = withoutDescriptions(v)
		}
		return kept
	default:
		return value
	}
}
