// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// TestAnnotationsOfOthersLeaveRoom: otherwise, the annotations would get too long, and the API server would refuse to take a grant back.
func TestAnnotationsOfOthersLeaveRoom(t *testing.T) {
	noted := func(bytes int) option {
		return annotated("example.com/note", strings.Repeat("x", bytes))
	}
	selecting := func(bytes int) option {
		return func(rb *workv1alpha2.ResourceBinding) {
			rb.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{strings.Repeat("x", bytes)}}}
		}
	}
	const long, user = 200 << 10, "system:karmada:scheduler"
	const refused = "ResourceBinding team/web-deployment: its annotations have 204852 bytes, and may have 131072 besides those of vc-dispatcher"
	for _, c := range []bindingCase{
		{name: "what was granted room", old: newBinding(granting), asked: newBinding(granting, noted(long)), message: refused},
		{name: "what waits", old: newBinding(held(waiting)), asked: newBinding(held(waiting), noted(long)), message: refused},
		{name: "what names many clusters", old: newBinding(granting), asked: newBinding(granting, selecting(maxSpec)), message: "and may have 786432. Karmada writes the placement"},
		{name: "a short note", old: newBinding(granting), asked: newBinding(granting, noted(1000)), want: newBinding(granting, noted(1000))},
		{name: "what was as long before", old: newBinding(granting, noted(long)), asked: newBinding(granting, noted(long), on("m1", 2)), want: newBinding(granting, noted(long), on("m1", 2))},
	} {
		c.user = user
		t.Run(c.name, c.run)
	}
	if got := sizeOfOthers(newBinding(annotated(binding.RequeueAnnotation, strings.Repeat("x", long)))); got > 1000 {
		t.Errorf("the dispatcher's own annotations count: %d bytes", got)
	}
}
