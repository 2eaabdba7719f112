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

// scene is a cluster in which one session takes place.
type scene struct {
	uthelper.TestCommonStruct
	// process is the plugin's memory, which later scenes may share.
	process *process
	args    framework.Arguments
	actions []conf.Configuration
	opened  *plugin
	session *framework.Session
}

// gpuArgs are the arguments with which nvidia.com/gpu makes a node a GPU node, and further keys and values.
func gpuArgs(further ...any) framework.Arguments {
	args := framework.Arguments{argGPUResourceNames: "nvidia.com/gpu"}
	for i := 0; i < len(further); i += 2 {
		args[further[i].(string)] = further[i+1]
	}
	return args
}

func newScene(args framework.Arguments) *scene {
	s := &scene{process: newProcess(), args: args}
	s.process.recorder = &notes{}
	return s.queue("default")
}

func (s *scene) queue(name string) *scene {
	q := util.BuildQueue(name, 1, nil)
	q.Spec.Reclaimable = ptr.To(true)
	s.Queues = append(s.Queues, q)
	return s
}

// node adds a node with amounts as "cpu=8 memory=32Gi", and annotations as keys and values by turns.
func (s *scene) node(name, amounts string, annotations ...string) *scene {
	s.Nodes = append(s.Nodes, newNode(name, amounts, annotations...))
	return s
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

// newPod runs on its node, or waits for one when it has none.
func newPod(name, node, amounts string) *corev1.Pod {
	phase := corev1.PodRunning
	if node == "" {
		phase = corev1.PodPending
	}
	return util.BuildPod("ns", name, node, phase, list(amounts), "", nil, nil)
}

// outside adds pods that no job of Volcano has.
func (s *scene) outside(pods ...*corev1.Pod) *scene {
	for _, pod := range pods {
		delete(pod.Annotations, schedulingv1beta1.KubeGroupNameAnnotationKey)
	}
	s.Pods = append(s.Pods, pods...)
	return s
}

// job adds a job that may start with one of its pods.
func (s *scene) job(name string, value int32, pods ...*corev1.Pod) *scene {
	return s.jobIn("default", name, value, pods...)
}

func (s *scene) jobIn(queue, name string, value int32, pods ...*corev1.Pod) *scene {
	class := util.BuildPriorityClass(fmt.Sprint("p", value), value)
	s.PriClass = append(s.PriClass, class)
	group := util.BuildPodGroup(name, "ns", queue, 1, nil, schedulingv1beta1.PodGroupInqueue)
	group.Spec.PriorityClassName = class.Name
	s.PodGroups = append(s.PodGroups, group)
	for _, pod := range pods {
		pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey] = name
		pod.Spec.Priority = &value
	}
	s.Pods = append(s.Pods, pods...)
	return s
}

// open opens a session.
func (s *scene) open(t *testing.T) *scene {
	t.Helper()
	builder := func(args framework.Arguments) framework.Plugin {
		s.process.configure(args)
		s.opened = &plugin{process: s.process, config: s.process.config}
		return s.opened
	}
	s.Plugins = map[string]framework.PluginBuilder{Name: builder, gang.PluginName: gang.New, priority.PluginName: priority.New}
	on := ptr.To(true)
	tier := conf.Tier{Plugins: []conf.PluginOption{
		{Name: Name, EnabledPredicate: on, EnabledNodeOrder: on, EnabledPreemptable: on, EnabledReclaimable: on, EnabledAllocatable: on, EnablePreemptive: on, EnabledOverused: on, Arguments: s.args},
		{Name: priority.PluginName, EnabledTaskOrder: on, EnabledJobOrder: on, EnabledPreemptable: on, EnabledJobStarving: on},
		{Name: gang.PluginName, EnabledJobReady: on, EnabledJobPipelined: on, EnabledJobStarving: on, EnabledReclaimable: on},
	}}
	s.session = s.RegisterSession([]conf.Tier{tier}, s.actions)
	t.Cleanup(framework.CleanupPluginBuilders)
	return s
}

// close ends the session as the scheduler does; the scene's process goes on.
func (s *scene) close() { framework.CloseSession(s.session) }

func (s *scene) allocate() *scene {
	s.Run([]framework.Action{allocate.New()})
	return s
}

func (s *scene) preempt() *scene {
	s.Run([]framework.Action{allocate.New(), preempt.New()})
	return s
}

func (s *scene) reclaim() *scene {
	s.Run([]framework.Action{allocate.New(), reclaim.New()})
	return s
}

func (s *scene) task(name string) *api.TaskInfo {
	for _, job := range s.session.Jobs {
		for _, task := range job.Tasks {
			if task.Name == name {
				return task
			}
		}
	}
	panic("no pod " + name)
}

// places are the pods that jobs have, as the session sees them, sorted.
func (s *scene) places() string {
	var all []string
	for _, job := range s.session.Jobs {
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

func (s *scene) expectPlaces(t *testing.T, want string) {
	t.Helper()
	if got := s.places(); got != want {
		t.Errorf("pods are\n%s, want\n%s", got, want)
	}
}

// why is the reason for which a pod may not be on a node; empty if it may.
func (s *scene) why(pod, node string) string {
	err := s.opened.predicate(s.task(pod), s.session.Nodes[node])
	if err == nil {
		return ""
	}
	return strings.Join(err.(*api.FitError).Reasons(), "; ")
}

// notes is an event recorder that remembers.
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

// taken returns what was noted since the last time.
func (s *scene) taken() []string {
	n := s.process.recorder.(*notes)
	all := n.all
	n.all = nil
	return all
}
