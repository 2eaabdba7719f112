// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/problems/find"
)

// maxEvaluations bounds the search for classes that share devices, as in the scheduler.
const maxEvaluations = 1_000_000

// checkQueues finds the problems that the scheduler reports in events on queues.
func (w *world) checkQueues() {
	if w.hierarchy && w.Known[Queues] {
		for name, why := range w.misplaced {
			w.problems.Misplaced(name, why)
		}
	}
	for _, uncovered := range w.ledger.Uncovered() {
		w.problems.GuaranteeNotCovered(w.ledger.Name(uncovered.Queue), uncovered)
	}
	finder := find.Finder{
		Ledger: w.ledger, Dimensions: w.counter.Dimensions, Fleet: w.fleet, Catalog: w.catalog, ServesClaims: true, Queue: w.queueNamed,
	}
	if w.configuration != nil {
		finder.ReclaimFault = w.configuration.fault
	}
	maps.Copy(w.problems, finder.Find(slices.Sorted(maps.Keys(w.queues))).Problems)
	w.findClassProblems()
	w.findLostQuotas()
	for problem, message := range w.problems {
		if problem.Reason == problems.UnknownCardReason && !w.Known[Nodes] || w.queues[problem.Queue] == nil {
			continue
		}
		w.add(problem.Reason, Ref{Kind: Queues, Name: problem.Queue}, w.fieldOf(problem, message), message)
		if problem.Harmless {
			w.findings[len(w.findings)-1].Severity = Note
		}
	}
}

func (w *world) queueNamed(name string) *find.Queue {
	if queue := w.queues[name]; queue != nil {
		return queue
	}
	return &find.Queue{Name: name}
}

// findLostQuotas finds queues without spec.dra of which the scheduler has noted one.
func (w *world) findLostQuotas() {
	for name, queue := range w.queues {
		var last struct {
			DRA *schedulingv1beta1.DRAQuota `json:"dra"`
		}
		noted := json.Unmarshal([]byte(queue.Object.Annotations[schedulingv1beta1.LastValidQuotaAnnotation]), &last) == nil
		if noted && last.DRA != nil && queue.Object.Spec.DRA == nil {
			w.problems.QuotaLost(name)
		}
	}
}

// fieldOf returns the most likely place of a problem in a queue.
func (w *world) fieldOf(problem problems.Problem, message string) Path {
	for _, key := range slices.Sorted(maps.Keys(w.queues[problem.Queue].Object.Annotations)) {
		if strings.Contains(message, "annotation "+key) {
			return Path{"metadata", "annotations", key}
		}
	}
	switch problem.Reason {
	case problems.QueueMisplacedReason:
		return Path{"spec", "parent"}
	case problems.GuaranteeNotCoveredReason:
		return Path{"spec", "guarantee"}
	case problems.UnknownDeviceClassReason, problems.ClassesOverlapReason, problems.InvalidDeviceClassReason, problems.QuotaNotReadReason, problems.ContradictoryDevicesReason:
		return Path{"spec", "dra"}
	case problems.ReclaimNotConfiguredReason, problems.ReclaimIgnoresDeservedReason:
		return Path{"spec", "deserved"}
	case problems.LimitAboveParentReason, problems.ClassInCapabilityReason:
		return Path{"spec", "capability"}
	default:
		return Path{"spec"}
	}
}

// findClassProblems finds problems of the classes that queues limit.
func (w *world) findClassProblems() {
	if w.catalog == nil {
		return
	}
	all := slices.Sorted(w.catalog.Classes)
	w.matcher.Use(w.catalog, all)
	invalid := maps.Collect(w.matcher.Invalid)
	listed := map[string][]string{}
	for name, queue := range w.queues {
		listed[name] = w.classesOf(queue)
	}
	limited := slices.Compact(slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(listed))...))))
	overlaps := dra.FindOverlaps(w.ctx, w.catalog, limited, w.matcher.CELCache(), maxEvaluations)
	for name, classes := range listed {
		var texts []string
		for _, class := range classes {
			if others := overlaps[class]; len(others) > 0 {
				texts = append(texts, problems.Overlap{Class: class, Others: others}.String())
			}
			if err := invalid[class]; err != nil {
				w.problems.InvalidDeviceClass(name, class, err)
			}
		}
		if slices.Sort(texts); len(texts) > 0 {
			w.problems.ClassesOverlap(name, texts, w.matching())
		}
	}
}

// classesOf returns the classes in a queue's quota of devices, sorted.
func (w *world) classesOf(queue *find.Queue) []string {
	var classes []string
	for _, list := range []ledger.Amounts{queue.Devices.Capability, queue.Devices.Deserved, queue.Devices.Guarantee} {
		for _, e := range list {
			classes = append(classes, w.counter.Dimensions.Dimension(e.Dimension).Name)
		}
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}
