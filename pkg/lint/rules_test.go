// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func queue(name, spec string) string { return annotated(name, "{}", spec) }

func annotated(name, annotations, spec string) string {
	if spec == "" {
		spec = "{}"
	}
	return fmt.Sprintf("---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s, annotations: %s}\nspec: %s\n", name, annotations, spec)
}

func class(name, spec string) string {
	return fmt.Sprintf("---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: %s}\nspec: %s\n", name, spec)
}

func selector(expression string) string {
	return fmt.Sprintf("{selectors: [{cel: {expression: %q}}]}", expression)
}

func node(name, labels, allocatable string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: %s}\nstatus: {allocatable: %s}\n", name, labels, allocatable)
}

const slice = `---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec: {driver: gpu.example.com, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}, devices: [{name: d0}, {name: d1}]}
`

const template = `---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one, namespace: default}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}}
`

// vcjob returns a Volcano Job. The parts are YAML in flow style.
func vcjob(spec, podMeta, podSpec string) string {
	return fmt.Sprintf(`---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, namespace: default}
spec: {%s tasks: [{name: worker, replicas: 3, template: {metadata: %s, spec: {containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}] %s}}}]}
`, spec, podMeta, podSpec)
}

func pod(meta, spec string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default, annotations: %s}\nspec: {containers: [{name: c, resources: {requests: {nvidia.com/gpu: 1}}}] %s}\n", meta, spec)
}

func conf(actions, first, second string) string {
	return fmt.Sprintf("---\nactions: %q\ntiers:\n- plugins: [%s]\n- plugins: [%s]\n", actions, first, second)
}

const (
	all        = "enqueue, allocate, backfill, preempt, reclaim"
	capacity   = "{name: gang}, {name: conformance}, {name: capacity, enableHierarchy: true}"
	predicates = "{name: predicates, arguments: {predicate.DynamicResourceAllocationEnable: true}}"
	h100       = `{nvidia.com/gpu.product: H100}`
	oneGPU     = "{capability: {gpu: {count: 1}}}"
)

// faults has, for each rule, manifests with a finding, and a part of the message.
var faults = []struct{ rule, manifests, says string }{
	{"QueueMisplaced", queue("a", "{parent: gone}"), "The queue takes no pods: its parent gone does not exist: create that queue or change spec.parent"},
	{"QueueMisplaced", queue("a", "{parent: b}") + queue("b", "{parent: a}"), "it is its own ancestor"},
	{"QueueNotLeaf", queue("a", "") + queue("b", "{parent: a}") + vcjob("queue: a, minAvailable: 1,", "{}", ""), "move the jobs to a queue that has no children"},
	{"QuotaNotRead", annotated("a", `{volcano.sh/card.quota: "{"}`, ""), "its annotation volcano.sh/card.quota is wrong at character 1"},
	{"GuaranteeNotCovered", queue("p", "{capability: {cpu: 4}}") + queue("a", "{parent: p, guarantee: {resource: {cpu: 3}}}") + queue("b", "{parent: p, guarantee: {resource: {cpu: 3}}}"), "guaranteed <6>, but there is only <4>"},
	{"ClassInCapability", class("gpu", "{}") + queue("a", "{capability: {gpu: 1}}"), "limits <gpu> among its resources"},
	{"UnknownDeviceClass", class("gpu", "{}") + queue("a", "{dra: {capability: {gpo: {count: 1}}}}"), "lists <gpo>, but there is no such DeviceClass"},
	{"UnknownCard", class("gpu", "{}") + node("n1", h100, "{nvidia.com/gpu: 8}") + annotated("a", `{volcano.sh/card.quota: '{"H1oo": 1}'}`, ""), "lists <H1oo>, but no node has such a card"},
	{"UnknownAnnotation", annotated("a", `{volcano.sh/card-quota: '{"A": 1}'}`, ""), "rename it to volcano.sh/card.quota if that is meant"},
	{"LimitAboveParent", queue("p", "{capability: {cpu: 1}}") + queue("a", "{parent: p, capability: {cpu: 2}}"), "capability of cpu is <2>, but that of queue <p> above it is <1>"},
	{"CardNotListed", annotated("a", `{volcano.sh/card.quota: '{"A": 1}', volcano.sh/card.deserved: '{"B": 1}'}`, ""), "lists <B>, but its annotation volcano.sh/card.quota does not"},
	{"ContradictoryCards", annotated("a", `{volcano.sh/card.quota: '{"A": 1}', volcano.sh/card.deserved: '{"A": 2}'}`, ""), "has <2> of <A>"},
	{"ContradictoryDevices", queue("a", "{dra: {capability: {gpu: {count: 1}}, deserved: {gpu: {count: 2}}}}"), "deserved of <gpu> is <2>, but its capability is <1>"},
	{"ClassesOverlap", class("gpu", "{}") + class("any", "{}") + slice + queue("a", "{dra: "+oneGPU+"}"), "devices of class gpu belong to any, too"},
	{"InvalidDeviceClass", class("gpu", selector("no CEL")) + queue("a", "{dra: "+oneGPU+"}"), "The queue limits class gpu, but the scheduler cannot evaluate the selectors"},
	{"ReclaimNotConfigured", conf("allocate", capacity, predicates) + queue("a", "{deserved: {cpu: 1}}"), "does not have the action reclaim"},
	{"QuotaFieldMissing", annotated("a", `{volcano.sh/last-valid-quota: '{"uid": "u", "generation": 1, "dra": {"capability": {"gpu": {"count": 2}}}}'}`, ""), "apply config/crd/scheduling.volcano.sh_queues.yaml again"},
	{"ReclaimIgnoresDeserved", conf(all, "{name: gang}", "{name: capacity, enableHierarchy: true}, "+predicates) + queue("a", "{deserved: {cpu: 1}}"), "put them into one tier"},
	{"DeservedOutOfReach", queue("p", "{capability: {cpu: 2}}") + queue("a", "{parent: p, deserved: {cpu: 3}}"), "The queue deserves <3> of cpu, but the queues above it and the guarantees beside it leave it at most <2>"},
	{"DeservedOvercommitted", queue("p", "{capability: {cpu: 4}}") + queue("a", "{parent: p, deserved: {cpu: 3}}") + queue("b", "{parent: p, deserved: {cpu: 3}}"), "deserve <6> of cpu together, but there is only <4>"},
	{"QuotaAboveHardware", class("gpu", "{}") + slice + queue("a", "{dra: {capability: {gpu: {count: 3}}}}"), "The queue's capability of gpu is <3>, but the cluster has only <2>"},
	{"QuotaAboveHardware", class("gpu", "{}") + node("n1", h100, "{nvidia.com/gpu: 8}") + annotated("a", `{volcano.sh/card.quota: '{"H100": 9}'}`, ""), "is <9>, but the cluster has only <8>"},
	{"UnknownCapacity", class("gpu", "{}") + strings.Replace(slice, "{name: d0}", "{name: d0, capacity: {memory: {value: 80Gi}}}", 1) + queue("a", "{dra: {capability: {gpu: {count: 1, capacity: {memroy: 10Gi}}}}}"),
		"The queue's capability of gpu lists the capacity <memroy>, which no device of the class has: correct the name, they have memory"},
	{"ExtendedResourceContested", class("a", "{extendedResourceName: e.com/gpu}") + class("b", "{extendedResourceName: e.com/gpu}"), "pods that request e.com/gpu get devices of DeviceClass a"},
	{"InvalidClass", class("gpu", selector("no CEL")), "cannot evaluate the selectors of DeviceClass gpu"},
	{"ClassWithoutDevices", class("gpu", selector(`device.driver == "other"`)) + slice, "DeviceClass gpu matches none of the 2 devices"},
	{"CardsNotRead", node("n1", "{nvidia.com/gpu.product: A, amd.com/gpu.product: B}", "{}"), "it has two card models"},
	{"ConfigurationNotRead", "---\nactions: [1]\ntiers: []\n", "no valid YAML"},
	{"CapacityMissing", conf(all, "{name: gang}", predicates), "no plugin capacity"},
	{"CapacityTwice", conf(all, capacity, "{name: capacity-card}, "+predicates), "the plugins capacity and capacity-card"},
	{"ProportionBesideCapacity", conf(all, capacity, "{name: proportion}, "+predicates), "the plugin proportion"},
	{"DevicesNotAllocated", conf(all, capacity, "{name: predicates}"), "set predicate.DynamicResourceAllocationEnable to true"},
	{"HierarchyIgnored", conf(all, "{name: gang}, {name: conformance}, {name: capacity}", predicates) + queue("p", "") + queue("a", "{parent: p}"), "Queue <a> has the parent <p>"},
	{"InvalidArgument", conf(all, "{name: gang}, {name: capacity, enableHierarchy: true, arguments: {deviceAccounting: Matching}}", predicates), "write requested or matching"},
	{"UnknownArgument", conf(all, "{name: gang}, {name: capacity, enableHierarchy: true, arguments: {deviceacounting: matching}}", predicates), "has no argument deviceacounting"},
	{"QueueNotFound", queue("a", "") + vcjob("queue: gone, minAvailable: 1,", "{}", ""), "Queue <gone> does not exist"},
	{"Unschedulable", queue("a", "") + queue("b", "{parent: a}") + vcjob("queue: a, minAvailable: 1,", "{}", ""), "other queues are below it"},
	{"GetTaskRequestResourceFailed", queue("a", "") + class("other", "{}") + template + vcjob("queue: a, minAvailable: 1,", "{}", ", resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]"), "DeviceClass gpu does not exist"},
	{"GetTaskRequestResourceFailed", queue("a", "") + class("gpu", "{}") + template + vcjob("queue: a, minAvailable: 1,", "{}", ", resourceClaims: [{name: gpu, resourceClaimTemplateName: two}]"), "ResourceClaimTemplate default/two"},
	{"GetTaskRequestResourceFailed", queue("a", "") + vcjob("queue: a, minAvailable: 1,", `{annotations: {volcano.sh/card.name: "A, B"}}`, ""), "its annotation volcano.sh/card.name is wrong at character 0"},
	{"InsufficientCPUQuota", queue("a", "{capability: {cpu: 2}}") + vcjob("queue: a, minAvailable: 3,", "{}", ""), "Queue <a> has insufficient <cpu> quota: requested <3>"},
	{"InsufficientMemoryQuota", queue("a", "{capability: {memory: 2Gi}}") + vcjob("queue: a, minAvailable: 3,", "{}", ""), "insufficient <memory> quota"},
	{"InsufficientScalarQuota", queue("a", "{dra: {capability: {gpu: {count: 2}}}}") + class("gpu", "{}") + template + vcjob("queue: a, minAvailable: 3,", "{}", ", resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]"), "Queue <a> has insufficient <gpu> quota: requested <3>"},
	{"InsufficientScalarQuota", queue("a", "") + node("n1", "{}", "{cpu: 8, memory: 8Gi, pods: 9}") + pod("{scheduling.volcano.sh/queue-name: a}", ", schedulerName: volcano"), "Queue <root> has insufficient <nvidia.com/gpu> quota: requested <1>"},
	{"InsufficientCPUQuota", queue("a", "{capability: {cpu: 2}}") + strings.Replace(vcjob("queue: a, minAvailable: 3,", "{}", ""), "requests", "limits", 1), "Queue <a> has insufficient <cpu> quota: requested <3>"},
	{"EmptyQueueCapability", conf(all, "{name: gang}, {name: capacity, enableHierarchy: true, arguments: {deviceQuotaRequired: true}}", predicates) + queue("a", "") + class("gpu", "{}") + template + vcjob("queue: a, minAvailable: 3,", "{}", ", resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]"), "which deviceQuotaRequired demands"},
	{"InvalidPodCount", vcjob("minAvailable: 4,", "{}", ""), "spec.minAvailable is 4, and the tasks have 3 replicas in all"},
	{"NotForVolcano", queue("a", "") + vcjob("queue: a, schedulerName: theirs, minAvailable: 1,", "{}", ""), `name scheduler "theirs"`},
	{"NotForVolcano", queue("a", "") + pod("{scheduling.volcano.sh/queue-name: a}", ""), `name scheduler "default-scheduler"`},
	{"PastQuota", pod("{}", ""), "get them past every quota"},
	{"PastQuota", strings.Replace(pod("{}", ""), "requests", "limits", 1), "get them past every quota"},
	{"PastQuota", class("gpu", "{extendedResourceName: e.com/gpu}") + strings.Replace(pod("{}", ""), "nvidia.com/gpu", "e.com/gpu", 1), "get them past every quota"},
	{"PastQuota", strings.Replace(pod("{}", ""), "nvidia.com/gpu", "deviceclass.resource.kubernetes.io/gpu", 1), "get them past every quota"},
	{"CardOfNoNode", node("n1", h100, "{nvidia.com/gpu: 8}") + pod("{volcano.sh/card.name: H1oo}", ", schedulerName: volcano"), "no node has a card H1oo"},
	{"UnknownWorkloadAnnotation", pod("{volcano.sh/card-name: H100}", ", schedulerName: volcano"), "rename it to volcano.sh/card.name"},
	{"PriorityClassMissing", "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1\n" + vcjob("priorityClassName: hihg, minAvailable: 1,", "{}", ""), "PriorityClass hihg does not exist"},
	{"PodGated", pod("{}", ", schedulerName: volcano, schedulingGates: [{name: e.com/later}]"), "scheduling gate e.com/later"},
}

// ofReaders are the rules of readers of manifests. Objects do not show these mistakes.
var ofReaders = []string{NameMissing, UnknownField, RepeatedField}

func TestEachRuleFindsItsFault(t *testing.T) {
	tested := slices.Clone(ofReaders)
	for _, c := range faults {
		tested = append(tested, c.rule)
		t.Run(c.rule, func(t *testing.T) {
			all := Run(t.Context(), objectsIn(t, c.manifests))
			i := slices.IndexFunc(all, func(f Finding) bool { return f.Rule == c.rule && strings.Contains(f.Message, c.says) })
			if i < 0 {
				t.Fatalf("nothing says %q: %+v", c.says, all)
			}
			if all[i].Object.Kind == "" || all[i].Severity != SeverityOf(c.rule) {
				t.Errorf("it has no object, or another severity than its rule: %+v", all[i])
			}
		})
	}
	for _, rule := range Rules {
		if !slices.Contains(tested, rule.ID) {
			t.Errorf("no test has a fault for rule %s", rule.ID)
		}
	}
}

// exempt are reasons of events about the state of a running cluster, which manifests do not show.
var exempt = map[string]string{
	"QuotaRemovalUnconfirmed": "history", "QuotaNotSaved": "permissions of the scheduler",
	"QuotaRestored": "no problem", "CannotReclaim": "what others hold", "ChargedToRoot": "a pod that runs", "Reclaimed": "an eviction", "Preempted": "an eviction",
	"DeviceAllocatedTwice": "allocations", "DevicesNotReady": "allocations", "InsufficientDevices": "what is free", "NeverFits": "pods that wait", "BindingConditionsPending": "allocations",
}

// TestEachReasonOfTheSchedulerHasARule fails for a new reason of an event that has neither a rule nor an exemption.
func TestEachReasonOfTheSchedulerHasARule(t *testing.T) {
	reasons := 0
	for _, folder := range []string{"problems", "refusals", "plugins/capacity/internal/report"} {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		for _, file := range files {
			for _, reason := range reasonsIn(t, file) {
				reasons++
				isRule := slices.ContainsFunc(Rules, func(rule Rule) bool { return rule.ID == reason })
				if _, is := exempt[reason]; isRule == is {
					t.Errorf("%s: reason %s has a rule: %t, and an exemption: %t", file, reason, isRule, is)
				}
			}
		}
	}
	if reasons < 30 {
		t.Errorf("only %d reasons were found", reasons)
	}
}

// reasonsIn returns the values of constants whose names end in Reason.
func reasonsIn(t *testing.T, file string) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || len(spec.Values) != 1 || !strings.HasSuffix(spec.Names[0].Name, "Reason") {
			return true
		}
		if literal, is := spec.Values[0].(*ast.BasicLit); is {
			reason, _ := strconv.Unquote(literal.Value)
			reasons = append(reasons, reason)
		}
		return true
	})
	return reasons
}

// TestTheDocumentationListsAllRules compares the table in docs/lint.md with the rules.
func TestTheDocumentationListsAllRules(t *testing.T) {
	page, err := os.ReadFile("../../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| --- | --- | --- | --- |\n")
	var want strings.Builder
	for _, rule := range Rules {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", rule.ID, rule.Severity, rule.Short, rule.Help)
	}
	if table != want.String() {
		t.Errorf("the table of rules in docs/lint.md is to be\n%s", want.String())
	}
}
