package crossquota

import (
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// argumentsIn reads the plugin's arguments out of a configuration, as the scheduler does.
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

var yamlBlock = regexp.MustCompile("(?s)\n### ([^\n]*)\n.*?```yaml\n(.*?)```")

// What the five usual configurations of the manual allow on a node with 64 cores, 256 GiB of
// memory, 1 TiB of disk and 4 FPGAs. Of two pods, the first is allowed, the second is a little
// too much.
func TestTheConfigurationsOfTheManual(t *testing.T) {
	text, err := os.ReadFile("../../../docs/crossquota.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := map[string]string{}
	for _, m := range yamlBlock.FindAllSubmatch(text, -1) {
		var object corev1.ConfigMap
		if err := yaml.UnmarshalStrict(m[2], &object); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
		examples[string(m[1])] = object.Data["volcano-scheduler.conf"]
	}
	for title, pods := range map[string][][2]string{
		"Several resources": {{"cpu=32", "cpu=32001m"}, {"memory=128Gi", "memory=137438953473"}, {"ephemeral-storage=200Gi", "ephemeral-storage=201Gi"}},
		"Percentages":       {{"cpu=16", "cpu=16001m"}, {"memory=128Gi", "memory=129Gi"}},
		"Mixed":             {{"cpu=24", "cpu=25"}, {"memory=64Gi", "memory=65Gi"}, {"ephemeral-storage=1Ti", "ephemeral-storage=1025Gi"}},
		"Custom resources":  {{"cpu=32", "cpu=33"}, {"example.com/fpga=2", "example.com/fpga=3"}, {"hugepages-2Mi=512Mi", "hugepages-2Mi=514Mi"}},
		"cpu only":          {{"cpu=32", "cpu=32001m"}, {"memory=256Gi", ""}},
	} {
		t.Run(title, func(t *testing.T) {
			configuration, found := examples[title]
			if !found {
				t.Fatal("docs/crossquota.md has no such example")
			}
			args := argumentsIn(t, configuration)
			if _, problems := newConfig(args); problems != nil {
				t.Error(problems)
			}
			s := newScene(args).node("gpu", "cpu=64 memory=256Gi ephemeral-storage=1Ti example.com/fpga=4 hugepages-2Mi=1Gi nvidia.com/gpu=8").node("plain", "cpu=64")
			var all []*corev1.Pod
			for _, pair := range pods {
				for _, requests := range pair {
					if requests != "" {
						all = append(all, newPod(strings.ReplaceAll(requests, "=", "-"), "", requests))
					}
				}
			}
			s.job("job", 0, all...).open(t)
			for _, pair := range pods {
				if reason := s.why(strings.ReplaceAll(pair[0], "=", "-"), "gpu"); reason != "" {
					t.Errorf("%s is refused: %s", pair[0], reason)
				}
				if pair[1] != "" && s.why(strings.ReplaceAll(pair[1], "=", "-"), "gpu") == "" {
					t.Errorf("%s is not refused", pair[1])
				}
			}
		})
		delete(examples, title)
	}
	if len(examples) > 0 {
		t.Errorf("nothing is tested of %v", examples)
	}
}

// The manual names all that the plugin reads and writes.
func TestTheManualIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../../docs/crossquota.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		argGPUResourceNames, argGPUDeviceClasses, argLabelSelector, argQuotaResources, argQuota + "<resource>", argQuotaPercentage + "<resource>",
		argWeight + "<resource>", argPluginWeight, argPreferPlain, quotaAnnotation + "<resource>", percentageAnnotation + "<resource>", strategyAnnotation,
		reasonInvalidQuota, reasonUnknownStrategy, "volcano_crossquota_quota", "volcano_crossquota_used", "most-allocated", "least-allocated",
	} {
		if !strings.Contains(string(text), "`"+name) {
			t.Errorf("docs/crossquota.md does not mention %s", name)
		}
	}
}
