// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

const (
	// maxSupplies is the maximum number of DeviceClasses and cards in an explanation.
	maxSupplies = 20
	// MaxPlaces bounds how many places are listed of each.
	MaxPlaces = 10
)

// Supplies finds the places of requested devices and cards.
type Supplies struct {
	Snapshot *snapshot.Snapshot
	Places   describe.Places

	found []v1alpha1.Supply
}

// ForPod returns where the devices and cards are that a pod asks for, including those of its alternatives.
func (s *Supplies) ForPod(task *api.TaskInfo) []v1alpha1.Supply {
	pod := s.Snapshot.Known(task.Pod)
	if pod == nil {
		return nil
	}
	variants := pod.Alternatives()
	if variants == nil {
		variants = []*demand.Pod{pod}
	}
	for _, variant := range variants {
		for class, count := range classesAskedBy(variant) {
			s.addDevices(class, count)
		}
		if variant.Cards == nil {
			continue
		}
		for i := range variant.Cards.Requests {
			request := &variant.Cards.Requests[i]
			for _, among := range request.Among {
				s.addCards(among.Name, request.Resource, request.Count)
			}
		}
	}
	return s.sorted()
}

// classesAskedBy returns the number of devices of each class in the unallocated claims of a pod. Of alternatives, the largest number counts.
func classesAskedBy(pod *demand.Pod) map[string]int64 {
	asked := map[string]int64{}
	for _, claim := range pod.Claims {
		if claim.Object.Status.Allocation != nil {
			continue
		}
		for _, devices := range claim.Usage.Devices {
			asked[devices.Class] = plusCount(asked[devices.Class], devices.Count)
		}
		for _, alternatives := range claim.Usage.Choices {
			most := map[string]int64{}
			for _, devices := range alternatives {
				most[devices.Class] = max(most[devices.Class], devices.Count)
			}
			for class, count := range most {
				asked[class] = plusCount(asked[class], count)
			}
		}
	}
	return asked
}

// plusCount adds user-defined numbers without overflow.
func plusCount(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// ForJob returns where the devices and cards are that a job without pods needs. It does not say how many each pod will ask for.
func (s *Supplies) ForJob(job *api.JobInfo) []v1alpha1.Supply {
	needs, _ := s.Snapshot.Needs(job)
	lists := []ledger.Amounts{needs.Amounts}
	for _, choice := range needs.Choices {
		lists = append(lists, choice.Alternatives...)
	}
	for _, split := range needs.Splits {
		for _, o := range split.Among {
			lists = append(lists, ledger.Amounts{{Dimension: o, Amount: ledger.Units(split.Each)}})
		}
	}
	for _, list := range lists {
		for _, e := range list {
			switch d := s.Snapshot.Dimensions.Dimension(e.Dimension); {
			case e.Amount.Sign() <= 0:
			case d.Kind == ledger.DeviceCount:
				s.addDevices(d.Name, 0)
			case d.Kind == ledger.Card:
				for _, resource := range s.Places.Fleet.ResourcesOf(d.Name) {
					s.addCards(d.Name, resource, 0)
				}
			}
		}
	}
	return s.sorted()
}

// addDevices adds the devices of a class.
func (s *Supplies) addDevices(class string, asked int64) {
	if s.Places.Devices == nil || s.has(v1alpha1.Device, class) {
		return
	}
	supplies, err := s.Places.Devices(class)
	if err != nil {
		klog.ErrorS(err, "Failed to count devices", "class", class)
		return
	}
	var places []v1alpha1.Place
	for node, there := range supplies.OnNode {
		places = append(places, placeOf(v1alpha1.Place{Node: node}, there))
	}
	for pool, there := range supplies.InPool {
		places = append(places, placeOf(v1alpha1.Place{Pool: pool.Driver + "/" + pool.Name}, there))
	}
	s.add(v1alpha1.Supply{Dimension: v1alpha1.Dimension{Kind: v1alpha1.Device, Name: class}, Asked: asked}, places)
}

func placeOf(place v1alpha1.Place, there dra.Supply) v1alpha1.Place {
	place.Free, place.Total, place.Shared, place.Tainted = there.Free, there.Total, there.Shared, there.Tainted
	return place
}

// addCards adds the cards that device plugins serve as a resource.
func (s *Supplies) addCards(name string, resource corev1.ResourceName, asked int64) {
	var places []v1alpha1.Place
	for _, node := range s.Places.Nodes {
		if card, found := s.Places.Fleet.Node(node.Name).Of(resource); !found || card != name {
			continue
		}
		places = append(places, v1alpha1.Place{Node: node.Name, Free: countOf(node.FutureIdle(), resource), Total: countOf(node.Allocatable, resource)})
	}
	if len(places) > 0 || !s.has(v1alpha1.Card, name) {
		s.add(v1alpha1.Supply{Dimension: v1alpha1.Dimension{Kind: v1alpha1.Card, Name: name}, Asked: asked}, places)
	}
}

// has reports whether a class or card has been added.
func (s *Supplies) has(kind v1alpha1.Kind, name string) bool {
	return slices.ContainsFunc(s.found, func(supply v1alpha1.Supply) bool { return supply.Kind == kind && supply.Name == name })
}

// countOf returns a whole number of a scalar resource, which Volcano counts in thousandths.
func countOf(resources *api.Resource, name corev1.ResourceName) int64 {
	return int64(max(0, resources.Get(name)) / 1000)
}

// add sums up places, and keeps the best of them.
func (s *Supplies) add(supply v1alpha1.Supply, places []v1alpha1.Place) {
	for i := range places {
		place := &places[i]
		supply.Free, supply.Total = supply.Free+place.Free, supply.Total+place.Total
		if place.Node == "" {
			continue
		}
		supply.Nodes++
		if supply.Asked > 0 && place.Free >= supply.Asked {
			supply.NodesWithEnough++
		}
	}
	slices.SortFunc(places, func(a, b v1alpha1.Place) int {
		return cmp.Or(cmp.Compare(b.Free, a.Free), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Node, b.Node))
	})
	supply.Places = places[:min(len(places), MaxPlaces)]
	supply.MorePlaces = int32(len(places) - len(supply.Places))
	s.found = append(s.found, supply)
}

// sorted returns the supplies in a fixed order.
func (s *Supplies) sorted() []v1alpha1.Supply {
	slices.SortStableFunc(s.found, func(a, b v1alpha1.Supply) int { return describe.CompareDimensions(a.Dimension, b.Dimension) })
	return s.found[:min(len(s.found), maxSupplies)]
}

// MaxHolders bounds how many holders an explanation names.
const MaxHolders = 100

// tellHolders adds the holders of what a pod lacks: in the queue that refuses it or, if nodes lack devices or cards, anywhere. The pod is nil
// if it does not exist yet.
func tellHolders(told *v1alpha1.Explanation, s *describe.Session, task *api.TaskInfo, cause report.Refusal) {
	missing, within := missingOf(s.Snapshot, task, cause)
	told.Holders, told.MoreHolders = s.HoldersOf(missing, within, MaxHolders)
}

// missingOf returns what a pod lacks, and the queue in which it lacks it, nil if that is no queue.
func missingOf(s *snapshot.Snapshot, task *api.TaskInfo, cause report.Refusal) ([]ledger.Ordinal, *ledger.QueueID) {
	if refused := report.RefusedByQuota(cause); refused != nil {
		queue, found := s.Ledger.Queue(refused.Queue)
		if !found {
			return nil, nil
		}
		return refusedDimensions(s, refused), &queue
	}
	if task == nil {
		return nil, nil
	}
	return devicesAndCards(s, task), nil
}

// refusedDimensions returns the dimensions that a quota refuses.
func refusedDimensions(s *snapshot.Snapshot, refused *ledger.Refusal) []ledger.Ordinal {
	var missing []ledger.Ordinal
	for _, name := range strings.Split(refused.Dimension.Name, "|") { // a refusal of several cards names them all
		dimension := refused.Dimension
		dimension.Name = name
		if o, known := s.Dimensions.Known(dimension); known {
			missing = append(missing, o)
		}
	}
	return missing
}

// devicesAndCards returns the devices and cards that a pod asks for, including those of its alternatives.
func devicesAndCards(s *snapshot.Snapshot, task *api.TaskInfo) []ledger.Ordinal {
	pod := s.Known(task.Pod)
	if pod == nil {
		return nil
	}
	var asked []ledger.Ordinal
	for _, part := range s.Asked(pod) {
		for _, amounts := range append(part.Alternatives(), part.Amounts()) {
			for _, e := range amounts {
				if s.Dimensions.Dimension(e.Dimension).Kind != ledger.Resource && e.Amount.Sign() > 0 {
					asked = append(asked, e.Dimension)
				}
			}
		}
	}
	return asked
}
