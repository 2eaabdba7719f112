package capacity

import (
	"context"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	vcinformers "volcano.sh/apis/pkg/client/informers/externalversions"
	batchlisters "volcano.sh/apis/pkg/client/listers/batch/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/client/clientset/versioned"
	"github.com/devicequota/devicequota/pkg/client/informers/externalversions"
	schedulinglisters "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// process is what outlives sessions: informers, the event recorder, and the memory of who
// held what. Sessions run one after the other, so nothing here is locked.
type process struct {
	started sync.Once

	// queues reads spec.dra, which the scheduler's own queue type drops. It is nil when
	// the session has no REST configuration: then there is no spec.dra.
	queues       schedulinglisters.QueueLister
	queuesSynced func() bool
	// devices is nil until a session hands out devices.
	devices  *devices
	jobs     batchlisters.JobLister
	recorder record.EventRecorder

	dimensions ledger.Dimensions
	resources  *resources
	// round counts sessions.
	round  uint64
	pods   map[*corev1.Pod]*pod
	claims *demand.Claims
	cards  *cards
	// placed are pods that have a node and ask for cards: what they are charged stays the same,
	// whatever becomes of the node.
	placed map[types.UID]*pod
	// settings are those of the last session.
	settings settings
	// opened and openedAs are the last session and the name under which it was opened.
	opened   types.UID
	openedAs string
	// lastAmounts are those of the pod that was met last for the first time.
	lastAmounts ledger.Amounts
	lists       lists
	// carriers has who was charged for every claim that was charged when the last session closed.
	carriers map[types.UID]carrier
	// toldPods, toldJobs and toldQueues have what events said last of pods that wait, of jobs
	// that are not let in, and of queues that something is wrong with.
	toldPods   map[api.TaskID]told
	toldJobs   map[api.JobID]string
	toldQueues map[problem]string
	published  map[string]*published

	startTime time.Time
	// caughtUp is set once, when the scheduler's cache has all pods that hold devices.
	caughtUp bool
}

// carrier is who is charged for a claim.
type carrier struct {
	holder ledger.Holder
	// path has the names of its queue and of those above.
	path []string
}

func newProcess() *process {
	p := &process{
		pods: map[*corev1.Pod]*pod{}, carriers: map[types.UID]carrier{}, placed: map[types.UID]*pod{}, cards: newCards(),
		toldPods: map[api.TaskID]told{}, toldJobs: map[api.JobID]string{}, published: map[string]*published{},
	}
	p.resources, p.claims = newResources(&p.dimensions), demand.NewClaims(&p.dimensions)
	return p
}

// begin begins a session whose limits have been read.
func (p *process) begin(catalog *dra.Catalog) {
	p.round++
	p.claims.Begin(catalog)
}

// open reports whether nobody has opened the session under another name.
func (p *process) open(ssn *framework.Session, name string) bool {
	if p.opened == ssn.UID && p.openedAs != name {
		return false
	}
	p.opened, p.openedAs = ssn.UID, name
	return true
}

// apply makes room for other settings than before: what is remembered of pods is wrong then.
func (p *process) apply(s settings) {
	if !reflect.DeepEqual(s, p.settings) {
		clear(p.pods)
		p.settings, p.resources.basic = s, s.cardsOnly
	}
}

// start is idempotent. It waits for nothing: a session works with what has been read, and
// refuses devices until enough has.
func (p *process) start(ssn *framework.Session) {
	p.started.Do(func() {
		p.startTime = time.Now()
		p.startRecorder(ssn)
		p.startQueues(ssn)
		p.startJobs(ssn)
		p.cards.start(ssn)
	})
}

func (p *process) startRecorder(ssn *framework.Session) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: ssn.KubeClient().CoreV1().Events("")})
	p.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "vc-scheduler"})
}

func (p *process) startQueues(ssn *framework.Session) {
	config := ssn.ClientConfig()
	if config == nil {
		klog.InfoS("The session has no REST configuration, spec.dra of queues is not read")
		return
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		klog.ErrorS(err, "Failed to make a client for queues, spec.dra of queues is not read")
		return
	}
	factory := externalversions.NewSharedInformerFactory(client, 0)
	queues := factory.Scheduling().V1beta1().Queues()
	p.queues, p.queuesSynced = queues.Lister(), queues.Informer().HasSynced
	factory.Start(context.Background().Done())
}

// startJobs reads Volcano's Jobs, whose templates say what pods will ask for that do not exist
// yet.
func (p *process) startJobs(ssn *framework.Session) {
	if ssn.VCClient() == nil {
		return
	}
	factory := vcinformers.NewSharedInformerFactory(ssn.VCClient(), 0)
	p.jobs = factory.Batch().V1alpha1().Jobs().Lister()
	factory.Start(context.Background().Done())
}

// startDevices starts the dealings with resource.k8s.io.
func (p *process) startDevices(ssn *framework.Session) {
	reader, err := allocation.NewReader(context.Background(), ssn.KubeClient())
	if err != nil {
		klog.ErrorS(err, "Failed to start reading claims, no devices are handed out")
		return
	}
	pending := allocation.NewPending(reader)
	p.devices = &devices{Reader: reader, pending: pending, writer: allocation.NewWriter(ssn.KubeClient(), reader, pending)}
}
