// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"
	"volcano.sh/volcano/pkg/scheduler/uthelper"
	"volcano.sh/volcano/pkg/scheduler/util"
)

func TestMain(m *testing.M) {
	options.Default()
	os.Exit(m.Run())
}

// fixture is a cluster for one session.
type fixture struct {
	uthelper.TestCommonStruct
	// cache is the plugin's cache, which later fixtures may share.
	cache   *cache
	args    framework.Arguments
	actions []conf.Configuration
	opened  *plugin
	session *framework.Session
}

// gpuArgs returns the arguments with which nvidia.com/gpu makes a node a GPU node, and further keys and values.
func gpuArgs(further ...any) framework.Arguments {
	args := framework.Arguments{argGPUResourceNames: "nvidia.com/gpu"}
	for i := 0; i < len(further); i += 2 {
		args[further[i].(string)] = further[i+1]
	}
	return args
}

func newFixture(args framework.Arguments) *fixture {
	f := &fixture{cache: newCache(), args: args}
	f.cache.recorder = &notes{}
	return f.queue("default")
}

func (f *fixture) queue(name string) *fixture {
	q := util.BuildQueue(name, 1, nil)
	q.Spec.Reclaimable = ptr.To(true)
	f.Queues = append(f.Queues, q)
	return f
}

// node adds a node with amounts such as "cpu=8 memory=32Gi", and with annotations as alternating keys and values.
func (f *fixture) node(name, amounts string, annotations ...string) *fixture {
	f.Nodes = append(f.Nodes, newNode(name, amounts, annotations...))
	return f
}

func newNode(name, amounts string, annotations ...string) *corev1.Node {
	node := util.BuildNode(name, list("pods=110 "+amounts), nil)
	node.Annotations = map[string]string{}
	for i := 0; i < len(annotations); i += 2 {
		node.Annotations[annotations[i]] = annotations[i+1]
	}
	return node
}

func list(amounts string) corev1.ResourceList {
	all := corev1.ResourceList{}
	for _, one := range strings.Fields(amounts) {
		name, quantity, _ := strings.Cut(one, "=")
		all[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return all
}

// newPod returns a pod that runs on a node, or is pending if node is empty.
func newPod(name, node, amounts string) *corev1.Pod {
	phase := corev1.PodRunning
	if node == "" {
		phase = corev1.PodPending
	}
	return util.BuildPod("ns", name, node, phase, list(amounts), "", nil, nil)
}

// outside adds pods that belong to no job of Volcano.
func (f *fixture) outside(pods ...*corev1.Pod) *fixture {
	for _, pod := range pods {
		delete(pod.Annotations, schedulingv1beta1.KubeGroupNameAnnotationKey)
	}
	f.Pods = append(f.Pods, pods...)
	return f
}

// job adds a job that may start with one of its pods.
func (f *fixture) job(name string, value int32, pods ...*corev1.Pod) *fixture {
	return f.jobIn("default", name, value, pods...)
}

func (f *fixture) jobIn(queue, name string, value int32, pods ...*corev1.Pod) *fixture {
	class := util.BuildPriorityClass(fmt.Sprint("p", value), value)
	f.PriClass = append(f.PriClass, class)
	group := util.BuildPodGroup(name, "ns", queue, 1, nil, schedulingv1beta1.PodGroupInqueue)
	group.Spec.PriorityClassName = class.Name
	f.PodGroups = append(f.PodGroups, group)
	for _, pod := range pods {
		pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey] = name
		pod.Spec.Priority = &value
	}
	f.Pods = append(f.Pods, pods...)
	return f
}

// open opens a session.
func (f *fixture) open(t *testing.T) *fixture {
	t.Helper()
	builder := func(args framework.Arguments) framework.Plugin {
		f.cache.configure(args)
		f.opened = &plugin{cache: f.cache, config: f.cache.config}
		return f.opened
	}
	f.Plugins = map[string]framework.PluginBuilder{Name: builder, gang.PluginName: gang.New, priority.PluginName: priority.New}
	on := ptr.To(true)
	tier := conf.Tier{Plugins: []conf.PluginOption{
		{Name: Name, EnabledPredicate: on, EnabledNodeOrder: on, EnabledPreemptable: on, EnabledReclaimable: on, EnabledAllocatable: on, EnablePreemptive: on, EnabledOverused: on, Arguments: f.args},
		{Name: priority.PluginName, EnabledTaskOrder: on, EnabledJobOrder: on, EnabledPreemptable: on, EnabledJobStarving: on},
		{Name: gang.PluginName, EnabledJobReady: on, EnabledJobPipelined: on, EnabledJobStarving: on, EnabledReclaimable: on},
	}}
	f.session = f.RegisterSession([]conf.Tier{tier}, f.actions)
	t.Cleanup(framework.CleanupPluginBuilders)
	return f
}

// close closes the session as the scheduler does. The fixture's cache stays.
func (f *fixture) close() { framework.CloseSession(f.session) }

func (f *fixture) allocate() *fixture {
	f.Run([]framework.Action{allocate.New()})
	return f
}

func (f *fixture) preempt() *fixture {
	f.Run([]framework.Action{allocate.New(), preempt.New()})
	return f
}

func (f *fixture) reclaim() *fixture {
	f.Run([]framework.Action{allocate.New(), reclaim.New()})
	return f
}

func (f *fixture) task(name string) *api.TaskInfo {
	for _, job := range f.session.Jobs {
		for _, task := range job.Tasks {
			if task.Name == name {
				return task
			}
		}
	}
	panic("no pod " + name)
}

// places lists the pods of jobs with status and node in the session, sorted.
func (f *fixture) places() string {
	var all []string
	for _, job := range f.session.Jobs {
		for _, task := range job.Tasks {
			place := task.Name + ":" + task.Status.String()
			if task.NodeName != "" {
				place += "@" + task.NodeName
			}
			all = append(all, place)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (f *fixture) expectPlaces(t *testing.T, want string) {
	t.Helper()
	if got := f.places(); got != want {
		t.Errorf("pods are\n%s, want\n%s", got, want)
	}
}

// refusal returns the predicate's reasons for a pod and a node. It is empty if the pod fits.
func (f *fixture) refusal(pod, node string) string {
	err := f.opened.predicate(f.task(pod), f.session.Nodes[node])
	if err == nil {
		return ""
	}
	return strings.Join(err.(*api.FitError).Reasons(), "; ")
}

// notes is an event recorder that keeps events.
type notes struct{ all []string }

func (n *notes) Event(object runtime.Object, _, reason, message string) {
	var name string
	switch o := object.(type) {
	case *corev1.ObjectReference:
		name = o.Kind + " " + o.Name
	case *corev1.Pod:
		name = "Pod " + o.Name
	}
	n.all = append(n.all, name+": "+reason+": "+message)
}

func (n *notes) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	n.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (n *notes) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	n.Eventf(object, kind, reason, format, args...)
}

// events returns the events since the last call.
func (f *fixture) events() []string {
	n := f.cache.recorder.(*notes)
	all := n.all
	n.all = nil
	return all
}

// watched reports whether a fake API server is watched for a resource. It does not send changes that happen between an informer's list and
// its watch.
func watched(kube *fake.Clientset, resource string) bool {
	return slices.ContainsFunc(kube.Actions(), func(a clienttesting.Action) bool { return a.Matches("watch", resource) })
}
