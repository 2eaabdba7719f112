package capacity

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// catchUpLimit bounds how long after the start a pod that holds devices, but is in no job
// that the scheduler knows, keeps others from getting devices.
const catchUpLimit = 30 * time.Second

// openDevices finds out what is known of devices, if this session hands out any.
func (p *plugin) openDevices() {
	if handsOutDevices(p.session) {
		if p.process.devices == nil {
			p.process.startDevices(p.session)
		}
		p.source = source{p.process.devices}
	}
	p.behind = p.whyBehind()
	if p.blocked = p.whyBlocked(); p.source.devices != nil && p.source.Ready() {
		p.catalog = p.source.Catalog()
	}
	if p.process.resources.reclassify(p.classOf) {
		clear(p.process.pods) // what is remembered of them is wrong now
	}
}

// classOf returns the DeviceClass whose devices the name of a resource stands for: nodes that
// have the resource in what they offer hand it out by device plugins, whatever classes say.
func (p *plugin) classOf(name corev1.ResourceName) string {
	class, found := p.catalog.Extended(name)
	if !found || p.session.TotalResource.ScalarResources[name] > 0 {
		return ""
	}
	return class
}

// whyBlocked says why the limits or the devices in use are not known well enough to hand
// out devices; empty when they are.
func (p *plugin) whyBlocked() string {
	if p.process.queuesSynced != nil && !p.process.queuesSynced() {
		return "the quotas of the queues are still being read; if this lasts, check that the scheduler may list and watch queues"
	}
	if p.source.devices == nil {
		if handsOutDevices(p.session) {
			return "claims cannot be read; the scheduler's log says why"
		}
		return ""
	}
	if !p.source.Ready() {
		return "claims, device classes and slices are still being read; if this lasts, check that the API server serves resource.k8s.io and that the scheduler may list and watch it"
	}
	return p.behind
}

// whyBehind says that pods are missing from the session that hold devices or cards; empty if none is.
// After a start the scheduler's cache is filled by handlers that lag behind the informers, and a pod that
// is missing from it would be a charge that is missing from the ledger.
func (p *plugin) whyBehind() string {
	if p.process.caughtUp || time.Since(p.process.startTime) > catchUpLimit {
		p.process.caughtUp = true
		return ""
	}
	known := map[types.UID]bool{}
	for _, job := range p.session.Jobs {
		for _, task := range job.Tasks {
			known[task.Pod.UID] = true
		}
	}
	missing, ready := p.unknownHolder(known), p.source.devices == nil || p.source.Ready()
	if missing == nil && ready && p.source.devices != nil {
		missing = p.unknownConsumer(known)
	}
	if missing == nil {
		p.process.caughtUp = ready
		return ""
	}
	return fmt.Sprintf("the scheduler has just started and is still reading pods that hold devices, %s/%s among them", missing.Namespace, missing.Name)
}

// unknownHolder returns a pod that has a node and requests cards and belongs to a PodGroup, but is not
// known; nil when there is none.
func (p *plugin) unknownHolder(known map[types.UID]bool) *corev1.Pod {
	pods, err := p.session.InformerFactory().Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "Failed to list pods")
		return nil
	}
	for _, pod := range pods {
		over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if known[pod.UID] || pod.Spec.NodeName == "" || over || pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey] == "" {
			continue
		}
		if p.requestsCards(pod.Spec.Containers) || p.requestsCards(pod.Spec.InitContainers) {
			return pod
		}
	}
	return nil
}

func (p *plugin) requestsCards(containers []corev1.Container) bool {
	for i := range containers {
		for name := range containers[i].Resources.Requests {
			if p.process.cards.fleet.IsCard(name) {
				return true
			}
		}
	}
	return false
}

// unknownConsumer returns a pod that holds an allocated claim and belongs to a PodGroup,
// but is not known; nil when there is none.
func (p *plugin) unknownConsumer(known map[types.UID]bool) *corev1.Pod {
	claims, err := p.source.Claims()
	if err != nil {
		klog.ErrorS(err, "Failed to list claims")
		return nil
	}
	pods := p.session.InformerFactory().Core().V1().Pods().Lister()
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, consumer := range claim.Status.ReservedFor {
			if consumer.Resource != "pods" || known[consumer.UID] {
				continue
			}
			pod, err := pods.Pods(claim.Namespace).Get(consumer.Name)
			if err == nil && pod.UID == consumer.UID && pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey] != "" {
				return pod
			}
		}
	}
	return nil
}
