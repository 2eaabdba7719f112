// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	upstreampredicates "volcano.sh/volcano/pkg/scheduler/plugins/predicates"
	"volcano.sh/volcano/pkg/scheduler/uthelper"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/devicequota/devicequota/pkg/plugins/predicates"
)

func TestMain(m *testing.M) {
	options.Default()
	klog.SetLogger(logr.New(logged))
	os.Exit(m.Run())
}

// must ends a test with an error, unless it is nil.
func must(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// eventually waits until something is so that other goroutines do. It panics if that takes too long: plugins know no test.
func eventually(what string, is func() bool) {
	err := wait.PollUntilContextTimeout(context.Background(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		panic("not so in time: " + what)
	}
}

// fixture is a cluster in which one session takes place.
type fixture struct {
	uthelper.TestCommonStruct
	extra []conf.PluginOption
	// above is a tier above the tier of the plugin.
	above []conf.PluginOption
	flat  bool
	// cache is the state that outlives sessions, nil for a new one.
	cache *cache
	// name is the plugin's name, capacity if empty.
	name      string
	arguments framework.Arguments
	// strays are pods that the API server has, but no job of the session.
	strays []*corev1.Pod
	// budget is the PodDisruptionBudget in the API server, nil for none.
	budget *policyv1.PodDisruptionBudget
}

// newFixture has nodes with these numbers of cores. Each node has as many GiB as cores, and eight GPUs.
func newFixture(cores ...int) *fixture {
	s := &fixture{}
	for i, n := range cores {
		s.Nodes = append(s.Nodes, util.BuildNode(fmt.Sprint("n", i+1), api.BuildResourceList(fmt.Sprint(n), fmt.Sprint(n, "Gi"),
			api.ScalarResource{Name: "pods", Value: "50"}, api.ScalarResource{Name: "nvidia.com/gpu", Value: "8"}), nil))
	}
	return s
}

// cpu is a list that has only cores.
func cpu(cores int) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(cores), resource.DecimalSI)}
}

func gpu(n int) corev1.ResourceList {
	return corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(int64(n), resource.DecimalSI)}
}

// queue adds an open queue.
func (s *fixture) queue(name, parent string, change func(*schedulingv1beta1.QueueSpec)) *fixture {
	q := util.BuildQueue(name, 1, nil)
	q.Spec.Parent = parent
	if change != nil {
		change(&q.Spec)
	}
	s.Queues = append(s.Queues, q)
	return s
}

// job adds a PodGroup in a phase that needs all its pods. minimum is its minResources, nil for none.
func (s *fixture) job(name, queue string, phase schedulingv1beta1.PodGroupPhase, minimum corev1.ResourceList, pods ...*corev1.Pod) *fixture {
	group := util.BuildPodGroup(name, "ns", queue, int32(len(pods)), nil, phase)
	group.UID = types.UID(name)
	if minimum != nil {
		group.Spec.MinResources = &minimum
	}
	s.PodGroups = append(s.PodGroups, group)
	for _, pod := range pods {
		pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey] = name
	}
	s.Pods = append(s.Pods, pods...)
	return s
}

// newPod returns a pod. It waits for a node if it has none.
func newPod(name, node string, requests corev1.ResourceList) *corev1.Pod {
	phase := corev1.PodRunning
	if node == "" {
		phase = corev1.PodPending
	}
	p := util.BuildPod("ns", name, node, phase, requests, "", map[string]string{schedulingv1beta1.PodPreemptable: "true"}, nil)
	p.CreationTimestamp = metav1.NewTime(time.Unix(1000, 0))
	if phase == corev1.PodRunning {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	}
	return p
}

// opened is the plugin of the last session.
var opened *plugin

func pluginOf(ssn *framework.Session) *plugin {
	if opened.session != ssn {
		panic("another session was opened since")
	}
	return opened
}

func taskOf(ssn *framework.Session, name string) *api.TaskInfo {
	for _, job := range ssn.Jobs {
		for _, task := range job.Tasks {
			if task.Name == name {
				return task
			}
		}
	}
	panic("no pod " + name)
}

// readFirst is the plugin after it has read all devices and cards.
type readFirst struct {
	*plugin
	fixture *fixture
}

func (p readFirst) OnSessionOpen(ssn *framework.Session) {
	seen := p.fixture.strays
	if p.fixture.budget != nil {
		seen = append(slices.Clone(seen), p.fixture.Pods...) // only with budgets do these differ from the pods of the session
	}
	for _, pod := range seen {
		if err := ssn.InformerFactory().Core().V1().Pods().Informer().GetStore().Add(pod); err != nil {
			panic(err)
		}
	}
	if p.fixture.budget != nil {
		if err := ssn.InformerFactory().Policy().V1().PodDisruptionBudgets().Informer().GetStore().Add(p.fixture.budget); err != nil {
			panic(err)
		}
	}
	awaitWatch(ssn.KubeClient().(*fake.Clientset), "nodes")
	for _, node := range p.fixture.Nodes {
		if len(node.Labels) == 0 {
			continue
		}
		if _, err := ssn.KubeClient().CoreV1().Nodes().Create(context.Background(), node, metav1.CreateOptions{}); err != nil {
			panic(err)
		}
		eventually("node "+node.Name+" has been read", func() bool {
			_, err := ssn.InformerFactory().Core().V1().Nodes().Lister().Get(node.Name)
			return err == nil
		})
	}
	if predicates.LeavesDevicesTo(ssn.Tiers, Name, CardName) {
		p.cache.startDevices(clientsOf(ssn))
		eventually("devices have been read", p.cache.devices.Ready)
	}
	p.plugin.OnSessionOpen(ssn)
}

// awaitWatch waits until a resource of a fake API server is watched. The server does not send changes between an
// informer's list and its watch.
func awaitWatch(kube *fake.Clientset, resource string) {
	eventually(resource+" are watched", func() bool {
		return slices.ContainsFunc(kube.Actions(), func(a clienttesting.Action) bool { return a.Matches("watch", resource) })
	})
}

// open opens a session with the plugin, and closes it when the test ends.
func (s *fixture) open(t testing.TB) *framework.Session {
	t.Helper()
	ssn := s.RegisterSession(s.tiers(), nil)
	t.Cleanup(framework.CleanupPluginBuilders)
	return ssn
}

// tiers sets the plugins of the next session, and returns their configuration.
func (s *fixture) tiers() []conf.Tier {
	if s.Plugins == nil {
		s.Plugins = map[string]framework.PluginBuilder{}
	}
	if s.cache == nil {
		s.cache = newTestCache()
	}
	name := cmp.Or(s.name, Name)
	s.Plugins[name] = func(framework.Arguments) framework.Plugin {
		opened = &plugin{cache: s.cache, arguments: readArguments(name, s.arguments)}
		return readFirst{opened, s}
	}
	s.Plugins[gang.PluginName] = func(given framework.Arguments) framework.Plugin { return &gangPlugin{gang.New(given), s.cache} }
	s.Plugins[predicates.Name] = predicates.NewBuilder(Name, CardName)
	on := ptr.To(true)
	options := []conf.PluginOption{
		{Name: name, EnabledNodeOrder: on, EnabledAllocatable: on, EnablePreemptive: on, EnabledJobEnqueued: on, EnabledReclaimable: on, EnabledPreemptable: on,
			EnabledQueueOrder: on, EnabledPredicate: on, EnabledJobReady: on, EnabledHierarchy: ptr.To(!s.flat), EnabledVictim: on, EnabledOverused: on, EnabledHyperNodeGradient: on},
		{Name: gang.PluginName, EnabledJobStarving: on, EnabledJobPipelined: on, EnabledJobReady: on, EnabledSubJobReady: on, EnabledSubJobPipelined: on},
		{Name: predicates.Name, EnabledPredicate: on, Arguments: map[string]any{upstreampredicates.DynamicResourceAllocationEnable: s.DeviceClasses != nil}},
	}
	tiers := []conf.Tier{{Plugins: append(options, s.extra...)}}
	if s.above != nil {
		tiers = slices.Insert(tiers, 0, conf.Tier{Plugins: s.above})
	}
	return tiers
}

// statuses returns the statuses of a session's pods, sorted.
func statuses(ssn *framework.Session) string {
	var all []string
	for _, job := range ssn.Jobs {
		for _, task := range job.Tasks {
			all = append(all, task.Name+":"+task.Status.String())
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func expectStatuses(t *testing.T, ssn *framework.Session, want string) {
	t.Helper()
	if got := statuses(ssn); got != want {
		t.Errorf("pods are\n%s, want\n%s", got, want)
	}
}

// newTestCache returns the cache of a new scheduler.
func newTestCache() *cache { return newCache(context.Background(), clock.RealClock{}) }

// expectEvent waits for an event on an object. The event is written after the session has closed.
func expectEvent(t *testing.T, client kubernetes.Interface, kind, name, reason, message string) {
	t.Helper()
	var seen []string
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		list, err := client.CoreV1().Events("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		seen = nil
		for _, e := range list.Items {
			if e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name && e.Reason == reason && e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, message) {
				return true, nil
			}
			seen = append(seen, fmt.Sprintf("%s %s: %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message))
		}
		return false, nil
	})
	if err != nil {
		t.Errorf("no event %s %q on %s %s (%v); there are\n%s", reason, message, kind, name, err, strings.Join(seen, "\n"))
	}
}
