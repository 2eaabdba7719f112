// Package v1beta1 is the Queue of scheduling.volcano.sh/v1beta1 with quotas for the devices
// that Dynamic Resource Allocation hands out. It is upstream's Queue and spec.dra: objects
// of either type are objects of the same resource in the API server.
//
// +k8s:deepcopy-gen=package
// +groupName=scheduling.volcano.sh
// +kubebuilder:object:generate=true
package v1beta1
