// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Inputs are what a round counts by.
type Inputs struct {
	// Queues must not be changed.
	Queues []*schedulingv1beta1.Queue
	// Classes must not be changed.
	Classes []*resourceapi.DeviceClass
	// Claims reads claims and claim templates from a cache.
	Claims dra.ClaimReader
}

// Counter counts what workloads need. It works in rounds: call Begin before anything else. It is not
// safe for concurrent use.
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
	// may has the listed cards that a resource may stand for. It is filled when this is asked.
	may map[corev1.ResourceName][]string

	// most has what a claim from a template comes to. It holds as long as the edition.
	most map[*resourceapi.ResourceClaimTemplate]fromOne
	// edition is a number that changes with everything that workloads are counted by, except claims.
	edition uint64
}

// Counted is what was counted for a workload. It must not be changed.
type Counted struct {
	Needs framework.Needs
	// Err names the object that is missing or wrong, and says what to write.
	Err error

	edition uint64
	claims  claimsRead
}

// maxMost bounds the templates that are remembered, also deleted ones: users may create one after the other.
const maxMost = 1000

// fromOne is what a claim comes to, with the limited capacities of which its devices name no amount.
type fromOne struct {
	amounts ledger.Amounts
	unnamed []ledger.Ordinal
}

// New returns a counter that remembers nothing.
func New() *Counter {
	counter := demand.NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false })
	return &Counter{counter: counter, queues: map[string]*knownQueue{}}
}

// Dimensions are those of all amounts.
func (c *Counter) Dimensions() *ledger.Dimensions { return c.counter.Dimensions }

// Begin begins a round, and returns what each queue limits.
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
	limits := c.readQueues(in.Queues)
	c.counter.Begin(in.Claims, c.catalog)
	if c.relist() || reclassified {
		c.edition++
		c.may, c.most = map[corev1.ResourceName][]string{}, map[*resourceapi.ResourceClaimTemplate]fromOne{}
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

// Of returns what a workload needs if it goes to some clusters. That is what was counted before for the same template and
// the same clusters, if it still holds. Before may be nil.
func (c *Counter) Of(template *workload.Template, spread framework.Spread, before *Counted) *Counted {
	if before != nil && before.edition == c.edition && before.claims.current(c.reader) {
		return before
	}
	return c.count(template, spread)
}
