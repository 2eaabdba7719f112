// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Inputs are the objects that a round uses.
type Inputs struct {
	// Queues must not be changed.
	Queues []*schedulingv1beta1.Queue
	// Classes must not be changed.
	Classes []*resourceapi.DeviceClass
	// Claims reads claims and claim templates from a cache.
	Claims dra.ClaimReader
}

// Counter counts the needs of workloads. It works in rounds: call Begin first. It is not safe for concurrent use.
type Counter struct {
	counter *demand.Counter
	reader  dra.ClaimReader

	queues  map[string]*knownQueue
	classes []*resourceapi.DeviceClass
	catalog *dra.Catalog
	// listed has the dimensions that quotas list, by ordinal.
	listed []bool
	// cards are the cards that quotas list, sorted by name.
	cards []string
	// may caches the listed cards that a resource may stand for.
	may map[corev1.ResourceName][]string

	objects map[metav1.Object]*claimObject
	// generation changes with every input of the count, except claims.
	generation uint64
}

// Counted is the result for a workload. It must not be changed.
type Counted struct {
	Needs framework.Needs
	// Err names the object that is missing or wrong, and says how to correct it.
	Err error

	generation uint64
	claims     claimsRead
}

// New returns an empty counter.
func New() *Counter {
	counter := demand.NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false })
	return &Counter{counter: counter, queues: map[string]*knownQueue{}, objects: map[metav1.Object]*claimObject{}}
}

// Dimensions returns the dimensions of all amounts.
func (c *Counter) Dimensions() *ledger.Dimensions { return c.counter.Dimensions }

// Begin begins a round, and returns the limits of each queue.
func (c *Counter) Begin(in Inputs) map[string]framework.QueueLimits {
	c.reader = in.Claims
	reclassified := c.catalog == nil || !sameObjects(c.classes, in.Classes)
	if reclassified {
		c.classes, c.catalog = slices.Clone(in.Classes), dra.NewCatalog(in.Classes, nil)
		c.counter.Configure(demand.Options{}, demand.Serving{Class: func(name corev1.ResourceName) string {
			class, _ := c.catalog.Extended(name)
			return class
		}})
		clear(c.queues) // resources may count as devices of another class
	}
	c.forgetGone()
	limits := c.readQueues(in.Queues)
	c.counter.Begin(in.Claims, c.catalog)
	if c.relist() || reclassified {
		c.generation++
		c.may = map[corev1.ResourceName][]string{}
	}
	return limits
}

func sameObjects(a, b []*resourceapi.DeviceClass) bool {
	if len(a) != len(b) {
		return false
	}
	known := make(map[*resourceapi.DeviceClass]bool, len(a))
	for _, class := range a {
		known[class] = true
	}
	return !slices.ContainsFunc(b, func(class *resourceapi.DeviceClass) bool { return !known[class] })
}

// Of returns the needs of a workload for a spread. It returns before if its inputs have not changed. Before must be from the same
// template and the same spread, or nil.
func (c *Counter) Of(template *workload.Template, spread framework.Spread, before *Counted) *Counted {
	if c.IsCurrent(before) {
		return before
	}
	return c.count(template, spread)
}

// IsCurrent reports whether the inputs of a result have not changed. The result may be nil.
func (c *Counter) IsCurrent(before *Counted) bool {
	return before != nil && before.generation == c.generation && before.claims.current(c.reader)
}
