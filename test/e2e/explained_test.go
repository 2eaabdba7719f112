// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"

	"github.com/devicequota/devicequota/pkg/visibility/client"
)

// expectCause waits until the scheduler explains that a pod or a PodGroup waits for the reason in its events and conditions.
func (f *fixture) expectCause(ctx context.Context, resource, name, message string) {
	GinkgoHelper()
	f.expectCauseThat(ctx, resource, name, ContainSubstring(message))
}

// expectCauseThat is expectCause for a message that may have several forms.
func (f *fixture) expectCauseThat(ctx context.Context, resource, name string, message gomegatypes.GomegaMatcher) {
	GinkgoHelper()
	see := must(client.New(controlPlane.Config()))
	Eventually(func(g Gomega) {
		told, err := see.Explain(ctx, resource, f.namespace, name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(told.Cause).NotTo(BeNil(), "the cause for which %s %s waits; its state is %s", resource, name, told.State)
		g.Expect(told.Cause.Message).To(message)
	}).WithContext(ctx).Should(Succeed())
}
