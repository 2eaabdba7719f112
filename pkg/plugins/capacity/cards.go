package capacity

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// cardsNotRead is the reason of events on nodes whose labels make no sense.
const cardsNotRead = "CardsNotRead"

// cards is what is known of the cards that device plugins hand out. Nodes that do not change
// cost a session nothing.
type cards struct {
	// fleet stays as it is while a session runs.
	fleet card.Fleet
	// names are those that the fleet was read with.
	names  card.ResourceNames
	lister corelisters.NodeLister
	// toldNodes has what events said last of nodes.
	toldNodes map[string]string
	// lastGood has the last quota of each queue that could be read.
	lastGood map[types.UID]ledger.Amounts
	totals   cardTotals

	mu sync.Mutex
	// changed are nodes that are not in the fleet as they are now.
	changed map[string]bool
}

func newCards() *cards {
	return &cards{toldNodes: map[string]string{}, lastGood: map[types.UID]ledger.Amounts{}, totals: cardTotals{}, changed: map[string]bool{}}
}

// start begins to watch nodes.
func (c *cards) start(ssn *framework.Session) {
	nodes := ssn.InformerFactory().Core().V1().Nodes()
	c.lister = nodes.Lister()
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { c.note(obj.(*corev1.Node).Name) },
		UpdateFunc: func(before, after any) {
			if a, b := before.(*corev1.Node), after.(*corev1.Node); !maps.Equal(a.Labels, b.Labels) || !equality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable) {
				c.note(b.Name)
			}
		},
		DeleteFunc: func(obj any) {
			if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				c.note(name)
			}
		},
	})
	if err != nil {
		klog.ErrorS(err, "Failed to watch nodes, changes of cards are not seen")
	}
	c.noteAll()
}

func (c *cards) note(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed[node] = true
}

func (c *cards) noteAll() {
	nodes, err := c.lister.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "Failed to list nodes")
	}
	for _, node := range nodes {
		c.note(node.Name)
	}
}

// refresh brings the fleet up to date.
func (c *cards) refresh(names card.ResourceNames, recorder record.EventRecorder) {
	if !slices.Equal(names, c.names) {
		c.names, c.fleet.Given = names, names
		c.noteAll()
	}
	changed := c.takeChanged()
	if len(changed) == 0 {
		return
	}
	for name := range changed {
		node, err := c.lister.Get(name)
		if err != nil {
			c.fleet.Remove(name)
			delete(c.toldNodes, name)
			continue
		}
		read := card.Read(node, c.names)
		c.fleet.Set(name, read)
		c.tell(node, read.Problems, recorder)
	}
	c.totals.publish(&c.fleet)
}

func (c *cards) takeChanged() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.changed
	if len(changed) > 0 {
		c.changed = map[string]bool{}
	}
	return changed
}

// forgetQuotas drops the quotas of queues that are gone.
func (c *cards) forgetQuotas(queues map[api.QueueID]*api.QueueInfo) {
	if len(c.lastGood) <= len(queues) {
		return
	}
	there := map[types.UID]bool{}
	for _, queue := range queues {
		there[queue.Queue.UID] = true
	}
	maps.DeleteFunc(c.lastGood, func(uid types.UID, _ ledger.Amounts) bool { return !there[uid] })
}

// tell writes an event on a node when something is wrong with it that was not before.
func (c *cards) tell(node *corev1.Node, problems []string, recorder record.EventRecorder) {
	message := strings.Join(problems, "; ")
	if message != "" && c.toldNodes[node.Name] != message {
		klog.ErrorS(nil, "The cards of a node cannot be read", "node", klog.KObj(node), "message", message)
		recorder.Event(node, corev1.EventTypeWarning, cardsNotRead, "The node's cards cannot be counted: "+message)
	}
	c.toldNodes[node.Name] = message
	if message == "" {
		delete(c.toldNodes, node.Name)
	}
}
