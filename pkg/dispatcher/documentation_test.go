// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/config"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// page is the page about the dispatcher.
const page = "../../docs/multicluster.md"

func TestExamplesInThePageCanBeApplied(t *testing.T) {
	objects, configurations := 0, 0
	for _, block := range blocksOf(t, "yaml") {
		if !bytes.Contains(block, []byte("apiVersion:")) {
			checkDocumentedConfig(t, block)
			configurations++
			continue
		}
		objects += checkManifests(t, page, block)
	}
	if objects < 5 || configurations != 1 {
		t.Errorf("the page has %d objects and %d configurations, want at least 5, and 1", objects, configurations)
	}
}

func TestSamplesForSeveralClustersCanBeApplied(t *testing.T) {
	err := fs.WalkDir(config.FS, "samples", func(name string, entry fs.DirEntry, err error) error {
		if inside, _ := path.Match("samples/multicluster/*/*.yaml", name); err != nil || !inside {
			return err
		}
		text, err := fs.ReadFile(config.FS, name)
		checkManifests(t, name, text)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Annotations in the page have the order of the sentence before the table.
func TestAnnotationsInThePageCanBeRead(t *testing.T) {
	parsers := []func(string) error{
		func(text string) error { _, err := binding.ParseHold(text); return err },
		func(text string) error { _, err := binding.ParseGrant(text); return err },
		func(text string) error { _, err := binding.ParseRequeue(text); return err },
		func(text string) error { _, err := binding.ParseChange(text); return err },
	}
	blocks := blocksOf(t, "json")
	if len(blocks) != len(parsers) {
		t.Fatalf("the page has %d annotations, want %d", len(blocks), len(parsers))
	}
	for i, parse := range parsers {
		if err := parse(string(blocks[i])); err != nil {
			t.Errorf("%s: %v", blocks[i], err)
		}
	}
}

// blocksOf returns the blocks of a language in the page.
func blocksOf(t *testing.T, language string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks [][]byte
	for _, match := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(text, -1) {
		blocks = append(blocks, match[1])
	}
	return blocks
}

// checkDocumentedConfig checks that the defaults in the page are the defaults of the code and of the manifest. The plugin
// capacity has its own test for its arguments.
func checkDocumentedConfig(t *testing.T, text []byte) {
	t.Helper()
	manifest, err := config.FS.ReadFile("dispatcher/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documented := parsed(t, text)
	for name, other := range map[string]*framework.Config{
		"config/dispatcher/config.yaml": parsed(t, manifest), "the default": parsed(t, []byte("tiers: [{plugins: [{name: priority}, {name: capacity}]}]")),
	} {
		if diff := cmp.Diff(other, documented, cmpopts.IgnoreFields(framework.PluginConfig{}, "Arguments")); diff != "" {
			t.Errorf("the page differs from %s (-there +page):\n%s", name, diff)
		}
	}
}

func parsed(t *testing.T, text []byte) *framework.Config {
	t.Helper()
	c, err := framework.ParseConfig(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// checkManifests decodes all objects of a text strictly, and returns their number.
func checkManifests(t *testing.T, name string, text []byte) int {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, resourceapi.AddToScheme, schedulingv1.AddToScheme,
		batchv1alpha1.AddToScheme, schedulingv1beta1.AddToScheme, policyv1alpha1.Install,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	objects := 0
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; objects++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := decoder.Decode(document, nil, nil); err != nil {
			t.Errorf("%s: %v\n%s", name, err, document)
		}
	}
}
