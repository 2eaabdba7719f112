package crossquota

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/framework"
)

// process is what outlives sessions. Sessions run one after the other, so nothing here is locked;
// what a session reads from several goroutines does not change meanwhile.
type process struct {
	args   framework.Arguments
	config *config
	// version changes with the configuration and with the devices of nodes.
	version uint64
	// session counts sessions.
	session  uint64
	recorder record.EventRecorder
	// devices is nil until gpu-device-classes names some.
	devices *devices
	nodes   map[string]*nodeFacts
	// order has the nodes in the order of the session's list, which hardly ever changes: to see that
	// a node is still the same takes no look into a map.
	order []*nodeFacts
	pods  map[*corev1.Pod]*podFacts
	// told has the unknown strategies that events have been written about.
	told      map[types.UID]toldStrategy
	published map[string][]published
}

func newProcess() *process {
	return &process{
		nodes: map[string]*nodeFacts{}, pods: map[*corev1.Pod]*podFacts{},
		told: map[types.UID]toldStrategy{}, published: map[string][]published{},
	}
}

// configure reads the arguments if they are not those of the last session, which hardly ever
// happens.
func (p *process) configure(args framework.Arguments) {
	if p.config != nil && reflect.DeepEqual(args, p.args) {
		return
	}
	read, problems := newConfig(args)
	for _, err := range problems {
		klog.ErrorS(err, "Something is wrong with the configuration of a plugin", "plugin", Name)
	}
	if read.idle() {
		klog.InfoS("No node is a GPU node, because the plugin's arguments name neither resources nor DeviceClasses", "plugin", Name,
			"arguments", []string{argGPUResourceNames, argGPUDeviceClasses})
	}
	p.args, p.config = args, read
	p.version++
	clear(p.pods)
	p.unpublishAll()
}

// begin begins a session.
func (p *process) begin(ssn *framework.Session) {
	p.session++
	if p.recorder == nil {
		broadcaster := record.NewBroadcaster()
		broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: ssn.KubeClient().CoreV1().Events("")})
		p.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "vc-scheduler"})
	}
	if len(p.config.gpuClasses) == 0 {
		return
	}
	if p.devices == nil {
		p.devices = startDevices(ssn.InformerFactory())
	}
	if p.devices.refresh(p.config.gpuClasses) {
		p.version++
	}
}

// offered reports whether a node has devices of a class that counts as GPU.
func (p *process) offered(node *corev1.Node) bool {
	return len(p.config.gpuClasses) > 0 && p.devices.offers.on(node)
}

// classesOf returns the classes that a pod's claims ask for. It is not called while no class
// counts as GPU.
func (p *process) classesOf(pod *corev1.Pod) []string { return p.devices.classesOf(pod) }

// nodeAt returns what is known of the i-th node of the session.
func (p *process) nodeAt(i int, object *corev1.Node) *nodeFacts {
	if i == len(p.order) {
		p.order = append(p.order, p.node(object))
	} else if last := p.order[i]; last.object != object || last.version != p.version {
		p.order[i] = p.node(object)
	}
	return p.order[i]
}

// node returns what is known of a node, as it is now. It writes an event on the node when
// something is wrong with its annotations that was not before.
func (p *process) node(object *corev1.Node) *nodeFacts {
	last := p.nodes[object.Name]
	if last != nil && last.object == object && last.version == p.version {
		return last
	}
	facts := p.config.newNodeFacts(object, p.offered)
	facts.version = p.version
	p.nodes[object.Name] = facts
	if facts.problems != "" && (last == nil || last.problems != facts.problems) {
		p.reportNode(object, facts.problems)
	}
	if facts.gpu {
		klog.V(4).InfoS("Looked at a GPU node", "plugin", Name, "node", object.Name, "quotas", p.config.quotasOf(facts))
	}
	return facts
}

// known returns the facts of a pod if they still hold.
func (p *process) known(pod *corev1.Pod) (*podFacts, bool) {
	facts := p.pods[pod]
	return facts, facts != nil && (facts.lasting || facts.session == p.session)
}

// facts returns the facts of a pod. It may be called from several goroutines.
func (p *process) facts(pod *corev1.Pod) *podFacts {
	if facts, found := p.known(pod); found {
		return facts
	}
	return p.config.newPodFacts(pod, p.classesOf)
}

// remember returns the facts of a pod, and keeps them for the next session.
func (p *process) remember(pod *corev1.Pod) *podFacts {
	facts := p.facts(pod)
	facts.session = p.session
	p.pods[pod] = facts
	return facts
}

// forget drops what the session has not needed.
func (p *process) forget(ssn *framework.Session) {
	for pod, facts := range p.pods {
		if facts.session != p.session {
			delete(p.pods, pod)
		}
	}
	p.forgetTold(ssn)
}

// forgetNodes drops nodes that are gone, if there are any.
func (p *process) forgetNodes(ssn *framework.Session) {
	clear(p.order[len(ssn.NodeList):])
	p.order = p.order[:len(ssn.NodeList)]
	if len(p.nodes) <= len(ssn.NodeList) {
		return
	}
	for name := range p.nodes {
		if ssn.Nodes[name] == nil {
			delete(p.nodes, name)
		}
	}
}
