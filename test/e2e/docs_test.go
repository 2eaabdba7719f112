// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// otherwiseTried are the pages whose manifests other tests apply: multicluster.md is for Karmada, and gitops.md needs more CRDs.
var otherwiseTried = []string{
	"multicluster.md", "dra.md", "cards.md", "elasticity.md", "failures.md", "migration.md", "kubectl.md", "tour.md", "simulate.md", "gitops.md", "compute-domains.md",
}

var _ = Describe("The documentation", func() {
	It("has only manifests that the API server accepts", func(ctx context.Context) {
		files := must(filepath.Glob("../../docs/*.md"))
		examples := 0
		for _, file := range append(files, "../../README.md") {
			text := must(os.ReadFile(file))
			if slices.Contains(otherwiseTried, filepath.Base(file)) {
				continue
			}
			for i, block := range yamlBlock.FindAllSubmatch(text, -1) {
				Expect(tryManifest(ctx, block[1])).To(Succeed(), "%s, YAML block %d", file, i+1)
				examples++
			}
		}
		Expect(examples).To(BeNumerically(">=", 2))
	})
})

// Statements in a page about the example before them.
var (
	charged = regexp.MustCompile("(?m)^> `([^`]+)` is charged (.*)\\.$")
	waits   = regexp.MustCompile("(?m)^> `([^`]+)` waits: `([^`]+)`\\.$")
	figure  = regexp.MustCompile("`([^=`]+)=([^`]+)`")
)

// Pages with examples that run in their order.
var _ = DescribeTable("Examples do what the page says in", func(ctx context.Context, page string, statements int, expectCharge func(context.Context, string, [][]string), samples ...string) {
	text := must(os.ReadFile(filepath.Join("../../docs", page)))
	cleanUp(kube.ResourceV1().DeviceClasses().Delete, "h100-for-inference") // with this class, every sample device is a card
	for _, sample := range samples {
		Expect(controlPlane.Apply(ctx, filepath.Join("../../config/samples", sample))).To(Succeed())
	}
	checked := 0
	for _, section := range strings.Split(string(text), "\n## ") {
		block := yamlBlock.FindStringSubmatch(section)
		if block == nil {
			continue
		}
		applyInOrder(ctx, page, block[1])
		for _, m := range charged.FindAllStringSubmatch(section, -1) {
			expectCharge(ctx, m[1], figure.FindAllStringSubmatch(m[2], -1))
			checked++
		}
		for _, m := range waits.FindAllStringSubmatch(section, -1) {
			Eventually(func() bool { return hasWarning(ctx, "default", m[2]) }).WithContext(ctx).Should(BeTrue(), "%s", m[0])
			checked++
		}
		for _, namespace := range []string{"default", "doc-admin"} { // frees their devices for the next example
			Expect(kube.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, metav1.ListOptions{})).To(Succeed())
			Expect(vc.SchedulingV1beta1().PodGroups(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
		}
	}
	Expect(checked).To(Equal(statements), "statements in the page")
},
	Entry(nil, "dra.md", 10, func(ctx context.Context, queue string, figures [][]string) {
		var want []any
		for _, f := range figures {
			want = append(want, f[1], f[2])
		}
		expectAllocated(ctx, queue, want...)
	}, "devices/shared.yaml", "devices/mig.yaml"),
	Entry(nil, "cards.md", 5, func(ctx context.Context, queue string, figures [][]string) {
		var want []string
		for _, f := range figures {
			want = append(want, f[1]+"="+f[2])
		}
		expectCards(ctx, queue, want...)
		for _, node := range []string{"doc-h20", "h800-0", "h800-1"} {
			cleanUp(kube.CoreV1().Nodes().Delete, node)
		}
	}, "mixed/nodes.yaml"),
)

// applyInOrder applies an example. It creates the pods last, each when the scheduler can see the ones before it: Volcano's controllers
// make the PodGroups of several pods in any order.
func applyInOrder(ctx context.Context, page, example string) {
	GinkgoHelper()
	var others, pods []string
	for _, object := range strings.Split(example, "\n---\n") {
		if strings.Contains("\n"+object, "\nkind: Pod\n") {
			pods = append(pods, object)
		} else {
			others = append(others, object)
		}
	}
	if len(others) > 0 {
		Expect(controlPlane.ApplyYAML(ctx, page, []byte(strings.Join(others, "\n---\n")))).To(Succeed(), "%s", example)
	}
	for _, object := range pods {
		Expect(controlPlane.ApplyYAML(ctx, page, []byte(object))).To(Succeed(), "%s", object)
		var pod corev1.Pod
		Expect(yaml.Unmarshal([]byte(object), &pod)).To(Succeed())
		Eventually(func(g Gomega) {
			now, err := kube.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(now.Annotations).To(HaveKey(upstreamv1beta1.KubeGroupNameAnnotationKey)) // written after the PodGroup
		}).WithContext(ctx).Should(Succeed())
	}
}

// hasWarning reports whether a warning in a namespace contains a message.
func hasWarning(ctx context.Context, namespace, message string) bool {
	return strings.Contains(strings.Join(eventsIn(ctx, namespace, "type=Warning"), "\n"), message)
}

// tryManifest creates an object in dry-run mode, with kubectl's strict validation.
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
