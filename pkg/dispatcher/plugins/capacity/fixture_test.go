// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestMain(m *testing.M) {
	framework.Register(Name, Registration)
	os.Exit(m.Run())
}

// scene is the input of a session.
type scene struct {
	queues    []*schedulingv1beta1.Queue
	classes   []*resourceapi.DeviceClass
	workloads []*framework.Workload
	arguments string
	counter   *needs.Counter
	counted   map[*workload.Template]*needs.Counted
}

type thing func(*scene)

func newScene(things ...thing) *scene {
	s := &scene{counter: needs.New(), counted: map[*workload.Template]*needs.Counted{}}
	for _, add := range things {
		add(s)
	}
	return s
}

func (s *scene) open(t testing.TB) (*framework.Session, *plugin) {
	t.Helper()
	config, err := framework.ParseConfig([]byte("tiers: [{plugins: [{name: capacity, arguments: {" + s.arguments + "}}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	given, _ := config.Plugin(Name)
	p := Registration.New(given).(*plugin)
	session := framework.Open(&framework.Config{}, s.snapshot(t))
	p.OnSessionOpen(session)
	return session, p
}

func (s *scene) snapshot(t testing.TB) *framework.Snapshot {
	t.Helper()
	limits := s.counter.Begin(needs.Inputs{Queues: s.queues, Classes: s.classes})
	snapshot := &framework.Snapshot{
		Now: time.Unix(1000, 0), Queues: map[string]*schedulingv1beta1.Queue{}, Limits: limits, Workloads: s.workloads,
		PriorityClasses: map[string]*schedulingv1.PriorityClass{"high": {Value: 10}}, Dimensions: s.counter.Dimensions(),
	}
	for _, q := range s.queues {
		snapshot.Queues[q.Name] = q
	}
	for _, w := range s.workloads {
		if w.Template == nil {
			continue
		}
		s.counted[w.Template] = s.counter.Of(w.Template, framework.Spread{Copies: 1}, s.counted[w.Template])
		w.Needs, w.Err = s.counted[w.Template].Needs, s.counted[w.Template].Err
		if w.State.Grant != nil && w.State.Grant.Amounts == nil {
			w.State.Grant.Amounts = needs.ToGrant(s.counter.Dimensions(), w.Needs.All)
		}
	}
	return snapshot
}

func (s *scene) workload(name string) *framework.Workload {
	for _, w := range s.workloads {
		if w.Binding.Name == name {
			return w
		}
	}
	panic("there is no workload " + name)
}

// queue adds a queue. Words are for example parent=ml, cpu=4, deserved:cpu=2, guarantee:cpu=1, priority=3, closed, keeps.
func queue(name string, words ...string) thing {
	q := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
	q.Spec.Capability, q.Spec.Deserved, q.Spec.Guarantee.Resource = corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch kind, rest, found := strings.Cut(key, ":"); {
		case key == "parent":
			q.Spec.Parent = value
		case key == "priority":
			fmt.Sscan(value, &q.Spec.Priority)
		case key == "closed":
			q.Status.State = volcanov1beta1.QueueStateClosed
		case key == "open":
			q.Status.State = volcanov1beta1.QueueStateOpen
		case key == "keeps":
			no := false
			q.Spec.Reclaimable = &no
		case key == "cards":
			q.Annotations[schedulingv1beta1.CardQuotaAnnotation] = value
		case key == "deserved-cards":
			q.Annotations[schedulingv1beta1.CardDeservedAnnotation] = value
		case kind == "deserved" && found:
			q.Spec.Deserved[corev1.ResourceName(rest)] = resource.MustParse(value)
		case kind == "guarantee" && found:
			q.Spec.Guarantee.Resource[corev1.ResourceName(rest)] = resource.MustParse(value)
		default:
			q.Spec.Capability[corev1.ResourceName(key)] = resource.MustParse(value)
		}
	}
	return func(s *scene) { s.queues = append(s.queues, q) }
}

// job adds a workload that waits for cpus.
func job(name, queue string, cpus int64, change ...func(*framework.Workload)) thing {
	template := &corev1.PodTemplateSpec{}
	template.Spec.Containers = []corev1.Container{{}}
	template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}
	w := &framework.Workload{
		Binding:  &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}},
		Template: &workload.Template{Kind: "Job", Namespace: "ns", Name: name, Pods: []workload.PodSet{{Count: cpus, Minimum: cpus, Template: template}}},
		State:    binding.State{Hold: &binding.Hold{Reason: binding.Waiting}}, Queue: queue, Created: time.Unix(100, 0),
	}
	for _, f := range change {
		f(w)
	}
	return func(s *scene) {
		w.Created = w.Created.Add(time.Duration(len(s.workloads)) * time.Second)
		s.workloads = append(s.workloads, w)
	}
}

// granted makes a workload run with a grant of everything that it needs.
func granted(w *framework.Workload) {
	w.State = binding.State{MayRun: true, Grant: &binding.Grant{Queue: w.Queue, Time: metav1.Unix(1, 0)}}
}

// grantedFor makes a workload run with a grant of fewer cpus than it needs.
func grantedFor(cpus int64) func(*framework.Workload) {
	return func(w *framework.Workload) {
		granted(w)
		w.State.Grant.Amounts = []binding.Amount{amountOf("cpu", cpus), amountOf("pods", cpus)}
	}
}

// grows holds a workload with a grant of fewer cpus than it needs.
func grows(from int64) func(*framework.Workload) {
	return func(w *framework.Workload) {
		grantedFor(from)(w)
		w.State.Hold = &binding.Hold{Reason: binding.Growing, Dispatching: true}
	}
}

func returns(w *framework.Workload) {
	granted(w)
	beingReturned(w)
}

func beingReturned(w *framework.Workload) { w.State.Hold = &binding.Hold{Reason: binding.Returning} }

func finished(w *framework.Workload) { granted(w); w.State.Finished = true }

func adopted(w *framework.Workload) { w.State = binding.State{MayRun: true} }

func minimum(pods int64) func(*framework.Workload) {
	return func(w *framework.Workload) { w.Template.Pods[0].Minimum = pods }
}

func priority(class string) func(*framework.Workload) {
	return func(w *framework.Workload) { w.Template.PriorityClass = class }
}

func inGroup(name string) func(*framework.Workload) {
	return func(w *framework.Workload) {
		w.Template.Group = name
		if w.State.Grant != nil {
			w.State.Grant.Group = name
		}
	}
}

func cannotBeRead(w *framework.Workload) {
	w.Err, w.Template = fmt.Errorf("ResourceClaimTemplate ns/t does not exist"), nil
}

// gpus makes each pod request a card, with its name unless the name is empty.
func gpus(card string) func(*framework.Workload) {
	return func(w *framework.Workload) {
		template := w.Template.Pods[0].Template
		template.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
		if card != "" {
			template.Annotations = map[string]string{"volcano.sh/card.name": card}
		}
	}
}

// podGroup adds a PodGroup that reserves cpus.
func podGroup(name, queue string, cpus int64, change ...func(*framework.Workload)) thing {
	return job(name, queue, 0, append([]func(*framework.Workload){func(w *framework.Workload) {
		w.Template.Kind, w.Template.Pods = "PodGroup", nil
		w.Template.Reserve = corev1.ResourceList{"cpu": *resource.NewQuantity(cpus, resource.DecimalSI)}
	}}, change...)...)
}

func with(text string) thing { return func(s *scene) { s.arguments = text } }

func amountOf(resource string, units int64) binding.Amount {
	return binding.Amount{Dimension: ledger.Dimension{Name: resource}, Amount: ledger.Units(units)}
}

// used returns the amount of a resource that a queue and its descendants are charged.
func used(p *plugin, queue, resource string) string {
	id, found := p.books.Queue(queue)
	if !found {
		return "no queue"
	}
	o, known := p.session.Dimensions.Known(ledger.Dimension{Name: resource})
	if !known {
		return "0"
	}
	return p.books.Used(id, o).String()
}

func class(name string) thing {
	return func(s *scene) {
		s.classes = append(s.classes, &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
}

// requestDevices makes each pod request a device of a class as an extended resource.
func requestDevices(w *framework.Workload, class string) {
	w.Template.Pods[0].Template.Spec.Containers[0].Resources.Requests[corev1.ResourceName("deviceclass.resource.kubernetes.io/"+class)] = resource.MustParse("1")
}
