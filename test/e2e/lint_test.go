// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/lint"
)

// lintCluster runs kubectl devicequota lint, and returns "rule: message" of each finding about an object.
func lintCluster(ctx context.Context, input string, args ...string) (found map[string][]string, exitCode int) {
	GinkgoHelper()
	var out strings.Builder
	options := cli.NewOptions(genericiooptions.IOStreams{In: strings.NewReader(input), Out: &out, ErrOut: GinkgoWriter})
	kubeconfig := filepath.Join(controlPlane.State(), "kubeconfigs", "admin")
	options.Config.KubeConfig = &kubeconfig
	cmd := lint.New(options)
	cmd.SilenceUsage = true
	cmd.SetArgs(append(args, "-o", "json"))
	err := cmd.ExecuteContext(ctx)
	var exit *cli.ExitError
	if errors.As(err, &exit) {
		exitCode = exit.Code
	}
	var report struct {
		Findings []struct {
			Rule, Message string
			Object        struct{ Kind, Name string }
		}
	}
	Expect(json.Unmarshal([]byte(out.String()), &report)).To(Succeed(), "%v", err)
	found = map[string][]string{}
	for _, f := range report.Findings {
		key := f.Object.Kind + "/" + f.Object.Name
		found[key] = append(found[key], f.Rule+": "+f.Message)
	}
	return found, exitCode
}

var _ = Describe("kubectl devicequota lint", func() {
	It("says of each fault in the cluster what the event of the scheduler says", func(ctx context.Context) {
		f := newFixture(ctx)
		parent := f.queue(ctx, "parent", "root", limit(f.class, 2))
		for _, queue := range []struct{ reason, name string }{
			{"LimitAboveParent", f.queue(ctx, "child", parent, limit(f.class, 3))},
			{"QueueMisplaced", f.queue(ctx, "lost", f.name("gone"), nil)},
			{"UnknownDeviceClass", f.queue(ctx, "unknown", "root", limit(f.name("no-class"), 1))},
			{"ClassInCapability", f.limitedQueue(ctx, "class", "root", func(q *upstreamv1beta1.QueueSpec) {
				q.Capability = corev1.ResourceList{corev1.ResourceName(f.class): resource.MustParse("8")}
			})},
		} {
			expectWarning(ctx, metav1.NamespaceDefault, "Queue", queue.name, queue.reason, "")
			found, code := lintCluster(ctx, "")
			Expect(code).To(Equal(1))
			var said []string
			for _, event := range warningsOf(ctx, metav1.NamespaceDefault, "Queue", queue.name) {
				if strings.HasPrefix(event, queue.reason) {
					said = append(said, event)
				}
			}
			Expect(found["Queue/"+queue.name]).To(ContainElement(BeElementOf(said)))
		}
	})

	It("reports what a file brings, on top of the cluster, and nothing else", func(ctx context.Context) {
		f := newFixture(ctx)
		parent := f.queue(ctx, "parent", "root", limit(f.class, 2))
		lost := f.queue(ctx, "lost", f.name("gone"), nil)
		manifest := func(n int) string {
			return fmt.Sprintf("apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s}\nspec: {parent: %s, dra: {capability: {%s: {count: %d}}}}\n", f.name("new"), parent, f.class, n)
		}
		found, _ := lintCluster(ctx, manifest(1), "-f", "-", "--fail-on=warning")
		Expect(found).NotTo(HaveKey("Queue/" + lost))
		Expect(found["Queue/"+f.name("new")]).NotTo(ContainElement(HavePrefix("LimitAboveParent")))
		var code int
		found, code = lintCluster(ctx, manifest(3), "-f", "-", "--fail-on=warning")
		Expect(code).To(Equal(1))
		Expect(found["Queue/"+f.name("new")]).To(ContainElement(fmt.Sprintf(
			"LimitAboveParent: The queue's capability of %s is <3>, but that of queue <%s> above it is <2>, which holds: lower the one, or raise the other", f.class, parent)))
		Expect(found).NotTo(HaveKey("Queue/" + lost))
	})
})
