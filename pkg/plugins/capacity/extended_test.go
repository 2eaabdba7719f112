// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/framework"

	ourv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
)

// offered makes class h100 offer nvidia.com/gpu, with devices on some nodes. These nodes do not list the resource otherwise.
func (s *fixture) offered(devices int, nodes ...string) *fixture {
	s.DeviceClasses[0].Spec.ExtendedResourceName = ptr.To("nvidia.com/gpu")
	for _, name := range nodes {
		slice := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{
			Driver: "driver", NodeName: &name, Pool: resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1},
		}}
		slice.Name = name
		for i := range devices {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("gpu-", i)})
		}
		s.ResourceSlices = append(s.ResourceSlices, slice)
	}
	offers := dra.NewOffers(dra.NewCatalog(s.DeviceClasses, s.ResourceSlices), dra.NewMatcher(cel.NewCache(10, cel.Features{})), nil)
	for i, node := range s.Nodes {
		if slices.Contains(nodes, node.Name) {
			delete(node.Status.Allocatable, "nvidia.com/gpu")
			delete(node.Status.Capacity, "nvidia.com/gpu")
			s.Nodes[i] = dra.ShowOffers(node, offers)
		}
	}
	return s
}

// used returns what a queue has of the dimensions that matter here, as text.
func used(p *plugin, queue string) string {
	id, _ := p.snapshot.Ledger.Queue(queue)
	var words []string
	for _, d := range []ledger.Dimension{
		{Kind: ledger.Resource, Name: "nvidia.com/gpu"}, {Kind: ledger.DeviceCount, Name: h100}, {Kind: ledger.Card, Name: "H100"}, {Kind: ledger.Card, Name: "A100"},
	} {
		if o, known := p.snapshot.Dimensions.Known(d); known {
			if amount := p.snapshot.Ledger.Used(id, o); amount.Sign() > 0 {
				words = append(words, d.String()+"="+amount.String())
			}
		}
	}
	return strings.Join(words, " ")
}

// try places a pod on a node, or returns why not.
func try(ssn *framework.Session, name, node string) error {
	task := taskOf(ssn, name)
	if !ssn.Allocatable(ssn.Queues[ssn.Jobs[task.Job].Queue], task) {
		return fmt.Errorf("the queue refuses")
	}
	if err := filtered(ssn, name, node); err != nil {
		return err
	}
	return framework.NewStatement(ssn).Allocate(task, ssn.Nodes[node])
}

// attempt places a pod on a node. Afterwards, queue q has what is wanted. refused is empty if the pod gets the node.
type attempt struct{ pod, node, want, refused string }

func expectTries(t *testing.T, ssn *framework.Session, attempts []attempt) {
	t.Helper()
	for _, a := range attempts {
		err := try(ssn, a.pod, a.node)
		if (err == nil) != (a.refused == "") || err != nil && !strings.Contains(err.Error(), a.refused) {
			t.Errorf("%s on %s: %v", a.pod, a.node, err)
		}
		if got := used(pluginOf(ssn), "q"); got != a.want {
			t.Errorf("after %s on %s: the queue has %s, want %s", a.pod, a.node, got, a.want)
		}
	}
}

func TestAPodGetsItsExtendedResourceFromWhoServesIt(t *testing.T) {
	s := newFixture(8, 8).queue("root", "", nil).queue("q", "root", nil)
	s.withDevices(map[string]ourv1beta1.DRAQuota{"q": {Capability: counts(2)}}).offered(4, "n2")
	for _, name := range []string{"a", "b", "c", "d"} {
		s.job("j-"+name, "q", inqueue, nil, newPod(name, "", gpu(1)))
	}
	ssn := s.open(t)
	expectTries(t, ssn, []attempt{
		{"a", "n2", "nvidia.com/gpu=1 h100=1", ""},
		{"b", "n1", "nvidia.com/gpu=2 h100=1", ""},
		{"c", "n2", "nvidia.com/gpu=3 h100=2", ""},
		{"d", "n2", "nvidia.com/gpu=3 h100=2", "total would be <3>, but capability is <2>"},
		{"d", "n1", "nvidia.com/gpu=4 h100=2", ""},
	})
	bind := ssn.CreateBindContext(taskOf(ssn, "a"))
	decided := bind.Extensions[Name].(*placement.Binding)
	if decided.Err != nil || len(decided.Claims) != 1 || !dra.InMemory(decided.Claims[0]) || len(decided.Claims[0].Status.Allocation.Devices.Results) != 1 {
		t.Errorf("pod a is bound with claims %v, error %v", decided.Claims, decided.Err)
	}
	if plugged := ssn.CreateBindContext(taskOf(ssn, "b")).Extensions[Name].(*placement.Binding); len(plugged.Claims) != 0 || plugged.Err != nil {
		t.Errorf("a pod whose device plugin serves it gets claims %v, error %v", plugged.Claims, plugged.Err)
	}
}

func TestAPlacementThatIsUndoneGivesBackEitherWay(t *testing.T) {
	s := newFixture(8, 8).queue("root", "", nil).queue("q", "root", nil).withDevices(nil).offered(1, "n2")
	s.job("j", "q", inqueue, nil, newPod("a", "", gpu(1)))
	s.job("k", "q", inqueue, nil, newPod("b", "", gpu(1)))
	ssn := s.open(t)
	for _, node := range []string{"n2", "n1", "n2"} {
		task := taskOf(ssn, "a")
		must(t, filtered(ssn, "a", node))
		statement := framework.NewStatement(ssn)
		must(t, statement.Allocate(task, ssn.Nodes[node]))
		if node == "n2" {
			if err := try(ssn, "b", "n2"); err == nil {
				t.Error("a device is handed out twice")
			}
		}
		if statement.Discard(); used(pluginOf(ssn), "q") != "" {
			t.Errorf("after it was undone on %s, the queue has %s", node, used(pluginOf(ssn), "q"))
		}
	}
	if err := try(ssn, "b", "n2"); err != nil {
		t.Errorf("the device is not free: %v", err)
	}
}

// TestOneCardQuotaForBothWorlds: the class stands for the card in the labels of the other node.
func TestOneCardQuotaForBothWorlds(t *testing.T) {
	s := newFixture(8, 8, 8).queue("root", "", nil).queue("q", "root", nil).withCards(map[string]string{"q": `{"H100": 2, "A100": 1}`})
	for i, model := range []string{"H100", "", "A100"} {
		if model != "" {
			s.Nodes[i].Labels = map[string]string{"nvidia.com/gpu.product": model}
		}
	}
	s.DeviceClasses = []*resourcev1.DeviceClass{{}}
	s.DeviceClasses[0].Name, s.DeviceClasses[0].Annotations = h100, map[string]string{"volcano.sh/card.name": "H100"}
	s.offered(4, "n2")
	for _, name := range []string{"a", "b", "c"} {
		pod := newPod(name, "", gpu(1))
		pod.Annotations["volcano.sh/card.name"] = "H100|A100"
		s.job("j-"+name, "q", inqueue, nil, pod)
	}
	expectTries(t, s.open(t), []attempt{
		{"a", "n1", "nvidia.com/gpu=1 H100=1", ""},
		{"b", "n2", "nvidia.com/gpu=2 h100=1 H100=2", ""},
		{"c", "n2", "nvidia.com/gpu=2 h100=1 H100=2", "H100"},
		{"c", "n1", "nvidia.com/gpu=2 h100=1 H100=2", "H100"},
		{"c", "n3", "nvidia.com/gpu=3 h100=1 H100=2 A100=1", ""},
	})
}

func TestAWaitingPodIsToldWhyInEachWorld(t *testing.T) {
	s := newFixture(8, 8).queue("root", "", nil).queue("q", "root", nil)
	s.withDevices(map[string]ourv1beta1.DRAQuota{"q": {Capability: counts(0)}}).offered(4, "n2")
	s.Nodes[0].Labels = map[string]string{"nvidia.com/gpu.product": "A100"}
	s.Queues[1].Annotations = map[string]string{"volcano.sh/card.quota": `{"A100": 0}`}
	s.publish(func(q *ourv1beta1.Queue) {
		if q.Name == "q" {
			q.Spec.DRA = &ourv1beta1.DRAQuota{Capability: counts(0)}
		}
	})
	s.job("j", "q", inqueue, nil, newPod("a", "", gpu(1)))
	ssn := s.open(t)
	refusal := pluginOf(ssn).checks.Pod(pluginOf(ssn).snapshot.Ledger, ssn.Queues["q"], taskOf(ssn, "a"))
	if refusal == nil {
		t.Fatal("the pod is not refused")
	}
	for _, words := range []string{"On nodes where DRA serves nvidia.com/gpu: Queue <q> has insufficient <h100> quota", "on nodes with device plugins: Queue <q> has insufficient <A100> quota"} {
		if !strings.Contains(refusal.Message(), words) {
			t.Errorf("the message is %s, it does not say %s", refusal.Message(), words)
		}
	}
}

// TestAQueueThatTakesAPodInOneWayRefusesTheOther: the queue accepts a pod if it accepts one variant. Each node must still suit this
// variant.
func TestAQueueThatTakesAPodInOneWayRefusesTheOther(t *testing.T) {
	s := newFixture(8, 8).queue("root", "", nil).queue("q", "root", nil)
	s.withDevices(map[string]ourv1beta1.DRAQuota{"q": {Capability: counts(-1)}}).offered(4, "n2") // the quota of devices is invalid
	s.job("j-a", "q", inqueue, nil, newPod("a", "", gpu(1)))
	s.job("j-b", "q", inqueue, nil, newPod("b", "", gpu(1)))
	ssn := s.open(t)
	if err := try(ssn, "a", "n2"); err == nil || !strings.Contains(err.Error(), "cannot use devices") {
		t.Errorf("a pod gets devices although the quota of its queue cannot be read: %v", err)
	}
	if err := try(ssn, "b", "n1"); err != nil {
		t.Errorf("a pod does not get what a device plugin serves: %v", err)
	}
}

// TestANodeThatListsWhatNobodyOffersGetsNoPods: the class was deleted after its offers were added to the nodes of the session. The pod would
// run without a device.
func TestANodeThatListsWhatNobodyOffersGetsNoPods(t *testing.T) {
	s := newFixture(8, 8).queue("root", "", nil).queue("q", "root", nil)
	s.withDevices(nil).offered(4, "n2").job("j", "q", inqueue, nil, newPod("a", "", gpu(1)))
	s.DeviceClasses[0].Spec.ExtendedResourceName = nil
	ssn := s.open(t)
	if err := try(ssn, "a", "n2"); err == nil || !strings.Contains(err.Error(), "no DeviceClass offers") {
		t.Errorf("on a node that lists what nobody offers: %v", err)
	}
	if err := try(ssn, "a", "n1"); err != nil {
		t.Errorf("on a node with a device plugin: %v", err)
	}
}
