// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"fmt"
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		args framework.Arguments
		// show selects a part of the configuration. want is its text.
		show func(*config) any
		want string
		// problems are substrings of the errors, in order.
		problems []string
	}{
		"cpu is controlled by default": {show: resourceNames, want: "[cpu]"},
		"resources are listed with commas": {args: framework.Arguments{argQuotaResources: " cpu, memory ,,hugepages-2Mi,cpu,nvidia.com/mig-1g.5gb "}, show: resourceNames,
			want: "[cpu memory hugepages-2Mi nvidia.com/mig-1g.5gb]"},
		"resources that cannot be limited are ignored": {args: framework.Arguments{argQuotaResources: "cpu,pods,hugepages-*,a/b/c,hugepages-"}, show: resourceNames, want: "[cpu]",
			problems: []string{`"pods" is ignored: pods do not request it`, `"hugepages-*" is ignored: it is not a resource name`, `"a/b/c" is ignored: it is not a resource name`, `"hugepages-" is ignored: it is not a resource name`}},
		"a page size with a large exponent is rejected quickly": {args: framework.Arguments{argQuotaResources: "hugepages-1e999999999"}, show: resourceNames, want: "[]",
			problems: []string{`"hugepages-1e999999999" is ignored: it has no page size`}},
		"a page size must be a quantity": {args: framework.Arguments{argQuotaResources: "hugepages-big"}, show: resourceNames, want: "[]",
			problems: []string{`"hugepages-big" is ignored: it has no page size`}},
		"a list that is not a string is ignored": {args: framework.Arguments{argQuotaResources: []any{"cpu"}}, show: resourceNames, want: "[cpu]",
			problems: []string{"quota-resources is ignored: it is neither a string nor a number"}},
		"a pattern that does not compile is ignored": {args: framework.Arguments{argGPUResourceNames: `nvidia.com/gpu,(,.*\.com/npu,a)|(b`}, show: func(c *config) any { return len(c.gpuNames) }, want: "2",
			problems: []string{`pattern "(" is ignored: error parsing regexp`, `pattern "a)|(b" is ignored: error parsing regexp`}},
		"classes are listed with commas": {args: framework.Arguments{argGPUDeviceClasses: "h100, a100"}, show: func(c *config) any { return c.gpuClasses }, want: "map[a100:true h100:true]"},
		"weights have defaults":          {args: framework.Arguments{argQuotaResources: "cpu,memory,example.com/fpga"}, show: weights, want: "[10 10 1 1]"},
		"weights are integers, fractions and strings": {args: framework.Arguments{argQuotaResources: "cpu,memory", argPluginWeight: "0.5", "weight.cpu": 2.5, "weight.memory": 0}, show: weights,
			want: "[0.5 2.5 0]"},
		"invalid weights are the defaults": {args: framework.Arguments{argQuotaResources: "cpu,memory", argPluginWeight: "NaN", "weight.cpu": -1, "weight.memory": 1e300}, show: weights, want: "[10 10 1]",
			problems: []string{`weight.cpu is "-1", which is not a number from 0 to 1000000: 10 is used`, "weight.memory is", `crossQuotaWeight is "NaN"`}},
		"plain nodes are not preferred by default": {show: func(c *config) any { return c.preferPlain }, want: "false"},
		"plain nodes are preferred":                {args: framework.Arguments{argPreferPlain: true}, show: func(c *config) any { return c.preferPlain }, want: "true"},
		"a preference may be a string":             {args: framework.Arguments{argPreferPlain: "true"}, show: func(c *config) any { return c.preferPlain }, want: "true"},
		"an invalid preference is ignored": {args: framework.Arguments{argPreferPlain: "rather"}, show: func(c *config) any { return c.preferPlain }, want: "false",
			problems: []string{"prefer-non-gpu-nodes is ignored: it is neither true nor false"}},
		"quotas are strings and numbers": {args: framework.Arguments{argQuotaResources: "cpu,memory,ephemeral-storage", "quota.cpu": 4, "quota.memory": "1Gi", "quota.ephemeral-storage": 1.5e12}, show: limits,
			want: "[4000 1073741824 1500000000000]"},
		"an invalid quota falls back to the percentage": {args: framework.Arguments{"quota.cpu": "four", "quota-percentage.cpu": 25}, show: limits, want: "[25/1%]",
			problems: []string{`argument quota.cpu is "four": it is not a quantity such as 32, 500m or 64Gi; the next source in the order of precedence applies`}},
		"a percentage out of range is refused": {args: framework.Arguments{"quota-percentage.cpu": 100.5}, show: limits, want: "[-]",
			problems: []string{`argument quota-percentage.cpu is "100.5": it is not between 0 and 100`}},
		"a quota that is a mapping is ignored": {args: framework.Arguments{"quota.cpu": map[any]any{"a": "b"}}, show: limits, want: "[-]",
			problems: []string{"quota.cpu is ignored: it is neither a string nor a number"}},
		"an argument without a value is not set": {args: framework.Arguments{"quota.cpu": nil, argLabelSelector: nil}, show: limits, want: "[-]"},
		"unknown arguments are reported": {args: framework.Arguments{"quota.memory": "1Gi", "gpu-resource-name": "x"}, show: limits, want: "[-]",
			problems: []string{"argument gpu-resource-name is ignored: the plugin has no argument of that name", "argument quota.memory is ignored"}},
		"an invalid selector selects no pods": {args: framework.Arguments{argLabelSelector: "tier=batch"}, show: func(c *config) any {
			return c.selector.Empty() || c.selector.Matches(labels.Set{"tier": "batch"})
		}, want: "false", problems: []string{"label-selector cannot be read, so the quota applies to no pods until it is corrected: it is not a mapping"}},
	} {
		t.Run(name, func(t *testing.T) {
			config, problems := newConfig(c.args)
			if got := fmt.Sprint(c.show(config)); got != c.want {
				t.Errorf("shows %s, want %s", got, c.want)
			}
			if len(problems) != len(c.problems) {
				t.Fatalf("problems are %v, want %q", problems, c.problems)
			}
			for i, want := range c.problems {
				if !strings.Contains(problems[i].Error(), want) {
					t.Errorf("problem %d is %q, want %q", i, problems[i], want)
				}
			}
		})
	}
}

func resourceNames(c *config) any {
	names := []corev1.ResourceName{}
	for _, r := range c.resources {
		names = append(names, r.name)
	}
	return names
}

func weights(c *config) any {
	all := []float64{c.weight}
	for _, r := range c.resources {
		all = append(all, r.weight)
	}
	return all
}

func limits(c *config) any {
	var all []string
	for _, r := range c.resources {
		switch {
		case r.limit == nil:
			all = append(all, "-")
		case r.limit.percentage != nil:
			all = append(all, r.limit.percentage.String()+"%")
		default:
			all = append(all, fmt.Sprint(r.limit.absolute))
		}
	}
	return all
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		patterns, resource string
		want               bool
	}{
		{"nvidia.com/gpu", "nvidia.com/gpu", true},
		{"nvidia.com/gpu", "nvidia.com/gpu-memory", false},
		{"nvidia.com/gpu", "nvidiaxcom/gpu", false},
		{`.*\.com/gpu`, "amd.com/gpu", true},
		{`.*\.com/gpu`, "amd.com/gpu.shared", false},
		{`.*\.com/gpu`, "amdxcom/gpu", false},
		{"(nvidia|amd).com/gpu", "amd.com/gpu", true},
		{"nvidia.com/.*", "nvidia.com/mig-1g.5gb", true},
		{"gpu|npu", "gpux", false},
		{"a.example/x,nvidia.com/gpu", "nvidia.com/gpu", true},
		{"", "nvidia.com/gpu", false},
	} {
		config, problems := newConfig(framework.Arguments{argGPUResourceNames: c.patterns})
		if problems != nil {
			t.Errorf("%q: %v", c.patterns, problems)
		}
		if got := anyMatches(config.gpuNames, list(c.resource+"=1")); got != c.want {
			t.Errorf("%q matches %s: %t", c.patterns, c.resource, got)
		}
		if anyMatches(config.gpuNames, list(c.resource+"=0")) {
			t.Errorf("%q matches an amount of 0", c.patterns)
		}
	}
}

func TestSelectors(t *testing.T) {
	for name, c := range map[string]struct {
		yaml    string
		labels  labels.Set
		want    bool
		problem string
	}{
		"labels that match":                {yaml: "{matchLabels: {tier: batch}}", labels: labels.Set{"tier": "batch"}, want: true},
		"labels that do not":               {yaml: "{matchLabels: {tier: batch}}", labels: labels.Set{"tier": "web"}},
		"an expression":                    {yaml: "{matchExpressions: [{key: tier, operator: In, values: [batch, web]}]}", labels: labels.Set{"tier": "web"}, want: true},
		"an expression about a key":        {yaml: "{matchExpressions: [{key: tier, operator: DoesNotExist}]}", labels: labels.Set{"tier": "web"}},
		"both":                             {yaml: "{matchLabels: {a: b}, matchExpressions: [{key: tier, operator: Exists}]}", labels: labels.Set{"tier": "web"}},
		"an empty one selects all":         {yaml: "{}", want: true},
		"an unknown operator":              {yaml: "{matchExpressions: [{key: tier, operator: Is}]}", problem: "is not a valid label selector operator"},
		"an unknown field":                 {yaml: "{matchLabel: {tier: batch}}", problem: `unknown field "matchLabel"`},
		"a label that is a number":         {yaml: "{matchLabels: {tier: 1}}", labels: labels.Set{"tier": "1"}, want: true},
		"a label that is true":             {yaml: "{matchLabels: {tier: true}}", labels: labels.Set{"tier": "true"}, want: true},
		"a label that YAML parses as true": {yaml: "{matchLabels: {tier: yes}}", labels: labels.Set{"tier": "yes"}},
		"a label that is a decimal":        {yaml: "{matchLabels: {tier: 1.10}}", problem: "label tier has the value 1.1: write it in quotes"},
		"a label that is missing":          {yaml: "{matchLabels: {tier: }}", problem: "label tier has the value <nil>: write it in quotes"},
		"a key that is a number":           {yaml: "{matchLabels: {1: a}}", labels: labels.Set{"1": "a"}, want: true},
		"a key that YAML parses as true":   {yaml: "{matchLabels: {on: a}}", problem: "a key has the value true: write it in quotes"},
		"values that are not strings":      {yaml: "{matchExpressions: [{key: tier, operator: In, values: [1, false]}]}", labels: labels.Set{"tier": "false"}, want: true},
		"a number that is excluded":        {yaml: "{matchExpressions: [{key: tier, operator: NotIn, values: [1]}]}", labels: labels.Set{"tier": "1"}},
		"a boolean that is excluded":       {yaml: "{matchExpressions: [{key: tier, operator: NotIn, values: [yes]}]}", problem: "label tier has the value true: write it in quotes"},
		"an invalid key":                   {yaml: "{matchLabels: {'a b': c}}", problem: "name part must consist of"},
		"a list":                           {yaml: "[a]", problem: "it is not a mapping"},
		"a number":                         {yaml: "1", problem: "it is not a mapping"},
		"values without an operator":       {yaml: "{matchExpressions: [{key: tier, values: [a]}]}", problem: "is not a valid label selector operator"},
	} {
		t.Run(name, func(t *testing.T) {
			selector, err := parseSelector(argumentsIn(t, "        label-selector: "+c.yaml)[argLabelSelector])
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("the error is %v, want %q", err, c.problem)
				}
				return
			}
			if err != nil || selector.Matches(c.labels) != c.want {
				t.Errorf("%v is selected by %v: want %t (%v)", c.labels, selector, c.want, err)
			}
		})
	}
}

func FuzzConfiguration(f *testing.F) {
	f.Add("nvidia.com/gpu,(", "cpu,memory,hugepages-2Mi", "4", "12.5", "10", "tier", 1.5, true)
	f.Add("nvidia.com/gpu", "hugepages-1e999999999,hugepages-1e-999999999,cpu", "1e999999999", "1e-999999999", "1e999999999", "tier", 1e300, true)
	f.Add(".*", "a/b/c,,cpu", "-4", "101", "NaN", "", -1.0, false)
	f.Fuzz(func(t *testing.T, patterns, resources, quota, percentage, weight, label string, number float64, yes bool) {
		args := framework.Arguments{argGPUResourceNames: patterns, argQuotaResources: resources, argPluginWeight: number, argPreferPlain: weight,
			argGPUDeviceClasses: label, argLabelSelector: map[any]any{"matchLabels": map[any]any{label: weight, number: yes}}, percentage: quota}
		for name := range strings.SplitSeq(resources, ",") {
			args[argQuota+name], args[argQuotaPercentage+name], args[argWeight+name] = quota, percentage, weight
			if yes {
				args[argQuota+name], args[argQuotaPercentage+name], args[argWeight+name] = number, number, number
			}
		}
		c, _ := newConfig(args)
		node := newNode("gpu", "nvidia.com/gpu=8")
		for _, r := range c.resources {
			node.Status.Allocatable[r.name] = list("x=1000")["x"]
		}
		facts := c.newNodeFacts(node, func(*corev1.Node) bool { return true })
		a, requests := newAccount(facts, 0), make([]amount, len(c.resources))
		for i, r := range c.resources {
			if most := atMost(r.name, list("x=1000")["x"]); facts.quotas[i] < 0 || facts.quotas[i] > most {
				t.Errorf("the quota of %s is %d of %d", r.name, facts.quotas[i], most)
			}
			requests[i] = 7
		}
		for _, s := range strategies {
			if score := c.weight * c.score(s, a, requests); math.IsNaN(score) || score < 0 || score > c.weight*(1+1e-9) {
				t.Errorf("the score is %v of %v", score, c.weight)
			}
		}
	})
}
