// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// argumentsIn reads the plugin's arguments from a configuration, as the scheduler does.
func argumentsIn(t *testing.T, text string) framework.Arguments {
	t.Helper()
	if !strings.Contains(text, "tiers:") {
		text = "actions: allocate\ntiers:\n- plugins:\n  - name: crossquota\n    arguments:\n" + text
	}
	_, tiers, _, _, err := scheduler.UnmarshalSchedulerConf(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, tier := range tiers {
		for _, option := range tier.Plugins {
			if option.Name == Name {
				return option.Arguments
			}
		}
	}
	t.Fatalf("no plugin %s in\n%s", Name, text)
	return nil
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// heading returns the last heading in a text.
func heading(text string) string {
	_, last, found := strings.Cut(text[strings.LastIndex(text, "\n#"):], " ")
	if title, _, ends := strings.Cut(last, "\n"); found && ends {
		return title
	}
	return text
}

// examplesOfTheManual returns the plugin's arguments in each example, by the heading above it.
func examplesOfTheManual(t *testing.T) map[string]framework.Arguments {
	t.Helper()
	content, err := os.ReadFile("../../../docs/crossquota.md")
	if err != nil {
		t.Fatal(err)
	}
	text, examples := "\n"+string(content), map[string]framework.Arguments{}
	for _, m := range yamlBlock.FindAllStringSubmatchIndex(text, -1) {
		var object corev1.ConfigMap
		if err := yaml.UnmarshalStrict([]byte(text[m[2]:m[3]]), &object); err != nil {
			t.Fatalf("%s: %v", text[m[2]:m[3]], err)
		}
		args := argumentsIn(t, object.Data["volcano-scheduler.conf"])
		if _, problems := newConfig(args); problems != nil {
			t.Error(problems)
		}
		examples[heading(text[:m[0]])] = args
	}
	return examples
}

const firstExample = "crossquota: what pods without GPU may take of GPU nodes"

// The configurations of the manual on a node with 64 cores, 256 GiB of memory, 1 TiB of disk and 4 FPGAs. The first pod of each pair fits, and
// the second exceeds the quota by little.
func TestTheConfigurationsOfTheManual(t *testing.T) {
	examples := examplesOfTheManual(t)
	for title, pods := range map[string][][2]string{
		firstExample:        {{"cpu=32", "cpu=32001m"}, {"memory=256Gi", ""}},
		"Several resources": {{"cpu=32", "cpu=32001m"}, {"memory=128Gi", "memory=137438953473"}, {"ephemeral-storage=200Gi", "ephemeral-storage=201Gi"}},
		"Percentages":       {{"cpu=16", "cpu=16001m"}, {"memory=128Gi", "memory=129Gi"}},
		"Mixed":             {{"cpu=24", "cpu=25"}, {"memory=64Gi", "memory=65Gi"}, {"ephemeral-storage=1Ti", "ephemeral-storage=1025Gi"}},
		"Custom resources":  {{"cpu=32", "cpu=33"}, {"example.com/fpga=2", "example.com/fpga=3"}, {"hugepages-2Mi=512Mi", "hugepages-2Mi=514Mi"}},
		"cpu only":          {{"cpu=32", "cpu=32001m"}, {"memory=256Gi", ""}},
	} {
		t.Run(title, func(t *testing.T) {
			args, found := examples[title]
			if !found {
				t.Fatal("docs/crossquota.md has no such example")
			}
			f := manualFixture(args)
			var all []*corev1.Pod
			for _, pair := range pods {
				for _, requests := range pair {
					if requests != "" {
						all = append(all, newPod(strings.ReplaceAll(requests, "=", "-"), "", requests))
					}
				}
			}
			f.job("job", 0, all...).open(t)
			for _, pair := range pods {
				if reason := f.refusal(strings.ReplaceAll(pair[0], "=", "-"), "gpu"); reason != "" {
					t.Errorf("%s is refused: %s", pair[0], reason)
				}
				if pair[1] != "" && f.refusal(strings.ReplaceAll(pair[1], "=", "-"), "gpu") == "" {
					t.Errorf("%s is not refused", pair[1])
				}
			}
		})
		delete(examples, title)
	}
	if len(examples) > 0 {
		t.Errorf("no test covers the examples %v", examples)
	}
}

func manualFixture(args framework.Arguments) *fixture {
	return newFixture(args).node("gpu", "cpu=64 memory=256Gi ephemeral-storage=1Ti example.com/fpga=4 hugepages-2Mi=1Gi nvidia.com/gpu=8").node("plain", "cpu=64").
		node("vendor", "cpu=64 amd.com/gpu=8").node("dra", "cpu=64")
}

// The scores of the configurations of the manual for a pod on an empty GPU node and on a plain node.
func TestWeightsOfTheConfigurationsOfTheManual(t *testing.T) {
	examples := examplesOfTheManual(t)
	for title, c := range map[string]struct {
		requests   string
		gpu, plain float64
	}{
		firstExample:        {"cpu=16 memory=1Gi", 10 * 16. / 32, 0},
		"Several resources": {"cpu=16 memory=96Gi ephemeral-storage=50Gi", 10 * (10*16./32 + 5*96./128 + 1*50./200) / 16, 0},
		"Percentages":       {"cpu=4 memory=64Gi", 10 * (10*4./16 + 1*64./128) / 11, 0},
		"Mixed":             {"cpu=12 memory=16Gi ephemeral-storage=512Gi", 10 * (10*12./24 + 1*16./64 + 1*512./1024) / 12, 10},
		"Custom resources":  {"cpu=8 example.com/fpga=2 hugepages-2Mi=256Mi", 10 * (10*8./32 + 1*256./512) / 11, 0},
		"cpu only":          {"cpu=8 memory=1Gi", 10 * 8. / 32, 0},
	} {
		f := manualFixture(examples[title]).job("job", 0, newPod("new", "", c.requests)).open(t)
		for node, want := range map[string]float64{"gpu": c.gpu, "plain": c.plain} {
			if got, err := f.opened.nodeOrder(f.task("new"), f.session.Nodes[node]); err != nil || math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: node %s scores %v (%v), want %v", title, node, got, err, want)
			}
		}
		framework.CleanupPluginBuilders()
	}
}

func TestNodesAndPodsOfTheConfigurationsOfTheManual(t *testing.T) {
	examples := examplesOfTheManual(t)
	huge := newPod("huge", "", "cpu=63")
	system := newPod("system", "", "cpu=63")
	system.Labels = map[string]string{"example.com/kind": "system"}
	train := newPod("train", "", "cpu=63")
	train.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("gpu")}}
	for title, want := range map[string]string{ // the refused pods with their nodes
		firstExample:        "huge@gpu system@gpu train@gpu",
		"Several resources": "huge@gpu system@gpu train@gpu",
		"Percentages":       "huge@gpu huge@vendor system@gpu system@vendor train@gpu train@vendor",
		"Mixed":             "huge@gpu system@gpu train@gpu",
		"Custom resources":  "huge@dra huge@gpu",
		"cpu only":          "huge@gpu system@gpu train@gpu",
	} {
		f := manualFixture(examples[title])
		f.DeviceClasses = []*resourceapi.DeviceClass{class("nvidia-a100")}
		f.ResourceSlices = []*resourceapi.ResourceSlice{slice("s", "gpu.nvidia.com", onNode("dra"), "A100")}
		f.ResourceClaims = []*resourceapi.ResourceClaim{claim("gpu", claimSpec("nvidia-a100"))}
		f.job("job", 0, huge.DeepCopy(), system.DeepCopy(), train.DeepCopy()).open(t)
		var refused []string
		for _, pod := range []string{"huge", "system", "train"} {
			for _, node := range []string{"dra", "gpu", "plain", "vendor"} {
				if f.refusal(pod, node) != "" {
					refused = append(refused, pod+"@"+node)
				}
			}
		}
		if got := strings.Join(refused, " "); got != want {
			t.Errorf("%s: refused are %s, want %s", title, got, want)
		}
		framework.CleanupPluginBuilders()
	}
}

// The manual names every argument, annotation, event and metric.
func TestTheManualIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../../docs/crossquota.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		argGPUResourceNames, argGPUDeviceClasses, argLabelSelector, argQuotaResources, argQuota + "<resource>", argQuotaPercentage + "<resource>",
		argWeight + "<resource>", argPluginWeight, argPreferPlain, quotaAnnotation + "<resource>", percentageAnnotation + "<resource>", strategyAnnotation,
		reasonInvalidQuota, reasonUnknownStrategy, "most-allocated", "least-allocated",
	} {
		if !strings.Contains(string(text), "`"+name) {
			t.Errorf("docs/crossquota.md does not mention %s", name)
		}
	}
}
