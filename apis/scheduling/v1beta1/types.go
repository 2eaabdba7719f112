// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	upstream "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=queues,scope=Cluster,shortName=q;queue-v1beta1
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="PARENT",type=string,JSONPath=`.spec.parent`
// +kubebuilder:printcolumn:name="DEVICES",type=string,JSONPath=`.metadata.annotations.volcano\.sh/device\.usage`
// +kubebuilder:printcolumn:name="CARDS",type=string,JSONPath=`.metadata.annotations.volcano\.sh/card\.usage`

// Queue is a queue of PodGroups with the share of the cluster that they may use.
type Queue struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the queue.
	// +optional
	Spec QueueSpec `json:"spec,omitempty"`

	// status is the observed state of the queue. Volcano writes it.
	// +optional
	Status upstream.QueueStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// QueueList is a list of queues.
type QueueList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the queues.
	Items []Queue `json:"items"`
}

// QueueSpec is Volcano's QueueSpec and the quota for DRA devices.
type QueueSpec struct {
	upstream.QueueSpec `json:",inline"`

	// dra is the queue's quota for devices that Dynamic Resource Allocation (DRA) allocates to
	// ResourceClaims. A queue without it does not limit devices. A pod gets its devices only
	// if they fit the quota of its queue and of every queue above it.
	// +optional
	DRA *DRAQuota `json:"dra,omitempty"`
}

// DRAQuota is a quota for DRA devices, listed by DeviceClass. A class that is not listed is
// not limited by this queue.
//
// +kubebuilder:validation:XValidation:rule="!has(self.deserved) || !has(self.capability) || self.deserved.all(c, !(c in self.capability && self.deserved[c].count > self.capability[c].count))",messageExpression="self.deserved.filter(c, c in self.capability && self.deserved[c].count > self.capability[c].count).map(c, 'deserved count %s exceeds capability count %s of class %s'.format([string(self.deserved[c].count), string(self.capability[c].count), c]))[0]",fieldPath=".deserved"
// +kubebuilder:validation:XValidation:rule="!has(self.deserved) || !has(self.capability) || self.deserved.all(c, !(c in self.capability && has(self.deserved[c].capacity) && has(self.capability[c].capacity) && self.deserved[c].capacity.exists(d, d in self.capability[c].capacity && quantity(string(self.deserved[c].capacity[d])).isGreaterThan(quantity(string(self.capability[c].capacity[d]))))))",messageExpression="self.deserved.filter(c, c in self.capability && has(self.deserved[c].capacity) && has(self.capability[c].capacity) && self.deserved[c].capacity.exists(d, d in self.capability[c].capacity && quantity(string(self.deserved[c].capacity[d])).isGreaterThan(quantity(string(self.capability[c].capacity[d]))))).map(c, self.deserved[c].capacity.filter(d, d in self.capability[c].capacity && quantity(string(self.deserved[c].capacity[d])).isGreaterThan(quantity(string(self.capability[c].capacity[d])))).map(d, 'deserved capacity ' + string(self.deserved[c].capacity[d]) + ' exceeds capability capacity ' + string(self.capability[c].capacity[d]) + ' of class ' + c + ', dimension ' + d)[0])[0]",fieldPath=".deserved"
// +kubebuilder:validation:XValidation:rule="!has(self.guarantee) || !has(self.deserved) || self.guarantee.all(c, !(c in self.deserved && self.guarantee[c].count > self.deserved[c].count))",messageExpression="self.guarantee.filter(c, c in self.deserved && self.guarantee[c].count > self.deserved[c].count).map(c, 'guarantee count %s exceeds deserved count %s of class %s'.format([string(self.guarantee[c].count), string(self.deserved[c].count), c]))[0]",fieldPath=".guarantee"
// +kubebuilder:validation:XValidation:rule="!has(self.guarantee) || !has(self.deserved) || self.guarantee.all(c, !(c in self.deserved && has(self.guarantee[c].capacity) && has(self.deserved[c].capacity) && self.guarantee[c].capacity.exists(d, d in self.deserved[c].capacity && quantity(string(self.guarantee[c].capacity[d])).isGreaterThan(quantity(string(self.deserved[c].capacity[d]))))))",messageExpression="self.guarantee.filter(c, c in self.deserved && has(self.guarantee[c].capacity) && has(self.deserved[c].capacity) && self.guarantee[c].capacity.exists(d, d in self.deserved[c].capacity && quantity(string(self.guarantee[c].capacity[d])).isGreaterThan(quantity(string(self.deserved[c].capacity[d]))))).map(c, self.guarantee[c].capacity.filter(d, d in self.deserved[c].capacity && quantity(string(self.guarantee[c].capacity[d])).isGreaterThan(quantity(string(self.deserved[c].capacity[d])))).map(d, 'guarantee capacity ' + string(self.guarantee[c].capacity[d]) + ' exceeds deserved capacity ' + string(self.deserved[c].capacity[d]) + ' of class ' + c + ', dimension ' + d)[0])[0]",fieldPath=".guarantee"
// +kubebuilder:validation:XValidation:rule="!has(self.guarantee) || !has(self.capability) || self.guarantee.all(c, !(c in self.capability && self.guarantee[c].count > self.capability[c].count))",messageExpression="self.guarantee.filter(c, c in self.capability && self.guarantee[c].count > self.capability[c].count).map(c, 'guarantee count %s exceeds capability count %s of class %s'.format([string(self.guarantee[c].count), string(self.capability[c].count), c]))[0]",fieldPath=".guarantee"
// +kubebuilder:validation:XValidation:rule="!has(self.guarantee) || !has(self.capability) || self.guarantee.all(c, !(c in self.capability && has(self.guarantee[c].capacity) && has(self.capability[c].capacity) && self.guarantee[c].capacity.exists(d, d in self.capability[c].capacity && quantity(string(self.guarantee[c].capacity[d])).isGreaterThan(quantity(string(self.capability[c].capacity[d]))))))",messageExpression="self.guarantee.filter(c, c in self.capability && has(self.guarantee[c].capacity) && has(self.capability[c].capacity) && self.guarantee[c].capacity.exists(d, d in self.capability[c].capacity && quantity(string(self.guarantee[c].capacity[d])).isGreaterThan(quantity(string(self.capability[c].capacity[d]))))).map(c, self.guarantee[c].capacity.filter(d, d in self.capability[c].capacity && quantity(string(self.guarantee[c].capacity[d])).isGreaterThan(quantity(string(self.capability[c].capacity[d])))).map(d, 'guarantee capacity ' + string(self.guarantee[c].capacity[d]) + ' exceeds capability capacity ' + string(self.capability[c].capacity[d]) + ' of class ' + c + ', dimension ' + d)[0])[0]",fieldPath=".guarantee"
type DRAQuota struct {
	// capability is the maximum that all pods of the queue and of the queues below it may use
	// at the same time. If it is lowered below what is in use, pods keep their devices, but
	// further pods wait.
	// +optional
	Capability DeviceQuotas `json:"capability,omitempty"`

	// deserved is the fair share of the queue: what it may use before other queues have a
	// claim to it. No value may exceed the value of the same name in capability.
	// +optional
	Deserved DeviceQuotas `json:"deserved,omitempty"`

	// guarantee is reserved for the queue, even if the queue does not use it. No value may
	// exceed the value of the same name in deserved or capability.
	// +optional
	Guarantee DeviceQuotas `json:"guarantee,omitempty"`
}

// DeviceQuotas maps names of at most 64 DeviceClasses to amounts.
//
// +kubebuilder:validation:MaxProperties=64
// +kubebuilder:validation:XValidation:rule="self.all(c, size(c) <= 253 && c.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'))",messageExpression="'not the name of a DeviceClass (a DNS subdomain): ' + self.filter(c, size(c) > 253 || !c.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'))[0]"
type DeviceQuotas map[string]DeviceQuota

// DeviceQuota is an amount of devices of one class.
type DeviceQuota struct {
	// count is a number of devices. It is required. Zero means none: as a capability it
	// forbids the class.
	// +kubebuilder:validation:Minimum=0
	// +required
	Count int64 `json:"count"`

	// capacity is an amount in capacity dimensions of the devices, such as memory or cores,
	// summed over all devices in use. A device that can be shared counts with the capacity
	// that is consumed, any other device with all its capacity. Keys are the names of
	// capacities in ResourceSlices. A dimension that is not listed is not limited by this
	// queue.
	// +optional
	Capacity DeviceCapacities `json:"capacity,omitempty"`
}

// DeviceCapacities maps names of at most 16 capacity dimensions to quantities.
//
// +kubebuilder:validation:MaxProperties=16
// +kubebuilder:validation:XValidation:rule="self.all(d, size(d) <= 96 && d.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z_][A-Za-z0-9_]*$'))",messageExpression="'not the name of a capacity dimension (an identifier, which a domain and a slash may precede): ' + self.filter(d, !(size(d) <= 96 && d.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z_][A-Za-z0-9_]*$')))[0]"
// +kubebuilder:validation:XValidation:rule="self.all(d, !(quantity(string(self[d])).isLessThan(quantity('0'))))",messageExpression="'negative quantity for ' + self.filter(d, quantity(string(self[d])).isLessThan(quantity('0')))[0]"
type DeviceCapacities map[string]resource.Quantity
