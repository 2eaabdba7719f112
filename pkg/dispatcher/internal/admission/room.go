// SPDX-License-Identifier: Apache-2.0

package admission

import (
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

// leavesNoRoom refuses annotations that leave no room for the dispatcher's own. Users control the size of one of them: Karmada writes the
// placement into it.
func leavesNoRoom(old, rb *workv1alpha2.ResourceBinding) *ctrladmission.Response {
	size := sizeOfOthers(rb)
	if size <= maxOthers || !has(rb, binding.HoldAnnotation) && !has(rb, binding.GrantAnnotation) || old != nil && size <= sizeOfOthers(old) {
		return nil
	}
	response := ctrladmission.Errored(http.StatusRequestEntityTooLarge, fmt.Errorf("%s: its annotations have %d bytes, and may have %d besides those of "+
		"vc-dispatcher. Karmada notes the placement of the policy there: make it shorter", nameOf(rb), size, maxOthers))
	return &response
}

func sizeOfOthers(rb *workv1alpha2.ResourceBinding) (size int) {
	for name, value := range rb.Annotations {
		if !slices.Contains(annotations, name) {
			size += len(name) + len(value)
		}
	}
	return size
}
