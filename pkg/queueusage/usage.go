// SPDX-License-Identifier: Apache-2.0

package queueusage

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Usage is the text that `kubectl get queue` shows for a queue. Each field is empty if the queue neither uses nor limits any.
type Usage struct {
	Devices, Cards string
}

// Entry describes one dimension of a queue.
type Entry struct {
	Dimension ledger.Dimension
	// Used is the amount in use. Waiting is the amount that pods and jobs wait for in addition, if greater than zero. Either is what others
	// wait for that accept other dimensions as well.
	Used, Waiting, Either ledger.Amount
	// Limit is the amount that the queue can have.
	Limit ledger.Limit
	// Listed says that the queue itself limits the dimension, deserves some of it, or has a guarantee.
	Listed bool
}

// columns maps kinds to columns.
var columns = map[ledger.Kind]string{ledger.Resource: "", ledger.Card: "cards", ledger.DeviceCount: "devices", ledger.DeviceCapacity: ""}

// Of returns the usage of a queue. It uses only entries of devices and cards.
func Of(entries []Entry) Usage {
	texts := map[string][]string{}
	for i := range entries {
		e := &entries[i]
		column, known := columns[e.Dimension.Kind]
		if !known {
			klog.ErrorS(nil, "No column of a queue has such dimensions", "kind", e.Dimension.Kind, "dimension", e.Dimension)
		} else if column != "" {
			texts[column] = e.appendTo(texts[column])
		}
	}
	return Usage{Devices: list(texts["devices"]), Cards: list(texts["cards"])}
}

// appendTo appends, for example, "nvidia-h100 6/8 (2 waiting, either: 4)".
func (e *Entry) appendTo(texts []string) []string {
	var waiting []string
	if e.Waiting.Sign() > 0 {
		waiting = append(waiting, e.Dimension.Format(e.Waiting)+" waiting")
	}
	if e.Either.Sign() > 0 {
		waiting = append(waiting, "either: "+e.Dimension.Format(e.Either))
	}
	if e.Used.Sign() == 0 && len(waiting) == 0 && !e.Listed {
		return texts
	}
	text := e.Dimension.Name + " " + e.Dimension.Format(e.Used)
	if e.Limit.Set {
		text += "/" + e.Dimension.Format(e.Limit.Amount)
	}
	if len(waiting) > 0 {
		text += " (" + strings.Join(waiting, ", ") + ")"
	}
	return append(texts, text)
}

// maxListed is the maximum number of classes or cards in a column.
const maxListed = 5

func list(texts []string) string {
	slices.Sort(texts)
	if more := len(texts) - maxListed; more > 0 {
		texts = append(texts[:maxListed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}
