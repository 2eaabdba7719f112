// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"context"
	"slices"
)

// checks run in this order.
var checks = []func(*world){
	(*world).checkConfigurations,
	(*world).checkQueues,
	(*world).checkDeserved,
	(*world).checkHardware,
	(*world).checkCapacities,
	(*world).checkClasses,
	(*world).checkNodes,
	(*world).checkWorkloads,
}

// Run returns the findings about the objects, sorted by object.
func Run(ctx context.Context, objects *Objects) []Finding {
	w := newWorld(ctx, objects)
	for _, check := range checks {
		check(w)
	}
	slices.SortStableFunc(w.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Object.Kind, b.Object.Kind), cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(w.findings, func(a, b Finding) bool {
		return a.Rule == b.Rule && a.Object == b.Object && a.Message == b.Message
	})
}

// add adds a finding of a rule.
func (w *world) add(rule string, object Ref, field Path, message string) {
	w.findings = append(w.findings, Finding{Rule: rule, Severity: SeverityOf(rule), Object: object, Field: field, Message: message})
}
