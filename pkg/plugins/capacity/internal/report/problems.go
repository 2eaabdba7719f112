// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/metric"
	"github.com/devicequota/devicequota/pkg/problems"
)

var problemQueues = gaugeVector(metric.QueueProblems)

// Problems writes an event on each queue that has a new problem, and counts the queues.
func (r *Reporter) Problems(found problems.Problems, queues map[api.QueueID]*api.QueueInfo) {
	counts := map[string]int{}
	for _, reason := range problems.QueueReasons {
		counts[reason] = 0
	}
	for problem, message := range found {
		if !problem.Harmless {
			counts[problem.Reason]++
		}
		if r.notifiedQueues[problem] == message {
			continue
		}
		eventType := corev1.EventTypeWarning
		if problem.Harmless {
			eventType = corev1.EventTypeNormal
			klog.InfoS("A queue is told something", "queue", problem.Queue, "reason", problem.Reason, "message", message)
		} else {
			klog.ErrorS(nil, "A queue has a problem", "queue", problem.Queue, "reason", problem.Reason, "message", message)
		}
		if info, found := queues[api.QueueID(problem.Queue)]; found {
			r.Recorder.Event(queueReference(info.Queue.Name, info.Queue.UID), eventType, problem.Reason, message)
		}
	}
	r.notifiedQueues = found
	for reason, n := range counts {
		problemQueues.WithLabelValues(reason).Set(float64(n))
	}
}

func queueReference(name string, uid types.UID) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: schedulingv1beta1.SchemeGroupVersion.String(), Kind: "Queue", Name: name, UID: uid}
}

// ContestedResources writes an event on each DeviceClass that newly lost the extended resource that it names.
func (r *Reporter) ContestedResources(contested []dra.Contested) {
	if len(contested)+len(r.notifiedContested) == 0 {
		return
	}
	told := map[types.UID]string{}
	for i := range contested {
		c := &contested[i]
		message := problems.Contested(c)
		told[c.Class.UID] = message
		if r.notifiedContested[c.Class.UID] == message {
			continue
		}
		klog.InfoS("Several DeviceClasses name the same extended resource", "resource", c.Resource, "class", c.Class.Name, "winner", c.Winner.Name, "message", message)
		r.Recorder.Event(reference(resourceapi.SchemeGroupVersion, "DeviceClass", &c.Class.ObjectMeta), corev1.EventTypeWarning, problems.ExtendedResourceContestedReason, message)
	}
	r.notifiedContested = told
}

var devicesAllocatedTwice = promauto.NewGauge(metric.DevicesAllocatedTwice.GaugeOpts())

// DeviceConflicts writes an event on each claim of a new conflict, and counts the devices.
func (r *Reporter) DeviceConflicts(conflicts []dra.Conflict) {
	devicesAllocatedTwice.Set(float64(len(conflicts)))
	told := map[string]bool{}
	for i := range conflicts {
		conflict := &conflicts[i]
		key := conflict.Device.String()
		for _, claim := range conflict.Claims {
			key += " " + string(claim.UID)
		}
		told[key] = true
		if r.notifiedConflicts[key] {
			continue
		}
		klog.ErrorS(nil, "A device is allocated twice", "conflict", conflict.String())
		message := fmt.Sprintf("The %s: let only one scheduler allocate the devices of a node, and delete the pods of all but one of the claims", conflict)
		for _, claim := range conflict.Claims {
			r.Recorder.Event(reference(resourceapi.SchemeGroupVersion, "ResourceClaim", &claim.ObjectMeta), corev1.EventTypeWarning, DeviceAllocatedTwiceReason, message)
		}
	}
	r.notifiedConflicts = told
}

// Reasons of events on queues.
const (
	// QuotaRestoredReason says that the scheduler has restored spec.dra.
	QuotaRestoredReason = "QuotaRestored"
)

// quotaFieldServed has no value until the first answer of the API server.
var quotaFieldServed = gaugeVector(metric.QuotaFieldServed)

// QuotaFieldServed publishes whether the API server serves spec.dra of queues.
func QuotaFieldServed(served bool) {
	value := 0.0
	if served {
		value = 1
	}
	quotaFieldServed.WithLabelValues().Set(value)
}

// QuotaRestored writes an event on a queue whose spec.dra has been restored.
func QuotaRestored(recorder record.EventRecorder, queue *schedulingv1beta1.Queue) {
	recorder.Event(queueReference(queue.Name, queue.UID), corev1.EventTypeNormal, QuotaRestoredReason,
		"The scheduler restored the queue's spec.dra, which was lost while the Queue CRD in the cluster did not have the field")
}

// Node writes an event on a node that has new problems with its cards.
func (r *Reporter) Node(node *corev1.Node, found []string) {
	message := problems.CardsOfNode(found)
	if message == "" {
		delete(r.notifiedNodes, node.Name)
		return
	}
	if r.notifiedNodes[node.Name] != message {
		klog.ErrorS(nil, "The cards of a node cannot be read", "node", klog.KObj(node), "message", message)
		r.Recorder.Event(node, corev1.EventTypeWarning, problems.CardsNotReadReason, message)
	}
	r.notifiedNodes[node.Name] = message
}

// ForgetNode forgets a node that is gone.
func (r *Reporter) ForgetNode(name string) { delete(r.notifiedNodes, name) }

// LogReclaim logs faults of the scheduler's configuration when they change. idle says that the action reclaim runs although
// no queue deserves anything. This is logged only once.
func (r *Reporter) LogReclaim(fault problems.ReclaimFault, idle bool) {
	if fault != r.notifiedReclaimFault && fault.Kind != problems.NoReclaimFault {
		klog.ErrorS(nil, "Queues deserve something, but the scheduler's configuration does not provide for that", "fault", fault.String())
	}
	r.notifiedReclaimFault = fault
	if idle && !r.notifiedReclaimIdle {
		klog.InfoS("The action reclaim has nothing to do, because no queue deserves anything: set deserved of queues, or remove the action")
		r.notifiedReclaimIdle = true
	}
}

// Reasons of events on pods that run.
const (
	// ChargedToRootReason says that a pod is charged to root, because the queue that it came from is not known.
	ChargedToRootReason = "ChargedToRoot"
)

var unattributedPods = promauto.NewGauge(metric.UnattributedPods.GaugeOpts())

var unattributedClaims = promauto.NewGauge(metric.UnattributedClaims.GaugeOpts())

// Unattributed is a pod that is charged to root because its queue is unknown.
type Unattributed struct {
	Pod *corev1.Pod
	// Foreign says that another scheduler placed the pod.
	Foreign bool
}

func (u Unattributed) message() string {
	if u.Foreign {
		return "Scheduler " + u.Pod.Spec.SchedulerName + " placed the pod outside of all queues: its devices and cards are charged to queue <root>. To charge them to another queue, create the pod for Volcano with a queue"
	}
	return "Nobody knows which queue the pod came from, because its PodGroup or queue was deleted: it is charged to queue <root>. Delete the pod to give back what it holds"
}

// Unattributed writes an event on each pod that is newly charged to root. It counts these pods and claims.
func (r *Reporter) Unattributed(pods []Unattributed, claims int) {
	told := make(map[types.UID]bool, len(pods))
	for _, u := range pods {
		told[u.Pod.UID] = true
		if !r.notifiedUnattributed[u.Pod.UID] {
			klog.InfoS("A pod is charged to root, because nobody knows which queue it came from", "pod", klog.KObj(u.Pod))
			r.Recorder.Event(u.Pod, corev1.EventTypeWarning, ChargedToRootReason, u.message())
		}
	}
	r.notifiedUnattributed = told
	unattributedPods.Set(float64(len(pods)))
	unattributedClaims.Set(float64(claims))
}
