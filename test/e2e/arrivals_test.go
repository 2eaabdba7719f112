// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A pod that its queue has room for", func() {
	It("is not refused while it is bound, and its PodGroup neither", func(ctx context.Context) {
		f := newFixture(ctx)
		const pods = 10
		for i := range pods {
			queue := f.queue(ctx, fmt.Sprint("team-", i), "root", limit(f.class, 1))
			f.pod(ctx, fmt.Sprint("pod-", i), queue, fromTemplate("one"))
		}
		for i := range pods {
			f.expectPodRuns(ctx, fmt.Sprint("pod-", i))
		}
		Expect(eventsIn(ctx, f.namespace, "type=Warning")).NotTo(ContainElement(ContainSubstring("insufficient")))
	})
})
