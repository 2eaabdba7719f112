// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	schedulinglistersv1 "k8s.io/client-go/listers/scheduling/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"
	vcinformers "volcano.sh/apis/pkg/client/informers/externalversions"
	batchlisters "volcano.sh/apis/pkg/client/listers/batch/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/elastic"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/extended"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/lastvalid"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/nomination"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/usage"
	"github.com/devicequota/devicequota/pkg/queueusage"
	"github.com/devicequota/devicequota/pkg/readiness"
	"github.com/devicequota/devicequota/pkg/settings"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// cache is the state that outlives sessions: informers, and the memory of the packages below internal. Sessions run one after the other,
// so only stop is locked.
type cache struct {
	ctx   context.Context
	clock clock.WithTicker
	// started and read are done once.
	started, read sync.Once
	// cluster is what is known of the totals of the cluster.
	cluster describe.Cluster
	// stop has a function for everything that was started. It waits until that has stopped. It is locked, because the
	// scheduler may stop while a session starts something.
	stopping sync.Mutex
	stop     []func()

	// informers must have read everything before devices are allocated.
	informers *readiness.Informers
	// quotas reads the device and card quotas, which the scheduler's own queue type lacks. It is nil if the session has
	// no REST configuration: then there are no device and card quotas.
	quotas *lastvalid.Cache
	jobs   batchlisters.JobLister
	// outsiders finds what waits outside of sessions. It is nil if Volcano's objects are not read.
	outsiders *snapshot.Outsiders
	// nodes and priorityClasses read the scheduler's own informers.
	nodes           corelisters.NodeLister
	priorityClasses schedulinglistersv1.PriorityClassLister

	// usage records who has used what for how long.
	usage *usage.Recorder

	snapshots *snapshot.Cache
	cards     *cards.Cache
	// devices is nil until a session allocates devices.
	devices *devices.Cache
	report  *report.Reporter
	// offers are what DRA offers nodes as extended resources.
	offers extended.Offers
	// publisher passes what sessions know to users who ask.
	publisher *visibility.Publisher

	// arguments are the arguments of the last session.
	arguments settings.Settings
	// opened is the plugin of the open session, nil if none is open.
	opened *plugin
	// elastic has the jobs for which no pod can be evicted.
	elastic *elastic.Cache
	// nominations has the pods for which freed room is kept.
	nominations *nomination.Cache
	// session is the last session. name is the name under which the plugin joined it.
	session types.UID
	name    string
	// gang is the plugin gang of the current session. It is nil if the session does not have it, or has closed it.
	gang *gangPlugin
}

// clients are what a session, or the cache of the scheduler, reads and writes with.
type clients struct {
	kube      kubernetes.Interface
	volcano   vcclient.Interface
	config    *rest.Config
	informers informers.SharedInformerFactory
	// news asks for a session soon.
	news func()
}

func newCache(ctx context.Context, clock clock.WithTicker) *cache {
	fleet := cards.NewCache()
	return &cache{
		publisher: visibility.New(clock), usage: usage.NewRecorder(clock),
		ctx: ctx, clock: clock, informers: readiness.NewInformers(clock), cards: fleet, nominations: nomination.NewCache(), elastic: elastic.NewCache(), snapshots: snapshot.NewCache(&fleet.Fleet),
	}
}

// open reports whether the plugin may join the session. It may not if it has already joined under its other name.
func (c *cache) open(ssn *framework.Session, name string) bool {
	if c.session == ssn.UID && c.name != name {
		return false
	}
	c.session, c.name = ssn.UID, name
	return true
}

// use sets the arguments of a session. If they have changed, it drops the remembered pods, and the jobs for which evictions do not help.
func (c *cache) use(args settings.Settings) {
	if !reflect.DeepEqual(args, c.arguments) {
		c.arguments = args
		c.snapshots.Reset()
		c.elastic.Clear()
	}
}

// start starts everything once. A session works with what has been read, and refuses devices until enough has been read.
func (c *cache) start(from clients) {
	c.started.Do(func() {
		c.snapshots.StartCatchUp(c.clock)
		c.startRecorder(from)
		c.startQuotas(from)
		c.startVolcano(from)
		factory := from.informers
		c.nodes = factory.Core().V1().Nodes().Lister()
		c.priorityClasses = factory.Scheduling().V1().PriorityClasses().Lister()
		c.cards.Start(factory.Core().V1().Nodes())
		c.snapshots.WatchPods(factory.Core().V1().Pods())
		c.usage.WatchPods(factory.Core().V1().Pods().Informer())
		c.offers.Wanted.WatchPods(factory.Core().V1().Pods().Informer())
	})
}

func (c *cache) startRecorder(from clients) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: from.kube.CoreV1().Events("")})
	c.report = report.NewReporter(broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "vc-scheduler"}))
	c.report.Clock = c.clock
	c.onStop(broadcaster.Shutdown)
	if from.volcano != nil {
		c.report.Status = report.NewStatusWriter(c.ctx, from.kube, from.volcano)
		c.onStop(c.report.Status.Shutdown)
	}
}

// startQuotas starts to read quotas, and to write the usage of queues. It must come after startRecorder. Only the leader has sessions, so no other replica writes.
func (c *cache) startQuotas(from clients) {
	if from.config == nil {
		klog.InfoS("The session has no REST configuration, spec.dra of queues is not read")
		return
	}
	started, err := lastvalid.Start(c.ctx, from.config, c.informers, c.report.Recorder, c.clock, from.news)
	if err != nil {
		klog.ErrorS(err, "Failed to start reading quotas, spec.dra of queues is not read")
		return
	}
	c.quotas = started
	c.onStop(started.Shutdown)
	c.report.Usage = &queueusage.Writer{Annotations: c.quotas.Annotations, Patch: c.quotas.PatchMetadata}
	var writing sync.WaitGroup
	writing.Go(func() { c.report.Usage.Run(c.ctx) })
	c.onStop(writing.Wait)
}

// startAccounting starts to record usage, with the arguments of the first session. Only the leader has sessions, so no other replica
// writes.
func (c *cache) startAccounting(ssn *framework.Session, arguments *settings.Accounting) {
	if c.usage.Start(c.ctx, ssn.ClientConfig(), arguments) {
		c.onStop(c.usage.Stop)
	}
}

// startVolcano reads Volcano's Jobs and PodGroups. The templates of Jobs describe pods that do not exist yet.
func (c *cache) startVolcano(from clients) {
	if from.volcano == nil {
		return
	}
	factory := vcinformers.NewSharedInformerFactory(from.volcano, 0)
	c.jobs = factory.Batch().V1alpha1().Jobs().Lister()
	groups := factory.Scheduling().V1beta1().PodGroups().Informer()
	c.offers.Wanted.WatchPodGroups(groups)
	if _, err := groups.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { from.news() }}); err != nil {
		klog.ErrorS(err, "Failed to watch for PodGroups, jobs are let in only in each period")
	}
	outsiders, err := snapshot.NewOutsiders(groups, factory.Batch().V1alpha1().Jobs().Informer(),
		from.informers.Core().V1().Pods().Informer())
	if err != nil {
		klog.ErrorS(err, "Failed to index PodGroups, nobody is told that a queue is missing")
	}
	c.outsiders = outsiders
	factory.Start(c.ctx.Done())
	c.onStop(factory.Shutdown)
}

// startDevices starts to read resource.k8s.io before the first session that allocates devices.
func (c *cache) startDevices(from clients) {
	if c.devices != nil {
		return
	}
	started, err := devices.Start(c.ctx, from.kube, c.informers, from.informers.Core().V1().Pods(), c.clock)
	if err != nil {
		klog.ErrorS(err, "Failed to start reading claims, no devices are allocated")
		return
	}
	c.devices = started
	c.onStop(started.Shutdown)
	c.usage.WatchClaims(started.Reader)
	if err := started.WatchPods(from.informers.Core().V1().Pods().Informer()); err != nil {
		klog.ErrorS(err, "Failed to watch pods, those that finish keep the devices of their extended resources until they are deleted")
	}
}

// awaitRead waits before the first session until quotas, and what devices need, have been read, or cannot be read. Otherwise, a scheduler that starts would
// refuse all pods that wait, and write so in their status, before it binds any. Jobs without devices wait, too.
func (c *cache) awaitRead() {
	c.read.Do(func() {
		c.informers.Await(c.ctx, func() bool { return (c.quotas == nil || c.quotas.Synced()) && (c.devices == nil || c.devices.Ready()) })
	})
}

func (c *cache) onStop(stop func()) {
	c.stopping.Lock()
	defer c.stopping.Unlock()
	c.stop = append(c.stop, stop)
}

func (c *cache) shutdown() {
	c.stopping.Lock()
	defer c.stopping.Unlock()
	for _, stop := range c.stop {
		stop()
	}
}
