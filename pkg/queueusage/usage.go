// SPDX-License-Identifier: Apache-2.0

package queueusage

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Usage is what `kubectl get queue` shows of a queue. Both are empty if the queue neither uses nor limits any.
type Usage struct {
	Devices, Cards string
}

// Entry is what a queue has of one dimension.
type Entry struct {
	Dimension ledger.Dimension
	// Used is in use, Waiting is what is waited for besides. If that is not more than zero, nobody waits.
	Used, Waiting ledger.Amount
	// Limit is what the queue can have.
	Limit ledger.Limit
	// Listed says that the queue itself limits the dimension, or is owed some of it.
	Listed bool
}

// columns has the column of each kind.
var columns = map[ledger.Kind]string{ledger.Resource: "", ledger.Card: "cards", ledger.DeviceCount: "devices", ledger.DeviceCapacity: ""}

// Of returns the usage of a queue. Of the entries, devices and cards count.
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

// appendTo appends, for example, "nvidia-h100 6/8 (2 waiting)".
func (e *Entry) appendTo(texts []string) []string {
	waits := e.Waiting.Sign() > 0
	if e.Used.Sign() == 0 && !waits && !e.Listed {
		return texts
	}
	text := e.Dimension.Name + " " + e.Dimension.Format(e.Used)
	if e.Limit.Set {
		text += "/" + e.Dimension.Format(e.Limit.Amount)
	}
	if waits {
		text += fmt.Sprintf(" (%s waiting)", e.Dimension.Format(e.Waiting))
	}
	return append(texts, text)
}

// maxListed bounds how many classes or cards a column lists.
const maxListed = 5

func list(texts []string) string {
	slices.Sort(texts)
	if more := len(texts) - maxListed; more > 0 {
		texts = append(texts[:maxListed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}
