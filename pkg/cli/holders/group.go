// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"slices"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// group has the pods of one workload that hold something in the same way.
type group struct {
	v1alpha1.Holder // the pod that has held it longest, with the sums of all
	pods            int
}

// byWorkload groups the holders of one workload. The groups stay in the order of their first holders.
func byWorkload(items []v1alpha1.Holder) []group {
	var groups []group
	for i := range items {
		h := &items[i]
		same := func(g group) bool {
			return h.Kind == "Pod" && g.Kind == h.Kind && g.Namespace == h.Namespace && g.Workload == h.Workload && (h.Workload != "" || h.Name == "" && g.Name == "") &&
				g.Queue == h.Queue && g.State == h.State && g.Borrows == h.Borrows
		}
		at := slices.IndexFunc(groups, same)
		if at < 0 {
			groups = append(groups, group{*h.DeepCopy(), 1})
			continue
		}
		into := &groups[at]
		into.pods++
		into.Charged, into.Shares = sum(into.Charged, h.Charged), sum(into.Shares, h.Shares)
		if into.Node != h.Node {
			into.Node = ""
		}
	}
	return groups
}

// sum adds amounts to a list.
func sum(to, amounts []v1alpha1.Amount) []v1alpha1.Amount {
	for _, a := range amounts {
		at := slices.IndexFunc(to, func(b v1alpha1.Amount) bool { return a.Dimension == b.Dimension })
		if at < 0 {
			to = append(to, *a.DeepCopy())
			continue
		}
		to[at].Amount.Add(a.Amount)
	}
	return to
}
