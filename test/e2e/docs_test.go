package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

var _ = Describe("The documentation", func() {
	It("has only manifests that the API server takes", func(ctx context.Context) {
		files, err := filepath.Glob("../../docs/*.md")
		Expect(err).NotTo(HaveOccurred())
		examples := 0
		for _, file := range append(files, "../../README.md") {
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			for i, block := range yamlBlock.FindAllSubmatch(text, -1) {
				Expect(tryManifest(ctx, block[1])).To(Succeed(), "%s, YAML block %d", file, i+1)
				examples++
			}
		}
		Expect(examples).To(BeNumerically(">=", 2))
	})
})

// tryManifest has the API server check a manifest as strictly as kubectl would, and throw it
// away.
func tryManifest(ctx context.Context, text []byte) error {
	json, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(json); err != nil {
		return err
	}
	kind := object.GroupVersionKind()
	mapping, err := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kube.Discovery())).RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	object.SetName(fmt.Sprintf("%s-%d", object.GetName(), GinkgoRandomSeed()))
	_, err = dynamic.NewForConfigOrDie(controlPlane.Config()).Resource(mapping.Resource).Namespace(object.GetNamespace()).Create(ctx, object,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	return err
}
