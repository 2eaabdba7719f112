// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
)

func guardOfNumbers() {
	nobody := func(message string, a attempt) judged {
		return judged{a, nil, map[string]string{member: message, stranger: message, administrator: message, volcanos: message}}
	}
	const queue = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nspec: "
	group := podGroup("default", "")
	DescribeTable("lets nobody write numbers that keep the scheduler from reading any object of the kind:", func(ctx context.Context, j judged) { j.check(ctx) },
		Entry("a quantity", nobody("PodGroup existing has the quantity 1e1.5 of cpu, which Volcano cannot read", attempt{existing: group, patch: `spec: {minResources: {cpu: "1e1.5"}}`})),
		Entry("a quantity that takes minutes to read", nobody("the quantity 1e-100000000 of memory", attempt{existing: group, patch: `spec: {minResources: {cpu: 1, memory: "1e-100000000"}}`})),
		Entry("a minimum", nobody("PodGroup existing has the number 99999999999, which Volcano cannot read", attempt{existing: group, patch: "spec: {minMember: 99999999999}"})),
		Entry("a minimum of a task", nobody("the number 2147483648", attempt{existing: group, patch: "spec: {minTaskMember: {a: 1, b: 2147483648}}"})),
		Entry("a size of subgroups", nobody("the number 2147483648", attempt{existing: group, patch: "spec: {subGroupPolicy: [{name: a, subGroupSize: 2147483648}]}"})),
		Entry("a minimum in a namespace that is not guarded", nobody("the number 2147483648", attempt{existing: group, patch: "spec: {minMember: 2147483648}", namespace: "default"})),
		Entry("a new PodGroup", nobody("PodGroup attempt has the number 2147483648", attempt{create: "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nspec: {minMember: 2147483648}"})),
		Entry("a priority of a queue", nobody("Queue attempt has the number 2147483648", attempt{create: queue + "{priority: 2147483648}"})),
		Entry("a capability", nobody("Queue attempt has the quantity 1e1.5 of memory", attempt{create: queue + `{capability: {memory: "1e1.5"}}`})),
		Entry("a guarantee", nobody("the quantity 1E-100 of cpu", attempt{create: queue + `{guarantee: {resource: {cpu: "1E-100"}}}`})),
		Entry("every form of a quantity, in a queue", judged{attempt{create: queue +
			`{capability: {cpu: 1, memory: "1.5Gi", a.com/a: 1e3, a.com/b: "1E3", a.com/c: ".5", a.com/d: "5.", a.com/e: "+100m", a.com/f: "12e-3"}}`}, []string{administrator}, nil}),
		Entry("the largest number", everybody(attempt{existing: group, patch: "spec: {minMember: 2147483647, minTaskMember: {a: 1}, minResources: {cpu: 100n}}"})),
	)
}
