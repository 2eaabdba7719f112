// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/config"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
	"github.com/devicequota/devicequota/pkg/clusterstate"
	"github.com/devicequota/devicequota/pkg/simulation"
)

const cluster = `
apiVersion: v1
kind: Node
metadata: {name: node-1, uid: node-1}
status: {capacity: {cpu: "4", pods: "10"}, allocatable: {cpu: "4", pods: "10"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team, uid: team}
spec: {weight: 1, parent: root, capability: {cpu: "2"}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: root, uid: root}
spec: {weight: 1}
`

const job = `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  queue: team
  tasks:
  - name: worker
    replicas: 3
    template: {spec: {containers: [{name: main, image: example, resources: {requests: {cpu: "1"}}}]}}
`

// simulate runs the command on a file with the cluster, and with a job on standard input.
func simulate(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return simulateFiles(t, job, args...)
}

// simulateFiles runs the command on a file with the cluster, and with a text on standard input.
func simulateFiles(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()
	return simulateOn(t, cluster, in, args...)
}

// simulateOn runs the command on a file with the objects of a cluster, and with a text on standard input.
func simulateOn(t *testing.T, cluster, in string, args ...string) (string, error) {
	t.Helper()
	t.Setenv("LC_ALL", "C.UTF-8")
	conf, err := config.FS.ReadFile("scheduler/volcano-scheduler.conf")
	if err != nil {
		t.Fatal(err)
	}
	state := &clusterstate.State{APIVersion: clusterstate.APIVersion, Kind: clusterstate.Kind, Kubernetes: "v1.34.1", Configuration: string(conf)}
	objects, err := clusterstate.Objects(strings.NewReader(cluster))
	if err != nil {
		t.Fatal(err)
	}
	state.Lay(objects...)
	var text, out bytes.Buffer
	if err := state.Write(&text, "state.yaml"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "state.yaml")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	o := cli.NewOptions(genericiooptions.IOStreams{In: strings.NewReader(in), Out: &out, ErrOut: &out})
	cmd := New(o)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--snapshot", file}, args...))
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestAJobThatWaitsHasAnExitCodeAndACause(t *testing.T) {
	out, err := simulate(t, "-f", "-")
	var exit *cli.ExitError
	if !errors.As(err, &exit) || exit.Code != 3 {
		t.Errorf("got the error %v, want exit code 3", err)
	}
	clitest.Golden(t, "waits", out)
}

func TestALargerQuotaLetsTheJobStart(t *testing.T) {
	out, err := simulate(t, "-f", "-", "--set", "team.cpu=3")
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"job/train in namespace default would start; its queue is team\n", "  train-worker-2 on node-1\n", "cpu 3"} {
		if !strings.Contains(out, want) {
			t.Errorf("printed\n%s, want it to have %s", out, want)
		}
	}
}

func TestNothingThatIsTriedChangesNothing(t *testing.T) {
	for _, args := range [][]string{nil, {"--set", "team.cpu=1"}} {
		if out, err := simulate(t, args...); err != nil || out != "Nothing changes.\n" {
			t.Errorf("%v: printed %q, %v", args, out, err)
		}
	}
}

func TestAnswersAreForProgramsToo(t *testing.T) {
	out, _ := simulate(t, "-f", "-", "-o", "json")
	var answer Answer
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Tried) != 1 {
		t.Fatalf("printed %s (%v), want one workload", out, err)
	}
	w := &answer.Tried[0]
	if w.Verdict != simulation.Waits || w.Queue != "team" || w.Why == nil || len(w.Explanations) != 1 {
		t.Fatalf("%+v, want a workload that waits, and why", w)
	}
	failed := slices.IndexFunc(w.Explanations[0].Checks, func(c v1alpha1.Check) bool { return c.Result == v1alpha1.Failed })
	if failed < 0 || w.Explanations[0].Checks[failed].Message != w.Why.Message {
		t.Errorf("%+v, want a check that fails with the message %s", w.Explanations, w.Why.Message)
	}
}

const podTemplate = `
  template:
    metadata: {annotations: {scheduling.volcano.sh/queue-name: team}}
    spec: {schedulerName: volcano, containers: [{name: main, image: example, resources: {requests: {cpu: "1"}}}]}
`

func TestWorkloadsOfKubernetesBecomePods(t *testing.T) {
	for in, want := range map[string]string{
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2" + podTemplate:                  "deployment/web in namespace default would start; its queue is team\n  Charged: cpu 2, pods 2\n  web-0 on node-1\n  web-1 on node-1\n",
		"apiVersion: batch/v1\nkind: Job\nmetadata: {name: batch}\nspec:\n  parallelism: 5\n  completions: 1" + podTemplate: "job/batch in namespace default would start; its queue is team\n  Charged: cpu 1, pods 1\n  batch-0 on node-1\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: bare, annotations: {scheduling.volcano.sh/queue-name: team}}\n" +
			"spec: {schedulerName: volcano, containers: [{name: main, image: example, resources: {requests: {cpu: 500m}}}]}\n": "pod/bare in namespace default would start; its queue is team\n  Charged: cpu 0.5, pods 1\n  bare on node-1\n",
	} {
		if out, err := simulateFiles(t, in, "-f", "-"); err != nil || out != want {
			t.Errorf("%s\nprinted\n%s, %v, want\n%s", in, out, err, want)
		}
	}
}

func TestPodsThatWaitBesideOthersAreSaid(t *testing.T) {
	in := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 3" + podTemplate
	out, err := simulateFiles(t, in, "-f", "-")
	if want := "deployment/web in namespace default would start; its queue is team\n  Not all of its pods: Queue <team> has insufficient <cpu> quota"; err != nil || !strings.HasPrefix(out, want) {
		t.Errorf("printed\n%s, %v, want\n%s", out, err, want)
	}
}

func TestSeveralDocumentsAreTriedTogether(t *testing.T) {
	queue := "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: team}\nspec: {weight: 1, parent: root, capability: {cpu: 3}}\n---\n"
	settings := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n---\n"
	out, err := simulateFiles(t, settings+queue+job, "-f", "-")
	if err != nil || !strings.Contains(out, "job/train in namespace default would start") || !strings.Contains(out, "Ignored, because the scheduler does not read it: ConfigMap settings\n") {
		t.Errorf("printed\n%s, %v", out, err)
	}
}

func TestAJobInAQueueThatDoesNotExistWaits(t *testing.T) {
	out, err := simulateFiles(t, strings.Replace(job, "queue: team", "queue: nobody", 1), "-f", "-")
	var exit *cli.ExitError
	if !errors.As(err, &exit) || exit.Code != 3 || !strings.Contains(out, "would wait; its queue is nobody\n  Cause: Queue <nobody> does not exist") {
		t.Errorf("printed\n%s, %v", out, err)
	}
}

func TestFieldsThatAKindLacksAreSaid(t *testing.T) {
	out, _ := simulateFiles(t, strings.Replace(job, "replicas: 3", "replica: 3", 1), "-f", "-")
	if want := `Ignored, because the scheduler does not read it: Job train, unknown field "spec.tasks[0].replica"`; !strings.Contains(out, want) {
		t.Errorf("printed\n%s, want it to have %s", out, want)
	}
}

func TestWhatCannotBeTriedIsSaid(t *testing.T) {
	const queue = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: team}\nspec: "
	for in, want := range map[string]string{
		"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: torch}\n": "-: PyTorchJob torch of kubeflow.org/v1: the scheduler does not read objects of this kind, and does not know which pods become of it; " +
			"write the pods, a Job of Volcano, or a Deployment, ReplicaSet, StatefulSet, or Job of Kubernetes",
		"apiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaim\nmetadata: {name: c}\n":                                                      "-: ResourceClaim c of resource.k8s.io/v1beta1: the scheduler reads it as resource.k8s.io/v1",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: other}\nspec: {containers: []}\n":                                                         "-: Pod other: its pods are for the scheduler default-scheduler, which is not simulated: set schedulerName: volcano",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {schedulerName: volcano, containers: [{resources: {requests: {cpu: many}}}]}\n": "-: Pod p of v1 is not valid: quantities must match the regular expression",
		queue + "{dra: {capability: {gpu: {count: some}}}}\n":                                                                                  "-: Queue team of scheduling.volcano.sh/v1beta1 is not valid: ",
		queue + "{dra: {capability: {gpu: {count: -1}}}}\n":                                                                                    "Queue team is not valid: its spec.dra.capability",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: -1" + podTemplate:                                    "it asks for -1 pods, and a simulation makes from 0 to 100000",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2000000000" + podTemplate:                            "it asks for 2000000000 pods",
		strings.Replace(job, "replicas: 3", "replicas: 3000000", 1):                                                                            "Job train of batch.volcano.sh/v1alpha1 is not valid: it asks for 3000000 pods",
		strings.Replace(job, "replicas: 3", "replicas: -3", 1):                                                                                 "it asks for -3 pods, and a simulation makes from 0 to 100000",
		"# only a comment\n":       "- has no objects",
		"kind: Job\n":              "-: document 1 has no apiVersion or no kind",
		job + "---\n{unbalanced\n": "-: document 2: ",
		"apiVersion: v1\nkind: Pod\nmetadata: {labels: {}}\n": "-: document 1, a Pod, has no metadata.name",
	} {
		if out, err := simulateFiles(t, in, "-f", "-"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nprinted %q, %v, want the error %s", in, out, err, want)
		}
	}
	if _, err := simulate(t, "-f", "no-such-file"); err == nil || err.Error() != "no-such-file: no such file or directory" {
		t.Errorf("got the error %v", err)
	}
	if _, err := simulate(t, "--set", "taem.cpu=1"); err == nil || err.Error() != "--set taem.cpu=1: it begins with the name of no queue; there are root, team" {
		t.Errorf("got the error %v", err)
	}
}

func TestAConfigurationThatCannotBeUsedIsNotReplaced(t *testing.T) {
	for text, want := range map[string]string{
		"actions: levitate\n": "start the scheduler: the scheduler's configuration cannot be used: failed to find Action levitate",
		"actions: allocate\ntiers: [{plugins: [{name: gang}]}]\n": "the scheduler's configuration lacks the plugin capacity",
		"{unbalanced": "the scheduler's configuration is no YAML: ",
		"kind: ConfigMap\ndata: {a: x: y, b: z}\n":      "the scheduler's configuration is no YAML: ",
		"kind: ConfigMap\ndata: {a: xy, b: z}\n":        "it has no key volcano-scheduler.conf",
		"kind: ConfigMap\ndata: {only: 'actions: x'}\n": "failed to find Action x",
	} {
		file := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := simulate(t, "--scheduler-conf", file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: printed %s, %v, want the error %s", text, out, err, want)
		}
	}
}
