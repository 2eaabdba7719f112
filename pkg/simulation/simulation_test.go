// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/go-logr/logr"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/config"
	"github.com/devicequota/devicequota/pkg/clusterstate"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// clusters returns how many of a number of random clusters a test draws. With -short, as in make check, it draws every fourth.
func clusters(all uint64) uint64 {
	if testing.Short() {
		return max(1, all/4)
	}
	return all
}

// cluster is a state with one node, which has four devices, and two queues below a queue with a quota.
const cluster = `
apiVersion: v1
kind: Node
metadata: {name: node-1, uid: node-1, labels: {kubernetes.io/hostname: node-1}}
status: {capacity: {cpu: "8", memory: 8Gi, pods: "100"}, allocatable: {cpu: "8", memory: 8Gi, pods: "100"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpus, uid: slice}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}, {name: gpu-2}, {name: gpu-3}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one, namespace: team}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, count: 1}}]}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: root, uid: root}
spec: {weight: 1}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: org, uid: org}
spec: {weight: 1, parent: root, dra: {capability: {gpu: {count: 3}}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: a, uid: a}
spec: {weight: 1, parent: org, dra: {deserved: {gpu: {count: 1}}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: b, uid: b}
spec: {weight: 1, parent: org, dra: {deserved: {gpu: {count: 2}}}}
`

var jobTemplate = template.Must(template.New("").Parse(`
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: {{.Name}}, namespace: team}
spec:
  queue: {{.Queue}}
  {{with .Least}}minAvailable: {{.}}{{end}}
  tasks:
  - name: worker
    replicas: {{.Pods}}
    template:
      metadata: {annotations: {volcano.sh/preemptable: "true"}}
      spec:
        containers:
        - {name: main, image: example, resources: {requests: {cpu: "1"}, claims: [{name: gpu}]}}
        resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
`))

type job struct {
	Name, Queue string
	Pods, Least int
}

func parsed(t *testing.T, text string) []clusterstate.Object {
	t.Helper()
	all, err := clusterstate.Objects(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// stateOf returns the cluster with new jobs.
func stateOf(t *testing.T, jobs ...job) *clusterstate.State {
	t.Helper()
	conf, err := config.FS.ReadFile("scheduler/volcano-scheduler.conf")
	if err != nil {
		t.Fatal(err)
	}
	s := &clusterstate.State{Kubernetes: "v1.34.1", Configuration: string(conf)}
	s.Lay(parsed(t, cluster)...)
	submit(t, s, jobs...)
	return s
}

func submit(t *testing.T, s *clusterstate.State, jobs ...job) {
	t.Helper()
	for _, j := range jobs {
		var text bytes.Buffer
		if err := jobTemplate.Execute(&text, j); err != nil {
			t.Fatal(err)
		}
		s.Lay(parsed(t, text.String())...)
	}
}

func run(t *testing.T, s *clusterstate.State) *Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := Run(ctx, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (o *Outcome) of(t *testing.T, name string) *Workload {
	t.Helper()
	w := o.Workload("Job", "team", name)
	if w == nil {
		t.Fatalf("there is no workload %s in %+v", name, o.Workloads)
	}
	return w
}

func TestAJobStartsWithDevices(t *testing.T) {
	w := run(t, stateOf(t, job{Name: "train", Queue: "a", Pods: 2})).of(t, "train")
	if w.Verdict != Starts || len(w.Pods) != 2 {
		t.Fatalf("%+v, want two pods that start", w)
	}
	seen := map[string]bool{}
	for _, pod := range w.Pods {
		if pod.Node != "node-1" || len(pod.Devices) != 1 || pod.Devices[0].Driver != "gpu.example.com" {
			t.Errorf("pod %+v, want one device on node-1", pod)
			continue
		}
		seen[pod.Devices[0].Device] = true
	}
	if len(seen) != 2 {
		t.Errorf("devices %v, want two", seen)
	}
}

func TestAJobWaitsForTheQuotaOfAnAncestor(t *testing.T) {
	w := run(t, stateOf(t, job{Name: "train", Queue: "a", Pods: 4})).of(t, "train")
	if w.Verdict != Waits || w.Why == nil {
		t.Fatalf("%+v, want a job that waits, and why", w)
	}
	if w.Why.Queue != "org" || !strings.Contains(w.Why.Message, "Queue <org>") {
		t.Errorf("waits for %+v, want the queue org", w.Why)
	}
}

func TestAQueueTakesBackWhatItDeserves(t *testing.T) {
	running := run(t, stateOf(t, job{Name: "borrower", Queue: "b", Pods: 3, Least: 1})).After
	submit(t, running, job{Name: "owner", Queue: "a", Pods: 1})
	out := run(t, running)
	if w := out.of(t, "owner"); w.Verdict != Starts || len(w.Pods) != 1 {
		t.Errorf("%+v, want a job that starts; it waits for %+v", w, w.Why)
	}
	w := out.of(t, "borrower")
	if w.Verdict != Runs || len(w.Pods) != 2 || len(w.Evicted) != 1 {
		t.Errorf("%+v, want a job that loses one of three pods", w)
	}
}

func TestAStateIsNotChanged(t *testing.T) {
	s := stateOf(t, job{Name: "train", Queue: "a", Pods: 1})
	before := s.Copy()
	run(t, s)
	if !apiequality.Semantic.DeepEqual(before, s) {
		t.Error("the simulation has changed its input")
	}
}

func TestWhatRunsGoesOn(t *testing.T) {
	running := run(t, stateOf(t, job{Name: "train", Queue: "a", Pods: 2})).After
	w := run(t, running).of(t, "train")
	if w.Verdict != Runs || len(w.Pods) != 2 || !w.Pods[0].Before || len(w.Charged) == 0 || w.Why != nil {
		t.Errorf("%+v, want a job that runs as before", w)
	}
}

func TestALowerQuotaKeepsAJobWaiting(t *testing.T) {
	s := stateOf(t, job{Name: "train", Queue: "a", Pods: 2})
	if err := s.Set("a.gpu.count=1"); err != nil {
		t.Fatal(err)
	}
	w := run(t, s).of(t, "train")
	if w.Verdict != Waits || w.Why == nil || w.Why.Queue != "a" {
		t.Errorf("%+v waits for %+v, want the queue a", w, w.Why)
	}
}

// TestAnAnonymizedStateHasTheSameAnswers, apart from names, in states with jobs that start, wait, run, and lose pods.
func TestAnAnonymizedStateHasTheSameAnswers(t *testing.T) {
	borrowed := run(t, stateOf(t, job{Name: "borrower", Queue: "b", Pods: 3, Least: 1})).After
	submit(t, borrowed, job{Name: "owner", Queue: "a", Pods: 1}, job{Name: "large", Queue: "a", Pods: 9})
	for name, s := range map[string]*clusterstate.State{
		"new":      stateOf(t, job{Name: "small", Queue: "a", Pods: 1}, job{Name: "large", Queue: "b", Pods: 7}),
		"borrowed": borrowed,
	} {
		want, got := summary(run(t, s)), summary(run(t, s.Anonymize([]byte("salt"))))
		if !slices.Equal(got, want) {
			t.Errorf("%s: the anonymized state has the answers %v, want %v", name, got, want)
		}
	}
}

// summary describes the workloads of an outcome without names.
func summary(o *Outcome) []string {
	var all []string
	for _, w := range o.Workloads {
		why := ""
		if w.Why != nil {
			why = w.Why.Reason
		}
		all = append(all, fmt.Sprintln(w.Verdict, len(w.Pods), len(w.Evicted), len(w.Charged), why))
	}
	slices.Sort(all)
	return all
}

func TestAnotherKindIsRefused(t *testing.T) {
	s := stateOf(t)
	s.Lay(parsed(t, "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: d}")...)
	if _, err := Run(t.Context(), s, nil); err == nil || !strings.Contains(err.Error(), "PyTorchJob d of kubeflow.org/v1: the scheduler does not read objects of this kind") {
		t.Errorf("got the error %v", err)
	}
}
