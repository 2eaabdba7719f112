// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// TestReplay checks that a replay finds mistakes: otherwise, a replay without findings would prove nothing.
func TestReplay(t *testing.T) {
	const (
		free, held = "", "suspension: {scheduling: true}"
		inEast     = ", clusters: [{name: east}]"
		completed  = "status: {aggregatedStatus: [{clusterName: east, status: {state: {phase: Completed}}}]}"
	)
	for _, c := range []struct {
		name    string
		changes []change
		// want is part of the error, empty if there must be no error.
		want  string
		order string
	}{
		{"two released jobs fill the queue", story(job("a", 2), binding("a", free, ""), job("b", 1), binding("b", free, "")), "", "a b"},
		{"two released jobs exceed the queue", story(job("a", 2), binding("a", free, ""), job("b", 2), binding("b", free, "")),
			"queue ns-team has 4000 of cpu released, and may hold 3000", ""},
		{"children exceed their parent", story(queue("org", 3, "root"), queue("team", 9, "org"), job("a", 4), binding("a", free, "")),
			"queue ns-org has 4000 of cpu released, and may hold 3000", ""},
		{"what is held uses nothing", story(job("a", 2), binding("a", free, ""), job("b", 2), binding("b", held, "")), "", "a"},
		{"what has ended uses nothing", story(job("a", 2), binding("a", free, ""), binding("a", inEast[2:], completed), job("b", 2), binding("b", free, "")), "", "a b"},
		{"what has ended and is deleted uses nothing", story(job("a", 2), binding("a", free, ""), work("a", 2), binding("a", inEast[2:], completed),
			gone(binding("a", "", "")), job("b", 2), binding("b", free, "")), "", "a b"},
		{"a Work outlives its binding", story(job("a", 2), binding("a", free, ""), work("a", 2), gone(binding("a", free, "")), job("b", 2), binding("b", free, "")),
			"queue ns-team has 4000 of cpu released", ""},
		{"what is being deleted uses nothing once its Work is gone", story(job("a", 2), binding("a", inEast[2:], ""), work("a", 2), deleting(binding("a", inEast[2:], "")), gone(work("a", 2)),
			job("b", 2), binding("b", free, "")), "", "a b"},
		{"what is taken back uses nothing once its Work is gone", story(job("a", 2), binding("a", free, ""), work("a", 2), binding("a", held, ""), gone(work("a", 2)),
			job("b", 2), binding("b", free, "")), "", "a b"},
		{"what is taken back uses something until its Work is gone", story(job("a", 2), binding("a", free, ""), work("a", 2), binding("a", held, ""),
			job("b", 2), binding("b", free, "")), "queue ns-team has 4000 of cpu released", ""},
		{"growth that is held uses nothing", story(job("a", 2), binding("a", inEast[2:], ""), work("a", 2), binding("a", held+inEast, ""), job("a", 4)), "", "a"},
		{"growth that is not held exceeds the queue", story(job("a", 2), binding("a", inEast[2:], ""), work("a", 2), job("a", 4)), "queue ns-team has 4000 of cpu released", ""},
		{"growth that reaches a member exceeds the queue", story(job("a", 2), binding("a", inEast[2:], ""), binding("a", held+inEast, ""), job("a", 4), work("a", 4)),
			"queue ns-team has 4000 of cpu released", ""},
		{"a capability may be lowered below what is in use", story(job("a", 2), binding("a", free, ""), queue("team", 1, "org")), "", "a"},
		{"a capability may be lowered while something is granted", append(seenAt(11, queue("team", 1, "org")), seenAt(12, job("a", 2), decided(binding("a", free, ""), 2, 10))...), "", "a"},
		{"what is granted later must fit it", append(seenAt(11, queue("team", 1, "org")), seenAt(15, job("a", 2), decided(binding("a", free, ""), 2, 14))...),
			"queue ns-team has 2000 of cpu released, and may hold 1000", ""},
		{"what shrinks and grows again within its grant takes nothing more", story(job("a", 2), granted(binding("a", inEast[2:], ""), 2), job("a", 1), work("a", 1), queue("team", 1, "org"),
			job("a", 2)), "", "a"},
		{"what shrinks, gives back, and grows again exceeds the queue", story(job("a", 2), granted(binding("a", inEast[2:], ""), 2), job("a", 1), granted(binding("a", inEast[2:], ""), 1), work("a", 1),
			queue("team", 1, "org"), job("a", 2)), "queue ns-team has 2000 of cpu released, and may hold 1000", ""},
		{"what is granted counts although nothing runs yet", story(job("a", 1), granted(binding("a", free, ""), 3), job("b", 1), binding("b", free, "")),
			"queue ns-team has 4000 of cpu released", ""},
		{"a job that both members get counts twice", story(job("a", 2), binding("a", "clusters: [{name: east}, {name: west}]", "")), "queue ns-team has 4000 of cpu released", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := replayed(append(story(queue("team", 3, "org")), c.changes...))
			switch {
			case err == nil && c.want != "":
				t.Errorf("no error, want %q", c.want)
			case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
			if order := strings.Join(r.order, " "); c.want == "" && order != c.order {
				t.Errorf("released %q, want %q", order, c.order)
			}
		})
	}
}

func story(changes ...change) []change { return changes }

func gone(c change) change {
	c.gone = true
	return c
}

// granted adds a grant of cores to a binding.
func granted(c change, cores int) change {
	c.object.SetAnnotations(map[string]string{grantAnnotation: fmt.Sprintf(`{"queue":"ns-team","amounts":[{"kind":"Resource","name":"cpu","amount":"%d"}]}`, cores)})
	return c
}

// decided adds a grant of cores with the second of the decision.
func decided(c change, cores, at int) change {
	grant := `{"queue":"ns-team","decided":%q,"amounts":[{"kind":"Resource","name":"cpu","amount":"%d"}]}`
	c.object.SetAnnotations(map[string]string{grantAnnotation: fmt.Sprintf(grant, second(at).UTC().Format(time.RFC3339), cores)})
	return c
}

func deleting(c change) change {
	c.object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	return c
}

func changeOf(resource schema.GroupVersionResource, format string, args ...any) change {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, format, args...), &object.Object); err != nil {
		panic(err)
	}
	return change{resource: resource, object: object}
}

func queue(name string, cpu int, parent string) change {
	return changeOf(queueResource, "{metadata: {name: ns-%s}, spec: {parent: ns-%s, capability: {cpu: %d}}}", name, parent, cpu)
}

const jobYAML = `{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {namespace: ns, name: %[1]s, uid: %[1]s},
  spec: {queue: ns-team, tasks: [{replicas: %[2]d, template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}}]}}`

func job(name string, pods int) change {
	return changeOf(watchedTemplates[0], jobYAML, name, pods)
}

func binding(name, spec, status string) change {
	if spec != "" {
		spec = ", " + spec
	}
	if status != "" {
		status = ", " + status
	}
	return changeOf(bindingResource, "{metadata: {namespace: ns, name: %[1]s-job, labels: {resourcebinding.karmada.io/permanent-id: %[1]s}}, spec: {resource: {name: %[1]s, uid: %[1]s}%[2]s}%[3]s}",
		name, spec, status)
}

func work(name string, pods int) change {
	return changeOf(workResource, `{metadata: {namespace: karmada-es-east, name: %[1]s, labels: {resourcebinding.karmada.io/permanent-id: %[1]s},
  annotations: {resourcebinding.karmada.io/namespace: ns}}, spec: {workload: {manifests: [`+jobYAML+`]}}}`, name, pods)
}
