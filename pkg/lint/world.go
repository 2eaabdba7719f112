// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/problems/find"
	"github.com/devicequota/devicequota/pkg/quota"
	"github.com/devicequota/devicequota/pkg/settings"
)

// expressions limits the cached expressions of selectors.
const expressions = 1000

// world has the state that the scheduler would derive from the objects in one session.
type world struct {
	*Objects
	ctx      context.Context
	findings []Finding

	// configuration is the active configuration, or nil if none is known.
	configuration *configured
	settings      settings.Settings
	hierarchy     bool

	// catalog is nil if DeviceClasses are unknown.
	catalog *dra.Catalog
	matcher *dra.Matcher
	fleet   *card.Fleet
	counter *demand.Counter
	ledger  *ledger.Ledger
	queues  map[string]*find.Queue
	// misplaced has the reason why a queue has no place in the hierarchy.
	misplaced map[string]string
	// problems are the problems of queues in the scheduler's words.
	problems problems.Problems
}

func newWorld(ctx context.Context, objects *Objects) *world {
	w := &world{
		Objects: objects, ctx: ctx, hierarchy: true, queues: map[string]*find.Queue{},
		problems: problems.Problems{}, matcher: dra.NewMatcher(cel.NewCache(expressions, cel.Features{})),
	}
	w.settings, _ = settings.Read(settings.Name, nil)
	for _, c := range objects.Configurations {
		if read, err := readConfiguration(c); err == nil && read.own != nil {
			w.configuration, w.settings, w.hierarchy = read, read.settings, read.hierarchy()
			break
		}
	}
	w.fleet = &card.Fleet{Given: w.settings.CardResources}
	for _, node := range w.Nodes {
		w.fleet.Set(node.Name, card.Read(node, w.settings.CardResources))
	}
	if w.Known[Classes] {
		w.catalog = dra.NewCatalog(w.Classes, w.Slices)
	}
	w.counter = demand.NewCounter(w.fleet, func(corev1.ResourceName) bool { return false })
	w.counter.Configure(demand.Options{CardUnlimitedCPUMemory: w.settings.CardUnlimitedCPUMemory, CapacityCardMode: w.settings.CapacityCardMode},
		demand.Serving{Class: w.classOf, ByPlugins: w.byPlugins()})
	w.buildTree()
	w.counter.Begin(reader{objects}, w.catalog)
	return w
}

// classOf returns the DeviceClass that offers an extended resource.
func (w *world) classOf(name corev1.ResourceName) string {
	class, _ := w.catalog.Extended(name)
	return class
}

// byPlugins returns the resources that device plugins serve.
func (w *world) byPlugins() map[corev1.ResourceName]bool {
	served := map[corev1.ResourceName]bool{}
	for _, node := range w.Nodes {
		for name, quantity := range node.Status.Allocatable {
			if quantity.Sign() > 0 {
				served[name] = true
			}
		}
	}
	return served
}

// buildTree builds the ledger without charges.
func (w *world) buildTree() {
	var specs []ledger.QueueSpec
	for _, queue := range w.Queues {
		specs = append(specs, w.specOf(queue))
	}
	specs, w.misplaced = quota.Arrange(specs, w.hierarchy, w.topSpec(ledger.QueueSpec{}))
	w.ledger, _ = ledger.New(w.counter.Dimensions, w.total(), specs)
}

// specOf reads a queue.
func (w *world) specOf(queue *schedulingv1beta1.Queue) ledger.QueueSpec {
	known := &find.Queue{Name: queue.Name, Object: queue, Resources: [3]corev1.ResourceList{queue.Spec.Capability, queue.Spec.Deserved, queue.Spec.Guarantee.Resource}}
	w.queues[queue.Name] = known
	var err error
	if known.Devices, err = quota.Devices(queue, w.counter.Dimensions); err != nil {
		w.problems.QuotaNotRead(queue.Name, err)
	}
	for i, annotation := range quota.CardAnnotations {
		cards, err := quota.Cards(queue, annotation, w.counter.Dimensions)
		if err != nil {
			w.problems.CardsNotRead(queue.Name, annotation, err, false)
		}
		*[]*ledger.Amounts{&known.Cards.Capability, &known.Cards.Deserved, &known.Cards.Guarantee}[i] = cards
		known.ListsCards = known.ListsCards || i == 0 && (cards != nil || err != nil)
	}
	spec := ledger.QueueSpec{Name: queue.Name, Parent: quota.Parent(queue.Name, queue.Spec.Parent)}
	if !w.hierarchy || queue.Name == quota.Root {
		spec = w.topSpec(spec)
	}
	spec.ListsCards = spec.ListsCards || known.ListsCards
	list := w.counter.Resources.List
	spec.Capability = list(quota.Resources(known.Resources[0]), slices.Concat(known.Devices.Capability, known.Cards.Capability))
	spec.Deserved = list(quota.Resources(known.Resources[1]), slices.Concat(known.Devices.Deserved, known.Cards.Deserved))
	spec.Guarantee = list(quota.Resources(known.Resources[2]), slices.Concat(known.Devices.Guarantee, known.Cards.Guarantee))
	return spec
}

func (w *world) topSpec(spec ledger.QueueSpec) ledger.QueueSpec {
	spec.ListsCards, spec.DeviceQuotaRequired = w.settings.CardQuotaRequired, w.settings.DeviceQuotaRequired && !w.matching()
	return spec
}

// matching reports whether a device counts for each limited class that it matches.
func (w *world) matching() bool { return w.settings.DeviceAccounting == settings.AccountMatching }

// total returns the resources to share, or nil if nodes are unknown.
func (w *world) total() ledger.Amounts {
	if !w.Known[Nodes] {
		return nil
	}
	total := corev1.ResourceList{}
	for _, node := range w.Nodes {
		for name, quantity := range node.Status.Allocatable {
			sum := total[name]
			sum.Add(quantity)
			total[name] = sum
		}
	}
	if root := w.queues[quota.Root]; root != nil && w.hierarchy {
		maps.Copy(total, quota.Resources(root.Object.Spec.Capability))
	}
	if amounts := w.counter.Resources.List(total, nil); amounts != nil {
		return amounts
	}
	return ledger.Amounts{}
}
