package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/ptr"
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
			if filepath.Base(file) == "dra.md" {
				continue // it is run, see below
			}
			for i, block := range yamlBlock.FindAllSubmatch(text, -1) {
				Expect(tryManifest(ctx, block[1])).To(Succeed(), "%s, YAML block %d", file, i+1)
				examples++
			}
		}
		Expect(examples).To(BeNumerically(">=", 2))
	})
})

// What docs/dra.md says of the examples before it.
var (
	charged = regexp.MustCompile("(?m)^> `([^`]+)` is charged (.*)\\.$")
	waits   = regexp.MustCompile("(?m)^> `([^`]+)` waits: `([^`]+)`\\.$")
	figure  = regexp.MustCompile("`([^=`]+)=([^`]+)`")
)

var _ = Describe("docs/dra.md", func() {
	It("says of each example what comes out", func(ctx context.Context) {
		text, err := os.ReadFile("../../docs/dra.md")
		Expect(err).NotTo(HaveOccurred())
		for _, sample := range []string{"shared.yaml", "mig.yaml"} {
			devices, err := os.ReadFile(filepath.Join("../../config/samples/devices", sample))
			Expect(err).NotTo(HaveOccurred())
			Expect(controlPlane.ApplyYAML(ctx, sample, devices)).To(Succeed())
		}
		checked := 0
		for _, section := range strings.Split(string(text), "\n## ") {
			block := yamlBlock.FindStringSubmatch(section)
			if block == nil {
				continue
			}
			Expect(controlPlane.ApplyYAML(ctx, "docs/dra.md", []byte(block[1]))).To(Succeed(), "%s", section)
			for _, m := range charged.FindAllStringSubmatch(section, -1) {
				var want []any
				for _, f := range figure.FindAllStringSubmatch(m[2], -1) {
					want = append(want, f[1], f[2])
				}
				expectAllocated(ctx, m[1], want...)
				checked++
			}
			for _, m := range waits.FindAllStringSubmatch(section, -1) {
				Eventually(func() bool { return warned(ctx, "default", "GetTaskRequestResourceFailed", m[2]) }).WithContext(ctx).Should(BeTrue(), "%s", m[0])
				checked++
			}
			for _, namespace := range []string{"default", "doc-admin"} { // the next example may need the devices
				Expect(kube.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, metav1.ListOptions{})).To(Succeed())
			}
		}
		Expect(checked).To(Equal(10), "statements in docs/dra.md")
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
