// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"
)

// ask sends an object to the webhook. It replaces the old one, unless that is empty.
func ask(t *testing.T, old, object string) ctrladmission.Response {
	t.Helper()
	raw := func(text string) runtime.RawExtension {
		json, err := yaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return runtime.RawExtension{Raw: json}
	}
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(object), &kind); err != nil {
		t.Fatal(err)
	}
	request := ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Name: "x", Object: raw(object), Operation: admissionv1.Create}}
	request.Kind.Kind, request.Resource.Resource, request.Resource.Group = kind.Kind, strings.ToLower(kind.Kind)+"s", kind.GroupVersionKind().Group
	if old != "" {
		request.OldObject, request.Operation = raw(old), admissionv1.Update
	}
	return review(&request)
}

func queue(metadata, spec string) string {
	return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: x, " + metadata + "}\nspec: {" + spec + "}"
}

func annotations(text string) string { return "annotations: {" + text + "}" }

func pod(text string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {" + annotations(text) + "}\nspec: {containers: [{name: main}]}"
}

func templated(kind, spec string) string {
	return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: x}\nspec: " + spec
}

func jobTemplate(spec string) string {
	return "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobTemplate\nspec: {" + spec + "}"
}

const twice = "volcano.sh/card.name: 'A||B'"

func TestWhatTheSchedulerCannotReadIsRefusedInTheWordsOfItsReaders(t *testing.T) {
	for name, c := range map[string]struct{ object, want string }{
		"a card that is listed twice": {queue(annotations(`volcano.sh/card.quota: '{"A": 1, "A": 2}'`), ""),
			`Queue x: its annotation volcano.sh/card.quota is wrong at character 12: A is listed twice; write a JSON object`},
		"a number that is too large": {queue(annotations(`volcano.sh/card.deserved: '{"A": 9223372036854775808}'`), ""),
			"Queue x: its annotation volcano.sh/card.deserved is wrong at character 25: 9223372036854775808 for A is not a whole number"},
		"a long text": {queue(annotations(`volcano.sh/card.guarantee: '{"`+strings.Repeat("A", 100_000)+`": 1, B}'`), ""), "its annotation volcano.sh/card.guarantee is wrong"},
		"two annotations": {queue(annotations(`volcano.sh/card.quota: x, volcano.sh/card.deserved: z`), ""),
			"; its annotation volcano.sh/card.deserved is wrong"},
		"a quota for several cards": {queue(annotations(`volcano.sh/card.quota: '{"A\u007cB": 1}'`), ""), `lists "A|B", which names several cards`},
		"a negative capacity": {queue("", "dra: {capability: {h100: {count: 1, capacity: {memory: -1Gi}}}}"),
			"Queue x: its spec.dra.capability[h100].capacity[memory] is -1Gi: set it to zero or more"},
		"a quantity that is none": {queue("", "dra: {capability: {h100: {count: 1, capacity: {memory: much}}}}"), "Queue x: it cannot be read: "},
		"a key of Volcano 1.15 without a class": {queue("", "capability: {deviceclass/: 1}"),
			"Queue x: its spec.capability[deviceclass/] names no DeviceClass: write deviceclass/<class>"},
		"a key of Volcano 1.15 without a capacity": {queue("", "guarantee: {resource: {.deviceclass/h100: 1}}"),
			"Queue x: its spec.guarantee.resource[.deviceclass/h100] names no capacity"},
		"half a device":      {queue("", "deserved: {deviceclass/h100: 500m}"), "Queue x: its spec.deserved[deviceclass/h100] is 500m: set it to a whole number"},
		"the names of a pod": {pod(twice), `Pod x: its annotation volcano.sh/card.name is wrong at character 2: "" is not a card name`},
		"more names than a pod may have": {pod("volcano.sh/card.name: '" + strings.TrimSuffix(strings.Repeat("A|", 5000), "|") + "'"),
			"Pod x: its annotation volcano.sh/card.name is wrong at character 8192: it has 9999 characters"},
		"the request of a PodGroup": {"apiVersion: v1\nkind: PodGroup\nmetadata: {" + annotations(`volcano.sh/card.request: '{"A|A||B": 1}'`) + "}",
			`its annotation volcano.sh/card.request is wrong in "A|A||B": at character 4`},
		"the template of a Deployment": {templated("Deployment", "{template: {metadata: {"+annotations(twice)+"}}}"),
			"Deployment x: spec.template: its annotation volcano.sh/card.name is wrong at character 2"},
		"the second task of a Volcano Job": {templated("Job", "{tasks: [{template: {}}, {template: {metadata: {"+annotations(twice)+"}}}]}"),
			"Job x: spec.tasks[1].template: its annotation volcano.sh/card.name is wrong"},
		"a CronJob": {templated("CronJob", "{jobTemplate: {spec: {template: {metadata: {"+annotations(twice)+"}}}}}"),
			"CronJob x: spec.jobTemplate.spec.template: its annotation volcano.sh/card.name is wrong"},
		"a CronJob of Volcano": {templated("CronJob", "{jobTemplate: {spec: {tasks: [{template: {metadata: {"+annotations(twice)+"}}}]}}}"),
			"CronJob x: spec.jobTemplate.spec.tasks[0].template: its annotation volcano.sh/card.name is wrong"},
		"a number of a JobTemplate":                  {jobTemplate("minAvailable: 99999999999"), "JobTemplate x: it cannot be read: json: cannot unmarshal number 99999999999 into Go struct field"},
		"a number of its pods":                       {jobTemplate("tasks: [{template: {spec: {containers: [{ports: [{containerPort: 99999999999}]}]}}}]"), "it cannot be read: "},
		"a quantity that takes long to read":         {jobTemplate("tasks: [{template: {spec: {containers: [{resources: {requests: {cpu: '1e-999999999'}}}]}}}]"), "it cannot be read: it has a quantity with an exponent of four digits or more"},
		"a quantity of many digits":                  {jobTemplate("tasks: [{template: {spec: {containers: [{resources: {requests: {cpu: '1234567890123456789012345e9999999'}}}]}}}]"), "it cannot be read: it has a quantity with an exponent of four digits or more"},
		"so many entries that they take much memory": {jobTemplate("tasks: [" + strings.Repeat("{}, ", 50_001) + "]"), "it cannot be read: its lists have 50001 entries: at most 50000 are read"},
		"a quantity of its pods":                     {jobTemplate("tasks: [{template: {spec: {containers: [{resources: {requests: {cpu: '1e1.5'}}}]}}}]"), "it cannot be read: quantities must match"},
		"a time in the status of a Volcano CronJob":  {"apiVersion: batch.volcano.sh/v1alpha1\nkind: CronJob\nstatus: {lastScheduleTime: '2026-01-01t00:00:00z'}", "it cannot be read: parsing time"},
	} {
		t.Run(name, func(t *testing.T) {
			response := ask(t, "", c.object)
			if response.Allowed || !strings.Contains(response.Result.Message, c.want) || response.Result.Code != http.StatusUnprocessableEntity {
				t.Errorf("allowed %v, %+v, want %q", response.Allowed, response.Result, c.want)
			}
			if again := ask(t, c.object, c.object); !strings.Contains(c.want, "cannot be read") && !again.Allowed {
				t.Errorf("an object that has been there before is refused: %+v", again.Result)
			}
		})
	}
}

func TestWhatTheSchedulerReadsIsAllowed(t *testing.T) {
	for name, object := range map[string]string{
		"texts that look like numbers": jobTemplate("tasks: [{template: {metadata: {labels: {commit: '12e4567'}}, spec: {containers: [{image: 'registry.io/app:12e4567', " +
			"args: ['1e10000'], env: [{name: A, value: '3e12345'}], resources: {requests: {cpu: 1e3}}}]}}}]"),
		"cards":                    queue(annotations(`volcano.sh/card.quota: '{"A": 8, "B": 0}', volcano.sh/card.deserved: '{"A": 4}'`), ""),
		"devices":                  queue("", "dra: {capability: {h100: {count: 8, capacity: {memory: 640Gi}}}}"),
		"keys of Volcano 1.15":     queue("", "capability: {cpu: 4, deviceclass/h100: 8, memory.deviceclass/h100: 640Gi}, guarantee: {resource: {deviceclass/h100: 1}}"),
		"nothing":                  queue("", ""),
		"a pod":                    pod("volcano.sh/card.name: A|B"),
		"the annotation of no pod": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {" + annotations(twice) + "}\nspec: {template: {}}",
		"a JobTemplate":            jobTemplate("minAvailable: 1, tasks: [{replicas: 1, template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}}]"),
		"a job":                    templated("Job", "{tasks: [{template: {metadata: {"+annotations("volcano.sh/card.name: A")+"}}}]}"),
	} {
		if response := ask(t, "", object); !response.Allowed || len(response.Warnings) > 0 {
			t.Errorf("%s: %+v, warnings %q", name, response.Result, response.Warnings)
		}
	}
}

func TestOnlyWhatIsNewIsRefused(t *testing.T) {
	malformed := queue(annotations("volcano.sh/card.quota: x"), "capability: {deviceclass/: 1}")
	for name, c := range map[string]struct {
		object  string
		allowed bool
	}{
		"a change beside it":        {queue(annotations("volcano.sh/card.quota: x, a: b"), "weight: 2, capability: {deviceclass/: 1}"), true},
		"a correction of one thing": {queue(annotations("volcano.sh/card.quota: '{}'"), "capability: {deviceclass/: 1}"), true},
		"another malformed text":    {queue(annotations("volcano.sh/card.quota: z"), "capability: {deviceclass/: 1}"), false},
		"another malformed key":     {queue(annotations("volcano.sh/card.quota: x"), "capability: {deviceclass/: 2}"), false},
		"the text somewhere else":   {queue(annotations("volcano.sh/card.deserved: x"), ""), false},
	} {
		if response := ask(t, malformed, c.object); response.Allowed != c.allowed {
			t.Errorf("%s: %+v", name, response.Result)
		}
	}
	if response := ask(t, queue("", "capability: {cpu: much}"), queue("", "capability: {cpu: 1}")); !response.Allowed {
		t.Errorf("the correction of a queue that could not be read is refused: %+v", response.Result)
	}
}

func TestNumbersThatContradictEachOtherAreAllowedWithAWarning(t *testing.T) {
	for want, object := range map[string]string{
		"The queue's annotation volcano.sh/card.deserved has <8> of <A>, but its annotation volcano.sh/card.quota has <4>": queue(
			annotations(`volcano.sh/card.quota: '{"A": 4}', volcano.sh/card.deserved: '{"A": 8}'`), ""),
		"The queue's spec.capability[deviceclass/h100] is <8>, but its spec.dra.capability[h100].count is <4>, ": queue(
			"", "capability: {deviceclass/h100: 8}, dra: {capability: {h100: {count: 4}}}"),
		"The queue's deserved of <h100> is <8>, but its capability is <4>: lower the one, or raise the other": queue("", "capability: {deviceclass/h100: 4}, deserved: {deviceclass/h100: 8}"),
		"The queue's guarantee of <h100> is <9>, but its deserved is <8>: lower the one, or raise the other":  queue("", "deserved: {deviceclass/h100: 8}, guarantee: {resource: {deviceclass/h100: 9}}"),
	} {
		response := ask(t, "", object)
		if !response.Allowed || len(response.Warnings) != 1 || !strings.HasPrefix(response.Warnings[0], want) {
			t.Errorf("%+v, warnings %q, want %q", response.Result, response.Warnings, want)
		}
	}
}
