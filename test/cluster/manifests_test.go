// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseManifests(t *testing.T) {
	for _, c := range []struct {
		name, yaml, want, wantErr string
	}{
		{name: "empty documents", yaml: "# a comment\n---\n---\n"},
		{
			name: "several documents and a list",
			yaml: "{apiVersion: v1, kind: Node, metadata: {name: a}}\n---\n" +
				"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: b}}]}\n",
			want: "Node/a Pod/b",
		},
		{name: "invalid YAML", yaml: "{apiVersion: v1, kind: Node, metadata: {name: a}}\n---\na: [", wantErr: "file, document 2: "},
		{name: "not an object", yaml: "- a list\n", wantErr: "file, document 1: "},
		{name: "no name", yaml: "{apiVersion: v1, kind: Node}", wantErr: "file, document 1: an object needs apiVersion, kind and metadata.name"},
		{name: "a key twice", yaml: "{apiVersion: v1, kind: Node, kind: Pod, metadata: {name: a}}", wantErr: `file, document 1: `},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseManifests("file", []byte(c.yaml))
			if (err != nil || c.wantErr != "") && (err == nil || !strings.HasPrefix(err.Error(), c.wantErr)) {
				t.Fatalf("error %v, want %q", err, c.wantErr)
			}
			if names := describe(got); names != c.want {
				t.Errorf("got %q, want %q", names, c.want)
			}
		})
	}
}

func describe(manifests []manifest) string {
	var names []string
	for _, m := range manifests {
		names = append(names, m.object.GetKind()+"/"+m.object.GetName())
	}
	return strings.Join(names, " ")
}

func TestLargeNumbersAreExact(t *testing.T) {
	manifests, err := parseManifests("file", []byte("{apiVersion: v1, kind: X, metadata: {name: a}, number: 9223372036854775807}"))
	if err != nil {
		t.Fatal(err)
	}
	if n := manifests[0].object.Object["number"]; n != int64(9223372036854775807) {
		t.Errorf("got %v", n)
	}
}

func TestSortManifests(t *testing.T) {
	var yaml []string
	for _, kind := range []string{"Job", "Pod", "Queue", "ResourceSlice", "Node", "Namespace", "DeviceClass", "ResourceClaim"} {
		yaml = append(yaml, "{apiVersion: v1, kind: "+kind+", metadata: {name: a}}")
	}
	manifests, err := parseManifests("file", []byte(strings.Join(yaml, "\n---\n")))
	if err != nil {
		t.Fatal(err)
	}
	want := "Namespace/a DeviceClass/a Node/a ResourceSlice/a Queue/a ResourceClaim/a Job/a Pod/a"
	if got := describe(sortManifests(manifests)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReadManifests(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"b.yaml":      "{apiVersion: v1, kind: B, metadata: {name: b}}",
		"a.json":      `{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}}`,
		"README.md":   "no manifest",
		"sub/c.yml":   "{apiVersion: v1, kind: C, metadata: {name: c}}",
		"odd.notyaml": "{apiVersion: v1, kind: D, metadata: {name: d}}",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	manifests, err := readManifests(dir, filepath.Join(dir, "odd.notyaml"))
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(manifests); got != "A/a B/b C/c D/d" {
		t.Errorf("got %s", got)
	}
	if _, err := readManifests(filepath.Join(dir, "missing")); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("error %v does not name the missing path", err)
	}
	if !slices.IsSorted([]string{manifests[0].source, manifests[1].source, manifests[2].source}) {
		t.Error("files are not read in the order of their names")
	}
}
