// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/framework"
)

// cache holds the state that outlives a session. Sessions do not overlap, so there is no lock. The data that several goroutines of a session
// read does not change during that time.
type cache struct {
	args   framework.Arguments
	config *config
	// version increases when the configuration or the nodes with devices change.
	version uint64
	// session is the number of the current session.
	session  uint64
	recorder record.EventRecorder
	// devices is nil until gpu-device-classes names a class.
	devices *devices
	nodes   map[string]*nodeFacts
	// order has the nodes in the order of the session's list, which rarely changes. It saves a map
	// lookup for each node.
	order []*nodeFacts
	pods  map[*corev1.Pod]*podFacts
	// reported has the unknown strategies that events were written about, by pod.
	reported  map[types.UID]reportedStrategy
	published map[string][]published
}

func newCache() *cache {
	return &cache{
		nodes: map[string]*nodeFacts{}, pods: map[*corev1.Pod]*podFacts{},
		reported: map[types.UID]reportedStrategy{}, published: map[string][]published{},
	}
}

// configure reads the arguments if they differ from those of the last session.
func (c *cache) configure(args framework.Arguments) {
	if c.config != nil && reflect.DeepEqual(args, c.args) {
		return
	}
	read, problems := newConfig(args)
	for _, err := range problems {
		klog.ErrorS(err, "Invalid argument in the configuration of a plugin", "plugin", Name)
	}
	if read.idle() {
		klog.InfoS("No node is a GPU node, because the plugin's arguments name neither resources nor DeviceClasses", "plugin", Name,
			"arguments", []string{argGPUResourceNames, argGPUDeviceClasses})
	}
	c.args, c.config = args, read
	c.version++
	clear(c.pods)
	for name := range c.published {
		unpublish(name) // the controlled resources may have changed
	}
	clear(c.published)
}

func (c *cache) begin(ssn *framework.Session) {
	c.session++
	if c.recorder == nil {
		broadcaster := record.NewBroadcaster()
		broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: ssn.KubeClient().CoreV1().Events("")})
		c.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "vc-scheduler"})
	}
	if len(c.config.gpuClasses) == 0 {
		return
	}
	if c.devices == nil {
		c.devices = startDevices(ssn.InformerFactory())
	}
	if c.devices.refresh(c.config.gpuClasses) {
		c.version++
	}
}

// offered reports whether a node can reach devices of a class that counts as GPU.
func (c *cache) offered(node *corev1.Node) bool {
	return len(c.config.gpuClasses) > 0 && c.devices.nodes.Has(node)
}

func (c *cache) nodeAt(i int, object *corev1.Node) *nodeFacts {
	if i == len(c.order) {
		c.order = append(c.order, c.node(object))
	} else if last := c.order[i]; last.object != object || last.version != c.version {
		c.order[i] = c.node(object)
	}
	return c.order[i]
}

// node returns the current facts of a node. If its annotations have new errors, an event on the node
// lists them.
func (c *cache) node(object *corev1.Node) *nodeFacts {
	last := c.nodes[object.Name]
	if last != nil && last.object == object && last.version == c.version {
		return last
	}
	facts := c.config.newNodeFacts(object, c.offered)
	facts.version = c.version
	c.nodes[object.Name] = facts
	if facts.problems != "" && (last == nil || last.problems != facts.problems) {
		c.reportNode(object, facts.problems)
	}
	if facts.gpu {
		klog.V(4).InfoS("Read the quotas of a GPU node", "plugin", Name, "node", object.Name, "quotas", c.config.quotasOf(facts))
	}
	return facts
}

// facts returns the facts of a pod. Several goroutines may call it.
func (c *cache) facts(pod *corev1.Pod) *podFacts {
	if facts := c.pods[pod]; facts != nil && (facts.lasting || facts.session == c.session) {
		return facts
	}
	return c.config.newPodFacts(pod, c.devices.classesOf)
}

// remember returns the facts of a pod, and keeps them for the next session.
func (c *cache) remember(pod *corev1.Pod) *podFacts {
	facts := c.facts(pod)
	facts.session = c.session
	c.pods[pod] = facts
	return facts
}

// forget drops the facts of pods that the session did not need.
func (c *cache) forget(ssn *framework.Session) {
	maps.DeleteFunc(c.pods, func(_ *corev1.Pod, facts *podFacts) bool { return facts.session != c.session })
	c.forgetReported(ssn)
}

// forgetNodes drops the facts of nodes that no longer exist.
func (c *cache) forgetNodes(ssn *framework.Session) {
	clear(c.order[len(ssn.NodeList):])
	c.order = c.order[:len(ssn.NodeList)]
	if len(c.nodes) <= len(ssn.NodeList) {
		return
	}
	maps.DeleteFunc(c.nodes, func(name string, _ *nodeFacts) bool { return ssn.Nodes[name] == nil })
}
