// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

var _ = Describe("A guarantee of devices", func() {
	It("is kept against the siblings of every ancestor, and the message says how much is guaranteed to others", func(ctx context.Context) {
		f := newFixture(ctx)
		ml := f.queue(ctx, "ml", "root", limit(f.class, 8))
		team := f.queue(ctx, "team", f.queue(ctx, "organization", ml, nil), &schedulingv1beta1.DRAQuota{
			Guarantee: schedulingv1beta1.DeviceQuotas{f.class: {Count: 4}},
		})
		other := f.queue(ctx, "other", ml, nil)
		f.submit(ctx, gang("five", other, 5))
		f.expectNotEnqueued(ctx, "five", "InsufficientScalarQuota", fmt.Sprintf(
			"Queue <%s> has insufficient <%s> quota: requested <5>, total would be <5>, but capability is <8>, of which <4> is guaranteed to others", other, f.class))
		f.submit(ctx, gang("four", other, 4))
		f.expectRunning(ctx, "four", 4)
		f.submit(ctx, gang("guaranteed", team, 4))
		f.expectRunning(ctx, "guaranteed", 4)
	})
})
