// SPDX-License-Identifier: Apache-2.0

package clones

import (
	"maps"
	"reflect"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"
	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
)

// renewedEvery is the number of sessions after which a copy is made anew although it is current.
const renewedEvery = 64

// Cache has the copies that the last session used. Sessions must not overlap.
type Cache struct {
	nodes map[string]*node
	jobs  map[api.JobID]*job
	// views has Kubernetes' view of each node in the last session.
	views map[string]fwk.NodeInfo
	// session counts snapshots, and made copies.
	session, made int
	// every is the number of sessions after which a copy is made anew. Differed is called for each copy that was not equal to its renewal.
	every    int
	differed func()
}

// New returns an empty cache. It calls differed for each copy that sessions should not have used any more.
func New(differed func()) *Cache {
	return &Cache{nodes: map[string]*node{}, jobs: map[api.JobID]*job{}, views: map[string]fwk.NodeInfo{}, every: renewedEvery, differed: differed}
}

// Snapshot returns what a session reads. Volcano's own code copies what has changed.
func (c *Cache) Snapshot(from *schedulercache.SchedulerCache) *api.ClusterInfo {
	from.Lock()
	defer from.Unlock()
	c.session++
	nodes, renewedNodes := outdated(c.nodes, from.Nodes, c.session)
	jobs, renewedJobs := outdated(c.jobs, from.Jobs, c.session)
	snapshot := (&schedulercache.SchedulerCache{
		Nodes: nodes, Jobs: jobs, Queues: from.Queues, PriorityClasses: from.PriorityClasses, NodeList: from.NodeList, CSINodesStatus: from.CSINodesStatus,
		HyperNodesInfo: from.HyperNodesInfo, InUseNodesInShard: from.InUseNodesInShard, NamespaceCollection: from.NamespaceCollection,
	}).Snapshot()
	for name, info := range snapshot.Nodes {
		if before := renewedNodes[name]; before != nil {
			c.compare("node", name, before.info, info)
		}
		c.nodes[name] = newNode(from.Nodes[name], info, c.renewal())
	}
	for id, info := range snapshot.Jobs {
		if before := renewedJobs[id]; before != nil {
			before.forget()
			info.Priority = before.info.Priority // it is set later
			c.compare("job", string(id), before.info, info)
		}
		c.jobs[id] = newJob(from.Jobs[id], info, c.renewal())
	}
	c.addTo(snapshot)
	setPriorities(snapshot.Jobs, from.PriorityClasses)
	return snapshot
}

// outdated returns the sources that have no current copy, and removes their copies. Renewed are those of them whose time has come although they are current.
func outdated[K comparable, S any, C interface {
	comparable
	current(S) bool
	due(session int) bool
}](copies map[K]C, sources map[K]S, session int) (changed map[K]S, renewed map[K]C) {
	var none C
	changed, renewed = map[K]S{}, map[K]C{}
	for key, source := range sources {
		known := copies[key]
		current := known != none && known.current(source)
		if current && !known.due(session) {
			continue
		}
		if current {
			renewed[key] = known
		}
		changed[key] = source
		delete(copies, key)
	}
	if len(copies)+len(changed) > len(sources) {
		maps.DeleteFunc(copies, func(key K, _ C) bool { _, exists := sources[key]; return !exists })
	}
	return changed, renewed
}

// renewal returns the session in which the next copy is made anew. Those of one session are not renewed all at once.
func (c *Cache) renewal() int {
	c.made++
	return c.session + 1 + c.made%c.every
}

func (c *Cache) compare(kind, name string, before, after any) {
	if !reflect.DeepEqual(before, after) {
		klog.ErrorS(nil, "Sessions used an old copy", "kind", kind, "name", name)
		c.differed()
	}
}

// addTo adds the copies that are used again.
func (c *Cache) addTo(snapshot *api.ClusterInfo) {
	for name, kept := range c.nodes {
		snapshot.Nodes[name] = kept.info
		if kept.info.RevocableZone != "" {
			snapshot.RevocableNodes[name] = kept.info
		}
	}
	for id, kept := range c.jobs {
		if snapshot.Queues[kept.info.Queue] != nil {
			kept.forget()
			snapshot.Jobs[id] = kept.info
		}
	}
}

// setPriorities sets the priorities of jobs. Volcano's own code does not know the default of the cluster here. Kubernetes uses the lowest one if there
// are several.
func setPriorities(jobs map[api.JobID]*api.JobInfo, classes map[string]*schedulingv1.PriorityClass) {
	var standard *schedulingv1.PriorityClass
	for _, class := range classes {
		if class.GlobalDefault && (standard == nil || class.Value < standard.Value) {
			standard = class
		}
	}
	for _, job := range jobs {
		class := classes[job.PodGroup.Spec.PriorityClassName]
		if class == nil {
			class = standard
		}
		if job.Priority = 0; class != nil {
			job.Priority = class.Value
		}
	}
}
