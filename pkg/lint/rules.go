// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// IDs of rules for which the scheduler writes no event. The other rules have the reason of the event as their ID.
const (
	QuotaAboveHardware        = "QuotaAboveHardware"
	DeservedOutOfReach        = "DeservedOutOfReach"
	DeservedOvercommitted     = "DeservedOvercommitted"
	InvalidClass              = "InvalidClass"
	ClassWithoutDevices       = "ClassWithoutDevices"
	ConfigurationNotRead      = "ConfigurationNotRead"
	CapacityMissing           = "CapacityMissing"
	CapacityTwice             = "CapacityTwice"
	ProportionBesideCapacity  = "ProportionBesideCapacity"
	DevicesNotAllocated       = "DevicesNotAllocated"
	HierarchyIgnored          = "HierarchyIgnored"
	UnknownCapacity           = "UnknownCapacity"
	InvalidArgument           = "InvalidArgument"
	UnknownArgument           = "UnknownArgument"
	InvalidPodCount           = "InvalidPodCount"
	NotForVolcano             = "NotForVolcano"
	PastQuota                 = "PastQuota"
	PodGated                  = "PodGated"
	CardOfNoNode              = "CardOfNoNode"
	PriorityClassMissing      = "PriorityClassMissing"
	UnknownWorkloadAnnotation = "UnknownWorkloadAnnotation"
	NameMissing               = "NameMissing"
	UnknownField              = "UnknownField"
	RepeatedField             = "RepeatedField"
)

// Rule describes what lint looks for.
type Rule struct {
	ID       string
	Severity Severity
	// Short describes the mistake, and Help the correction.
	Short, Help string
}

// Rules are all rules. The rules of queues come first.
var Rules = []Rule{
	{problems.QueueMisplacedReason, Error, "a queue has no place in the tree: its parent does not exist, or it is its own ancestor", "Change spec.parent, or create the parent."},
	{problems.QueueNotLeafReason, Error, "a queue has both jobs and queues below it, so that its jobs are not scheduled", "Move the jobs to a queue that has no children."},
	{problems.QuotaNotReadReason, Error, "a quota of devices or cards cannot be read", "Correct what the message names."},
	{problems.QuotaFieldMissingReason, Error, "a queue has lost spec.dra, because the Queue CRD in the cluster lacks the field", "Apply config/crd/scheduling.volcano.sh_queues.yaml again."},
	{problems.GuaranteeNotCoveredReason, Error, "the guarantees of siblings add up to more than there is above them", "Lower guarantees, or add nodes."},
	{problems.ClassInCapabilityReason, Error, "a DeviceClass is listed among resources, where it limits nothing", "List the class in spec.dra."},
	{problems.UnknownDeviceClassReason, Error, "a quota lists a DeviceClass that does not exist", "Correct the name, or create the DeviceClass."},
	{problems.UnknownCardReason, Warning, "a quota lists a card that no node has", "Correct the name, or add nodes."},
	{problems.UnknownAnnotationReason, Error, "an annotation of a queue has nearly the name of one that the scheduler reads", "Rename it to what the message names."},
	{problems.LimitAboveParentReason, Warning, "a capability is above that of a queue further up, which holds", "Lower the one, or raise the other."},
	{problems.CardNotListedReason, Warning, "a queue is owed cards that its pods must not use", "List the cards in the card quota, too, or remove them."},
	{problems.ContradictoryCardsReason, Error, "annotations for cards contradict each other", "Keep guarantee ≤ deserved ≤ quota."},
	{problems.ContradictoryDevicesReason, Error, "numbers of devices contradict each other", "Keep guarantee ≤ deserved ≤ capability, and list each thing once."},
	{problems.ClassesOverlapReason, Warning, "devices of a limited class belong to other classes, too", "Set deviceAccounting to matching, or limit the other classes, too."},
	{problems.InvalidDeviceClassReason, Error, "a queue limits a class whose selectors cannot be evaluated", "Correct the selectors of the DeviceClass."},
	{problems.ReclaimNotConfiguredReason, Warning, "a queue deserves something, and nothing is ever taken back for it", "Change the scheduler's configuration as the message says."},
	{problems.ReclaimIgnoresDeservedReason, Warning, "a queue deserves something, and reclaim does not go by that", "Put capacity, gang, and conformance into one tier."},
	{DeservedOutOfReach, Warning, "a queue deserves more than the queues above it leave", "Lower what it deserves, or raise the capability above."},
	{DeservedOvercommitted, Warning, "the children of a queue deserve more together than there is", "Lower what they deserve, or add nodes."},
	{QuotaAboveHardware, Warning, "a quota of devices or cards is more than the cluster has", "Lower it, or add nodes."},
	{UnknownCapacity, Warning, "a quota lists a capacity that no device of the class has", "Correct the name of the capacity."},
	{problems.ExtendedResourceContestedReason, Warning, "two DeviceClasses offer the same extended resource", "Remove spec.extendedResourceName from one of them."},
	{InvalidClass, Error, "the selectors of a DeviceClass cannot be evaluated", "Correct the selectors."},
	{ClassWithoutDevices, Warning, "a DeviceClass matches no device", "Correct its selectors, or start a driver with such devices."},
	{problems.CardsNotReadReason, Warning, "the labels of a node do not tell which cards it has", "Correct the labels that the message names."},
	{ConfigurationNotRead, Error, "the scheduler's configuration is no valid YAML", "Correct it."},
	{CapacityMissing, Error, "the scheduler's configuration lacks the plugin capacity", "Add it to the tier that has gang and conformance."},
	{CapacityTwice, Error, "the scheduler's configuration has the plugin capacity twice", "Remove one."},
	{ProportionBesideCapacity, Error, "the scheduler's configuration has the plugin proportion", "Remove it."},
	{DevicesNotAllocated, Error, "the scheduler does not allocate devices", "Set predicate.DynamicResourceAllocationEnable to true in the arguments of the plugin predicates."},
	{HierarchyIgnored, Warning, "queues have parents that do not matter", "Set enableHierarchy of the plugin capacity to true."},
	{InvalidArgument, Error, "an argument of the plugin capacity is invalid and left out", "Correct its value."},
	{UnknownArgument, Warning, "the plugin capacity has no such argument", "Correct the name, or remove it."},
	{refusals.QueueNotFoundReason, Error, "the queue of a workload does not exist", "Create the queue, or name another one."},
	{refusals.UnschedulableReason, Error, "the queue of a workload takes no pods", "Use another queue, or correct this one."},
	{refusals.TaskRequestFailedReason, Error, "what a workload asks for cannot be counted: a claim, template, or class is missing, or an annotation is wrong", "Correct what the message names."},
	{refusals.InsufficientCPUQuotaReason, Error, "a workload needs more cpu than its queue can ever have", "Ask for less, or raise the quota."},
	{refusals.InsufficientMemoryQuotaReason, Error, "a workload needs more memory than its queue can ever have", "Ask for less, or raise the quota."},
	{refusals.InsufficientScalarQuotaReason, Error, "a workload needs more devices, cards, or other resources than its queue can ever have", "Ask for less, or raise the quota."},
	{refusals.EmptyQueueCapabilityReason, Error, "a workload needs devices or cards for which no quota exists where one is required", "List the class or card in the quota."},
	{InvalidPodCount, Error, "the numbers of pods of a workload contradict each other, such as a minAvailable above the replicas", "Correct the field that the message names."},
	{NotForVolcano, Warning, "a workload names a queue, but not Volcano's scheduler", "Set schedulerName to volcano."},
	{PastQuota, Warning, "pods get devices or cards past every quota, because another scheduler places them", "Set schedulerName to volcano, and name a queue."},
	{CardOfNoNode, Warning, "pods name cards that no node has", "Correct the annotation, or add nodes."},
	{UnknownWorkloadAnnotation, Warning, "an annotation of a workload has nearly the name of one that the scheduler reads", "Rename it to what the message names."},
	{PriorityClassMissing, Error, "a PriorityClass does not exist", "Create it, or correct the name."},
	{NameMissing, Error, "an object has no name, so that the API server refuses it", "Set metadata.name."},
	{UnknownField, Warning, "a manifest has a field that its kind does not have, which the API server drops", "Correct the name of the field."},
	{RepeatedField, Error, "a manifest has the same field twice, so that one of them has no effect", "Remove one of them."},
	{PodGated, Note, "pods have scheduling gates", "Remove the gates when the pods may start."},
}

// SeverityOf returns the severity of a rule.
func SeverityOf(rule string) Severity {
	return Rules[slices.IndexFunc(Rules, func(r Rule) bool { return r.ID == rule })].Severity
}
