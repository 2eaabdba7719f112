// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UsageRecord is what one queue used, waited for, and was guaranteed without using it, in one period. It does not include the
// queues below it, except that what they use is not idle.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Queue",type=string,JSONPath=`.spec.queue`
// +kubebuilder:printcolumn:name="Start",type=string,JSONPath=`.spec.start`
// +kubebuilder:printcolumn:name="End",type=string,JSONPath=`.spec.end`
// +kubebuilder:printcolumn:name="Through",type=string,JSONPath=`.spec.through`
type UsageRecord struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +required
	Spec UsageRecordSpec `json:"spec"`
}

// UsageRecordSpec has the sums of one queue in one period.
//
// +kubebuilder:validation:XValidation:rule="self.start < self.end && self.start <= self.through && self.through <= self.end",message="start, through, and end must follow each other"
type UsageRecordSpec struct {
	// queue is the name of the queue.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Queue string `json:"queue"`

	// start is when the period begins.
	// +required
	Start metav1.Time `json:"start"`

	// end is when the period ends.
	// +required
	End metav1.Time `json:"end"`

	// through is up to when the sums are complete, if the checkpoint is not behind it. If the checkpoint is behind it, the last write
	// was not finished, and lastAdded of each series does not count.
	// +required
	Through metav1.Time `json:"through"`

	// series has the sums.
	// +kubebuilder:validation:MaxItems=2000
	// +listType=atomic
	// +optional
	Series []UsageSeries `json:"series,omitempty"`
}

// Measure says what is counted.
//
// +kubebuilder:validation:Enum=used;guaranteedIdle;waited
type Measure string

const (
	// Used is what pods and claims held.
	Used Measure = "used"
	// GuaranteedIdle is what the queue was guaranteed, and neither the queue nor those below it used.
	GuaranteedIdle Measure = "guaranteedIdle"
	// Waited is what pods and jobs of the queue requested and did not have.
	Waited Measure = "waited"
)

// UsageSeries is a sum: amounts times seconds. Exactly one of deviceClass, card, and resource is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.deviceClass), has(self.card), has(self.resource)].filter(set, set).size() == 1",message="exactly one of deviceClass, card, and resource must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.capacity) || has(self.deviceClass)",message="only a deviceClass has a capacity"
type UsageSeries struct {
	// measure says what is counted.
	// +required
	Measure Measure `json:"measure"`

	// deviceClass is the DeviceClass of the devices.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	DeviceClass string `json:"deviceClass,omitempty"`

	// capacity is the capacity of the devices that is counted, in its own unit. Without it, devices are counted.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Capacity string `json:"capacity,omitempty"`

	// card is the name of the card.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Card string `json:"card,omitempty"`

	// resource is the name of a resource that the scheduler's argument accountingResources lists, in its own unit.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +optional
	Resource string `json:"resource,omitempty"`

	// namespace is that of the pods. If a queue has too many series, the rest has the namespace and label "other".
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// label is the value of the label that the scheduler's argument accountingLabel names.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Label string `json:"label,omitempty"`

	// seconds is the sum of the period.
	// +required
	Seconds Seconds `json:"seconds"`

	// lastAdded is the part of seconds that the last write added. Absent means none.
	// +optional
	LastAdded Seconds `json:"lastAdded,omitempty"`

	// before is the sum of all periods before this one, since the queue has been recorded. Absent means none.
	// +optional
	Before Seconds `json:"before,omitempty"`
}

// Seconds is an amount times seconds, a decimal number such as 86400 or 0.5.
//
// +kubebuilder:validation:Pattern=`^[0-9]{1,40}([.][0-9]{1,9})?$`
type Seconds string

// UsageRecordList is a list of records.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
type UsageRecordList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []UsageRecord `json:"items"`
}

// CheckpointName is the name of the only UsageCheckpoint.
const CheckpointName = "scheduler"

// UsageCheckpoint says up to when all records are complete. To write it finishes a write of records. There is only one, with the
// name scheduler.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Through",type=string,JSONPath=`.spec.through`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'scheduler'",message="the only UsageCheckpoint has the name scheduler"
type UsageCheckpoint struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +required
	Spec UsageCheckpointSpec `json:"spec"`
}

// UsageCheckpointSpec says up to when all records are complete.
type UsageCheckpointSpec struct {
	// through is up to when all records are complete.
	// +required
	Through metav1.Time `json:"through"`

	// writer identifies the process that has written the checkpoint.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Writer string `json:"writer,omitempty"`

	// label is the name of the label whose values the records have.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	Label string `json:"label,omitempty"`
}

// UsageCheckpointList is a list of checkpoints.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
type UsageCheckpointList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []UsageCheckpoint `json:"items"`
}
