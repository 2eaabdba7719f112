// SPDX-License-Identifier: Apache-2.0

package members

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// figure is how much a cluster has of a dimension, and how much of that is in use.
type figure struct{ total, used ledger.Amount }

// figures has what is known of a cluster. A dimension that it lacks is one of which the cluster has nothing.
type figures map[ledger.Dimension]figure

// plus adds to the total and to what is in use. Either may be negative. What overflows is left out: nobody has it.
func (f figures) plus(d ledger.Dimension, total, used ledger.Amount) {
	was := f[d]
	if sum, err := was.total.Add(total); err == nil {
		was.total = sum
	}
	if sum, err := was.used.Add(used); err == nil {
		was.used = sum
	}
	f[d] = was
}

// resourcesOf returns the figures of a resource summary, nil without a summary. What pods ask for that have no node yet
// is in use.
func resourcesOf(summary *clusterv1alpha1.ResourceSummary) figures {
	if summary == nil {
		return nil
	}
	f := make(figures, len(summary.Allocatable))
	for name, quantity := range summary.Allocatable {
		f.plus(resourceDimension(name), amountOf(quantity), ledger.Amount{})
	}
	for _, list := range []corev1.ResourceList{summary.Allocated, summary.Allocating} {
		for name, quantity := range list {
			f.plus(resourceDimension(name), ledger.Amount{}, amountOf(quantity))
		}
	}
	return f
}

func resourceDimension(name corev1.ResourceName) ledger.Dimension {
	return ledger.Dimension{Kind: ledger.Resource, Name: string(name)}
}

// amountOf returns the amount of a quantity. What is negative or out of range is nothing.
func amountOf(quantity resource.Quantity) ledger.Amount {
	decimal := quantity.AsDec()
	amount, err := ledger.FromDecimal(decimal.UnscaledBig(), int32(decimal.Scale()))
	if err != nil || amount.Sign() < 0 {
		return ledger.Amount{}
	}
	return amount
}
