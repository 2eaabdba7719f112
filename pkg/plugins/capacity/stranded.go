package capacity

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// freeStranded takes devices away from claims of pods that cannot be where those are: the pod was
// not bound after all, and its node is full since, or gone. Kubernetes' own scheduler does so in
// its PostFilter, an extension point that Volcano does not have.
func (p *plugin) freeStranded() {
	for known, a := range p.attempts {
		job, found := p.session.Jobs[known.job]
		if !found {
			continue
		}
		id := api.TaskID(known.object.UID)
		if job.TaskStatusIndex[api.Pending][id] == nil || job.NodesFitErrors[id] == nil || a.full != "" {
			continue
		}
		for _, g := range a.given {
			if p.stranded(known, g) {
				p.source.devices.free(known.object, g.claim)
			}
		}
	}
}

// free takes a claim's devices back in the background, one attempt at a time.
func (d *devices) free(pod *corev1.Pod, claim *resourceapi.ResourceClaim) {
	if _, already := d.freeing.LoadOrStore(claim.UID, true); already {
		return
	}
	go func() {
		defer d.freeing.Delete(claim.UID)
		d.writer.Deallocate(context.Background(), pod, claim)
	}()
}

// stranded reports whether a claim's devices keep a pod from running while nobody can use them: no
// node will do for the pod, and the claim was made for it, or it is nobody's and its node is gone.
func (p *plugin) stranded(known *pod, g given) bool {
	if p.source.devices.pending.Of(g.claim.UID) != nil || usedByOthers(known, g.claim) {
		return false
	}
	return resourceclaim.IsForPod(known.object, g.claim) == nil || !p.reachable(g)
}

func usedByOthers(known *pod, claim *resourceapi.ResourceClaim) bool {
	for _, consumer := range claim.Status.ReservedFor {
		if consumer.UID != known.object.UID {
			return true
		}
	}
	return false
}

// reachable reports whether any node can use the devices.
func (p *plugin) reachable(g given) bool {
	if g.nodes == nil {
		return true
	}
	nodes := p.session.InformerFactory().Core().V1().Nodes().Lister()
	all, err := nodes.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "Failed to list nodes")
		return true
	}
	for _, node := range all {
		if g.nodes.Match(node) {
			return true
		}
	}
	return false
}
