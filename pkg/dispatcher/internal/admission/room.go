// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// maxOthers bounds the size of others' annotations in bytes. The API server accepts 256 KiB in all, and the dispatcher needs the rest
// to take a grant back.
const maxOthers = 128 << 10

// maxSpec bounds the size of a spec in bytes. etcd stores 1.5 MiB of an object.
const maxSpec = 768 << 10

// leavesNoRoom refuses specs and annotations that leave no room for the dispatcher's own annotations. Users control the size of both: Karmada
// writes the placement of their policies into them.
func leavesNoRoom(old, rb *workv1alpha2.ResourceBinding) *ctrladmission.Response {
	if !has(rb, binding.HoldAnnotation) && !has(rb, binding.GrantAnnotation) {
		return nil
	}
	if size := sizeOfSpec(rb); size > maxSpec && (old == nil || size > sizeOfSpec(old)) {
		response := ctrladmission.Errored(http.StatusRequestEntityTooLarge, fmt.Errorf("%s: its spec has %d bytes, and may have %d. Karmada writes the placement of the "+
			"policy there: make it shorter", nameOf(rb), size, maxSpec))
		return &response
	}
	size := sizeOfOthers(rb)
	if size <= maxOthers || old != nil && size <= sizeOfOthers(old) {
		return nil
	}
	response := ctrladmission.Errored(http.StatusRequestEntityTooLarge, fmt.Errorf("%s: its annotations have %d bytes, and may have %d besides those of "+
		"vc-dispatcher. Karmada notes the placement of the policy there: make it shorter", nameOf(rb), size, maxOthers))
	return &response
}

func sizeOfSpec(rb *workv1alpha2.ResourceBinding) int {
	data, err := json.Marshal(&rb.Spec)
	if err != nil {
		return 0 // it was JSON
	}
	return len(data)
}

func sizeOfOthers(rb *workv1alpha2.ResourceBinding) (size int) {
	for name, value := range rb.Annotations {
		if !slices.Contains(annotations, name) {
			size += len(name) + len(value)
		}
	}
	return size
}
