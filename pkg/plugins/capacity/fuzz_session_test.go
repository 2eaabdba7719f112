// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	upstreampredicates "volcano.sh/volcano/pkg/scheduler/plugins/predicates"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	schedulinglisters "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/lastvalid"
	"github.com/devicequota/devicequota/pkg/plugins/predicates"
	"github.com/devicequota/devicequota/pkg/settings"
)

// fuzzOptions are the scheduler's configuration.
type fuzzOptions struct {
	Name                                                                   string
	Hierarchy, Devices, CardQuotaRequired, CardUnlimitedCPUMemory, Preempt bool
	// Calm makes mistakes in objects rarer: more pods run.
	Calm bool
	// Extended says that DeviceClasses offer an extended resource.
	Extended bool
	// DeviceQuotaRequired says that queues use only devices that they list. The oracle does not know that.
	DeviceQuotaRequired bool
	// Arguments are more arguments of the plugin.
	Arguments map[string]any
}

func (c *fuzzCluster) chooseOptions() fuzzOptions {
	o := fuzzOptions{Name: Name, Hierarchy: !c.oneIn(6), Devices: !c.oneIn(8), CardQuotaRequired: c.oneIn(5), CardUnlimitedCPUMemory: c.oneIn(6), Preempt: !c.oneIn(4)}
	o.Calm = !c.oneIn(3)
	if c.oneIn(6) {
		o.Name, o.CardQuotaRequired = CardName, true
	}
	if c.extended {
		o.Name, o.Devices, o.Extended = Name, true, true
	}
	return o
}

// start starts a scheduler with an empty memory on the existing cluster.
func (c *fuzzCluster) start() {
	var ctx context.Context
	ctx, c.stop = context.WithCancel(context.Background())
	c.plugins = &Plugins{cache: newCache(ctx, c.clock)}
	c.plugins.cache.quotas = lastvalid.New(schedulinglisters.NewQueueLister(c.queueList))
	c.plugins.cache.onStop(c.plugins.cache.quotas.Shutdown)
	c.late, c.marked = nil, false
	clear(c.charged)
	clear(c.lastCards)
	clear(c.lastDRA)
	c.informers = newFuzzInformers(c.kube)
	c.scheduler = newFuzzScheduler(c)
	c.scheduler.AddPriorityClass(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000})
	for _, queue := range c.queues {
		c.scheduler.AddQueueV1beta1(withoutDRA(queue))
	}
	for _, node := range c.nodes {
		c.informers.nodes.put(node)
		c.try(c.scheduler.AddOrUpdateNode(c.shownNode(node)))
	}
	for _, group := range c.groups {
		c.scheduler.AddPodGroupV1beta1(group)
	}
	for _, pod := range c.pods {
		if chargerecord.CardsOf(pod) == nil {
			delete(c.cards, pod.UID)
		}
		seen := pod.DeepCopy()
		c.informers.pods.put(seen)
		c.scheduler.podChanged(nil, seen)
	}
}

func (c *fuzzCluster) shutdown() {
	c.stop()
	c.plugins.Shutdown()
}

// restart restarts the scheduler. It loses decisions that are not written.
func (c *fuzzCluster) restart() {
	c.shutdown()
	c.start()
}

// open opens a session.
func (c *fuzzCluster) open() *framework.Session {
	c.catchUp()
	for _, builder := range []string{Name, CardName} {
		framework.RegisterPluginBuilder(builder, func(given framework.Arguments) framework.Plugin {
			opened = c.plugins.Builders()[builder](given).(*plugin)
			return opened
		})
	}
	framework.RegisterPluginBuilder(gang.PluginName, c.plugins.Builders()[gang.PluginName])
	framework.RegisterPluginBuilder(priority.PluginName, priority.New)
	framework.RegisterPluginBuilder(predicates.Name, predicates.NewBuilder(Name, CardName))
	framework.RegisterPluginBuilder(anyNode, func(framework.Arguments) framework.Plugin { return fuzzNodeOrder{} })
	options := []conf.PluginOption{
		{Name: priority.PluginName}, {Name: gang.PluginName},
		{Name: c.options.Name, EnabledHierarchy: ptr.To(c.options.Hierarchy), Arguments: map[string]any{
			settings.CardQuotaRequired: c.options.CardQuotaRequired, settings.CardUnlimitedCPUMemory: c.options.CardUnlimitedCPUMemory,
			settings.DeviceQuotaRequired: c.options.DeviceQuotaRequired, settings.Incremental: *share,
		}},
		{Name: anyNode},
		{Name: predicates.Name, Arguments: map[string]any{
			upstreampredicates.DynamicResourceAllocationEnable: c.options.Devices, upstreampredicates.VolumeBindingEnable: false,
		}},
	}
	maps.Copy(options[2].Arguments, c.options.Arguments)
	for i := range options {
		plugins.ApplyPluginConfDefaults(&options[i])
	}
	tiers := []conf.Tier{{Plugins: options[:2]}, {Plugins: options[2:]}}
	if c.options.Arguments != nil { // as in config/scheduler
		options[1].EnabledPreemptable = ptr.To(false)
		tiers = []conf.Tier{{Plugins: options}}
	}
	c.showOffers(tiers)
	ssn := framework.OpenSession(c.scheduler, tiers, nil)
	c.events = &fuzzEvents{}
	c.plugins.cache.report.Recorder = c.events
	return ssn
}

// anyNode prefers any node, always the same for pods with equal requests: Volcano chooses at random among the best nodes. It has the name of a plugin
// that the action allocate knows. With another one, upstream's action would run.
const anyNode = "binpack"

type fuzzNodeOrder struct{}

func (fuzzNodeOrder) Name() string                      { return anyNode }
func (fuzzNodeOrder) OnSessionClose(*framework.Session) {}

func (fuzzNodeOrder) OnSessionOpen(ssn *framework.Session) {
	ssn.AddNodeOrderFn(anyNode, func(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
		sum := fnv.New32a()
		_, err := sum.Write([]byte(task.InitResreq.String() + "/" + node.Name))
		return float64(sum.Sum32()) / math.MaxUint32, err
	})
}

// act executes all actions in the order of Volcano's configuration.
func (c *fuzzCluster) act(ssn *framework.Session) {
	actions := append([]framework.Action{enqueue.New()}, c.plugins.Actions()...)
	if !c.options.Preempt {
		actions = slices.DeleteFunc(actions, func(action framework.Action) bool { return action.Name() == "preempt" || action.Name() == "reclaim" })
	}
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range actions {
		conf.EnabledActionMap[action.Name()] = true
	}
	for _, action := range actions {
		action.Initialize()
		action.Execute(ssn)
		action.UnInitialize()
	}
}

// catchUp waits until the plugin has read everything. Informers see the changes of one kind in order, so the last
// change of each kind proves that all earlier ones were seen.
func (c *fuzzCluster) catchUp() {
	if !c.options.Devices {
		return
	}
	cache := c.plugins.cache.devices
	if cache == nil {
		c.watches.Clear()
		var err error
		cache, err = devices.Start(c.plugins.cache.ctx, c.kube, c.plugins.cache.informers, c.informers.Core().V1().Pods(), c.plugins.cache.clock)
		c.try(err)
		c.plugins.cache.devices = cache
		c.plugins.cache.onStop(cache.Shutdown)
		c.await("all watches have begun", func() bool {
			for _, resource := range []string{"resourceclaims", "resourceclaimtemplates", "deviceclasses", "resourceslices"} {
				if _, begun := c.watches.Load(resource); !begun {
					return false
				}
			}
			return cache.Ready()
		})
	}
	if c.marked {
		c.await("all claims have been read", func() bool { return c.claimsRead(cache) })
		return
	}
	last := c.mark()
	c.await("all objects have been read", func() bool {
		catalog := cache.Catalog()
		class, classRead := catalog.Class(markName)
		_, sliceRead := catalog.Device(dra.DeviceID{Driver: markName, Pool: markName, Device: "v" + last})
		template, err := cache.ClaimTemplate("ns", markName)
		return classRead && class.Labels["last"] == last && sliceRead && err == nil && template.Labels["last"] == last && c.claimsRead(cache)
	})
	c.marked = true
}

// claimsRead reports whether the plugin has read the current version of all claims, and notes their versions.
func (c *fuzzCluster) claimsRead(cache *devices.Cache) bool {
	c.versions = c.claimVersions()
	known, err := cache.Claims()
	return err == nil && len(known) == len(c.versions) && !slices.ContainsFunc(known, func(claim *resourcev1.ResourceClaim) bool {
		return c.versions[claim.Name] != claim.ResourceVersion
	}) && c.releasesRead(cache)
}

// releasesRead reports whether the plugin knows all claims that have returned their devices. It is notified of these after it has read the
// claims.
func (c *fuzzCluster) releasesRead(cache *devices.Cache) bool {
	have := map[types.UID]bool{}
	for _, claim := range c.claims() {
		have[claim.UID] = claim.Status.Allocation != nil
	}
	for _, pod := range c.pods {
		for _, lost := range cache.LostClaims(pod.UID) {
			have[lost.UID] = true
		}
	}
	allocated, err := cache.Allocated()
	return err == nil && !slices.ContainsFunc(allocated, func(claim *resourcev1.ResourceClaim) bool { return !have[claim.UID] })
}

func (c *fuzzCluster) claimVersions() map[string]string {
	versions := map[string]string{}
	for _, claim := range c.claims() {
		versions[claim.Name] = claim.ResourceVersion
	}
	return versions
}

// markName is the name of objects that are changed last.
const markName = "mark.example.com"

// mark changes an object of each kind, and returns how they can be recognized.
func (c *fuzzCluster) mark() string {
	last := c.nextVersion()
	labels := map[string]string{"last": last}
	c.put("deviceclasses", &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: markName, Labels: labels}})
	c.put("resourceclaimtemplates", &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: markName, Namespace: "ns", Labels: labels}})
	c.put("resourceslices", &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: markName}, Spec: resourcev1.ResourceSliceSpec{
		Driver: markName, NodeName: ptr.To("nowhere"), Pool: resourcev1.ResourcePool{Name: markName, Generation: 1, ResourceSliceCount: 1},
		Devices: []resourcev1.Device{{Name: "v" + last}},
	}})
	return last
}

// await waits for a goroutine of the plugin.
func (c *fuzzCluster) await(what string, condition func() bool) {
	c.Helper()
	err := wait.PollUntilContextTimeout(c.Context(), 100*time.Microsecond, time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		c.fail("not so in time: %s", what)
	}
}
