// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

const eightCores = "cpu=8 memory=32Gi nvidia.com/gpu=8"

func TestANodeTakesPodsWithoutGPUUpToItsQuota(t *testing.T) {
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
	var pods []*corev1.Pod
	for i := range 6 {
		pods = append(pods, newPod(fmt.Sprint("p", i), "", "cpu=1"))
	}
	f.job("web", 0, pods...).open(t).allocate()
	if got := strings.Count(f.places(), "@gpu"); got != 4 {
		t.Errorf("%d pods were placed, want 4: %s", got, f.places())
	}
	for _, task := range f.session.Jobs["ns/web"].TaskStatusIndex[api.Pending] {
		const want = "node gpu has a quota of 4 cores of cpu for pods without GPU, they use 4 cores, and 1 core more would exceed it: " +
			"wait, request less, or raise annotation volcano.sh/crossquota-cpu of the node"
		if got := f.refusal(task.Name, "gpu"); got != want {
			t.Errorf("the refusal is\n%s, want\n%s", got, want)
		}
	}
}

func TestPredicate(t *testing.T) {
	init := newPod("new", "", "cpu=1")
	init.Spec.InitContainers = []corev1.Container{{Name: "init", Resources: corev1.ResourceRequirements{Requests: list("cpu=5")}}}
	labelled := newPod("new", "", "cpu=5")
	labelled.Labels = map[string]string{"tier": "batch"}
	onlyBatch := map[any]any{"matchLabels": map[any]any{"tier": "batch"}}
	gone := newPod("existing", "gpu", "cpu=4")
	gone.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	done := newPod("existing", "gpu", "cpu=4")
	done.Status.Phase = corev1.PodSucceeded
	bound := newPod("existing", "gpu", "cpu=4")
	bound.Status.Phase = corev1.PodPending

	for name, c := range map[string]struct {
		args     framework.Arguments
		node     string
		existing *corev1.Pod
		incoming *corev1.Pod
		// want is a substring of the reason. It is empty if the pod fits.
		want string
	}{
		"admits a pod that takes the last core":                          {incoming: newPod("new", "", "cpu=1"), existing: newPod("existing", "gpu", "cpu=3")},
		"refuses a pod that exceeds the quota by a thousandth of a core": {incoming: newPod("new", "", "cpu=1001m"), existing: newPod("existing", "gpu", "cpu=3"), want: "quota of 4 cores of cpu for pods without GPU, they use 3 cores, and 1.001 cores more"},
		"says that waiting does not help":                                {incoming: newPod("new", "", "cpu=5"), want: "would exceed it: request less, or raise annotation volcano.sh/crossquota-cpu of the node"},
		"admits GPU pods":                                                {incoming: newPod("new", "", "cpu=5 nvidia.com/gpu=1")},
		"does not count GPU pods":                                        {incoming: newPod("new", "", "cpu=4"), existing: newPod("existing", "gpu", "cpu=4 nvidia.com/gpu=1")},
		"admits pods on other nodes":                                     {incoming: newPod("new", "", "cpu=5"), node: "cpu=8 memory=32Gi"},
		"admits pods on nodes without an allocatable GPU":                {incoming: newPod("new", "", "cpu=5"), node: "cpu=8 nvidia.com/gpu=0"},
		"admits pods that do not request the exceeded resource":          {incoming: newPod("new", "", "memory=1Gi"), existing: newPod("existing", "gpu", "cpu=8")},
		"counts init containers":                                         {incoming: init, want: "5 cores more"},
		"counts pods that are bound":                                     {incoming: newPod("new", "", "cpu=1"), existing: bound, want: "they use 4 cores"},
		"counts pods that run":                                           {incoming: newPod("new", "", "cpu=1"), existing: newPod("existing", "gpu", "cpu=4"), want: "they use 4 cores"},
		"counts pods that are being deleted":                             {incoming: newPod("new", "", "cpu=1"), existing: gone, want: "they use 4 cores"},
		"does not count pods that have ended":                            {incoming: newPod("new", "", "cpu=1"), existing: done},
		"refuses pods that the selector selects":                         {args: gpuArgs("quota.cpu", 4, argLabelSelector, onlyBatch), incoming: labelled, want: "5 cores more"},
		"admits pods that the selector does not select":                  {args: gpuArgs("quota.cpu", 4, argLabelSelector, onlyBatch), incoming: newPod("new", "", "cpu=5")},
		"does not count pods that the selector does not select":          {args: gpuArgs("quota.cpu", 6, argLabelSelector, onlyBatch), incoming: labelled, existing: newPod("existing", "gpu", "cpu=4")},
		"admits all pods if no argument names a GPU":                     {args: framework.Arguments{"quota.cpu": 4}, incoming: newPod("new", "", "cpu=5")},
		"limits by default to what the node has":                         {args: gpuArgs(), incoming: newPod("new", "", "cpu=9"), want: "quota of 8 cores"},
		"names every resource whose quota is exceeded":                   {args: gpuArgs(argQuotaResources, "cpu,memory", "quota.cpu", 4, "quota.memory", "1Gi"), incoming: newPod("new", "", "cpu=5 memory=1.5Gi"), want: "they use 0 bytes, and 1.5 GiB more"},
		"limits any extended resource":                                   {args: gpuArgs(argQuotaResources, "example.com/fpga", "quota.example.com/fpga", 1), node: eightCores + " example.com/fpga=4", incoming: newPod("new", "", "example.com/fpga=2"), want: "raise annotation volcano.sh/crossquota-example.com_fpga of the node"},
		"limits huge pages":                                              {args: gpuArgs(argQuotaResources, "hugepages-2Mi", "quota-percentage.hugepages-2Mi", 50), node: eightCores + " hugepages-2Mi=64Mi", incoming: newPod("new", "", "hugepages-2Mi=34Mi"), want: "quota of 32 MiB of hugepages-2Mi"},
		"limits ephemeral storage too large for exact floats":            {args: gpuArgs(argQuotaResources, "ephemeral-storage", "quota.ephemeral-storage", "3Pi"), node: eightCores + " ephemeral-storage=4Pi", existing: newPod("existing", "gpu", "ephemeral-storage=3377699720527871"), incoming: newPod("new", "", "ephemeral-storage=2"), want: "2 bytes more"},
		"admits a pod that takes the last byte of it":                    {args: gpuArgs(argQuotaResources, "ephemeral-storage", "quota.ephemeral-storage", "3Pi"), node: eightCores + " ephemeral-storage=4Pi", existing: newPod("existing", "gpu", "ephemeral-storage=3377699720527871"), incoming: newPod("new", "", "ephemeral-storage=1")},
		"admits pods that exceed only a resource without quota":          {incoming: newPod("new", "", "memory=64Gi")},
	} {
		t.Run(name, func(t *testing.T) {
			if c.args == nil {
				c.args = gpuArgs("quota.cpu", 4)
			}
			if c.node == "" {
				c.node = eightCores
			}
			f := newFixture(c.args).node("gpu", c.node).job("job", 0, c.incoming)
			if c.existing != nil {
				f.outside(c.existing)
			}
			got := f.open(t).refusal("new", "gpu")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("the reason is %q, want %q", got, c.want)
			}
		})
	}
}

func TestARefusalSaysWhetherPreemptionMayHelp(t *testing.T) {
	for name, c := range map[string]struct {
		args     framework.Arguments
		existing func(*fixture)
		want     int
	}{
		"it may help if pods of jobs use the quota":               {existing: func(f *fixture) { f.job("low", 0, newPod("existing", "gpu", "cpu=4")) }, want: api.Unschedulable},
		"it does not help if pods without a job use it":           {existing: func(f *fixture) { f.outside(newPod("existing", "gpu", "cpu=4")) }, want: api.UnschedulableAndUnresolvable},
		"it does not help if the request exceeds the whole quota": {args: gpuArgs("quota.cpu", 0), existing: func(*fixture) {}, want: api.UnschedulableAndUnresolvable},
		"it does not help if the pods cannot be preempted": {existing: func(f *fixture) {
			pod := newPod("existing", "gpu", "cpu=4")
			pod.Annotations["volcano.sh/preemptable"] = "false"
			f.job("low", 0, pod)
		}, want: api.UnschedulableAndUnresolvable},
	} {
		t.Run(name, func(t *testing.T) {
			if c.args == nil {
				c.args = gpuArgs("quota.cpu", 4)
			}
			f := newFixture(c.args).node("gpu", eightCores).job("high", 10, newPod("new", "", "cpu=2"))
			c.existing(f)
			f.open(t)
			err := f.opened.predicate(f.task("new"), f.session.Nodes["gpu"])
			fit, ok := err.(*api.FitError)
			if !ok || len(fit.Status) != 1 || fit.Status[0].Code != c.want {
				t.Errorf("the predicate says %+v, want code %d", err, c.want)
			}
		})
	}
}

func TestPredicatesAreSafeForConcurrentUse(t *testing.T) {
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores).node("plain", "cpu=8")
	f.job("job", 0, newPod("small", "", "cpu=1"), newPod("large", "", "cpu=5")).open(t)
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for range 100 {
				if f.refusal("small", "gpu") != "" || f.refusal("large", "plain") != "" || f.refusal("large", "gpu") == "" {
					t.Error("the answers differ")
				}
				if score, err := f.opened.nodeOrder(f.task("small"), f.session.Nodes["gpu"]); err != nil || score != 2.5 {
					t.Errorf("the score is %v, %v", score, err)
				}
			}
		})
	}
	wait.Wait()
}

func TestAPredicateThatSucceedsAllocatesNoMemory(t *testing.T) {
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores).node("plain", "cpu=8").job("job", 0, newPod("new", "", "cpu=1")).open(t)
	task := f.task("new")
	if err := f.opened.prePredicate(task); err != nil {
		t.Fatal(err)
	}
	for _, node := range []*api.NodeInfo{f.session.Nodes["gpu"], f.session.Nodes["plain"]} {
		allocations := testing.AllocsPerRun(100, func() {
			if err := f.opened.predicate(task, node); err != nil {
				t.Fatal(err)
			}
			if _, err := f.opened.nodeOrder(task, node); err != nil {
				t.Fatal(err)
			}
		})
		if allocations != 0 {
			t.Errorf("%v allocations for node %s", allocations, node.Name)
		}
	}
}

func TestWhatAPodRequests(t *testing.T) {
	container := func(amounts string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: list(amounts)}}
	}
	sidecar := func(amounts string) corev1.Container {
		c := container(amounts)
		c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		return c
	}
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		want amount
		gpu  bool
	}{
		"a fraction of a thousandth is rounded up":                 {spec: corev1.PodSpec{Containers: []corev1.Container{container("cpu=100u")}}, want: 1},
		"a GPU in an init container makes it a GPU pod":            {spec: corev1.PodSpec{InitContainers: []corev1.Container{container("nvidia.com/gpu=1")}}, gpu: true},
		"a GPU in a sidecar makes it a GPU pod":                    {spec: corev1.PodSpec{InitContainers: []corev1.Container{sidecar("nvidia.com/gpu=1")}, Containers: []corev1.Container{container("cpu=1")}}, gpu: true},
		"a request for zero GPUs does not make it a GPU pod":       {spec: corev1.PodSpec{Containers: []corev1.Container{container("cpu=1 nvidia.com/gpu=0")}}, want: 1000},
		"another extended resource does not make it a GPU pod":     {spec: corev1.PodSpec{Containers: []corev1.Container{container("cpu=1 example.com/fpga=1")}}, want: 1000},
		"a request that no node can satisfy is the largest amount": {spec: corev1.PodSpec{Containers: []corev1.Container{container("cpu=9223372036854775807")}}, want: maxAmount},
		"a pod without requests is not a GPU pod":                  {spec: corev1.PodSpec{Containers: []corev1.Container{container("")}}, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			config, problems := newConfig(gpuArgs())
			if problems != nil {
				t.Fatal(problems)
			}
			facts := config.newPodFacts(&corev1.Pod{Spec: c.spec}, nil)
			if facts.counted == c.gpu {
				t.Errorf("counted: %t", facts.counted)
			}
			if !c.gpu && facts.requests[0] != c.want {
				t.Errorf("requests %d, want %d", facts.requests[0], c.want)
			}
		})
	}
}
