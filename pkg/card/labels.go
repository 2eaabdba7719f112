// SPDX-License-Identifier: Apache-2.0

package card

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Labels of nodes that describe cards: the suffixes, which follow the resource.
const (
	// productLabel is the model of the cards.
	productLabel = ".product"
	// countLabel is the number of cards on the node.
	countLabel = ".count"
	// memoryLabel is the memory of a card in MiB.
	memoryLabel = ".memory"
	// replicasLabel is the number of shares of a card.
	replicasLabel = ".replicas"
)

// labels holds the values of the node labels that describe cards: <vendor>/<kind>.product, .memory, .replicas and .count.
type labels struct {
	vendor, kind string
	model        string
	// memory is the memory of a card in MiB. replicas is the number of shares of a card. Both are zero without a label.
	memory, replicas int64
}

func (l labels) key(ending string) string {
	return l.vendor + "/" + l.kind + ending
}

// readLabels returns the card labels of a node. The model is empty if the node has no cards or its labels are
// ambiguous. The problems describe mistakes in the labels.
func readLabels(all map[string]string) (labels, []string) {
	var products []string
	for key, value := range all {
		vendor, kind, ok := product(key)
		if _, share := schemeOf(vendor, kind); ok && !share && value != "" {
			products = append(products, key)
		}
	}
	if len(products) == 0 {
		return labels{}, nil
	}
	slices.Sort(products)
	for _, key := range products[1:] {
		if all[key] != all[products[0]] {
			return labels{}, []string{fmt.Sprintf("it has two card models, %s (label %s) and %s (label %s): remove one of the labels",
				all[products[0]], products[0], all[key], key)}
		}
	}
	l := labels{model: all[products[0]]}
	l.vendor, l.kind, _ = product(products[0])
	var problems []string
	for ending, into := range map[string]*int64{memoryLabel: &l.memory, replicasLabel: &l.replicas, countLabel: nil} {
		text, carries := all[l.key(ending)]
		if !carries {
			continue
		}
		number, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil || number < 0 || number == 0 && into != nil:
			problems = append(problems, fmt.Sprintf("its label %s is %q: write a whole number%s", l.key(ending), text, unitOf[ending]))
		case into != nil:
			*into = number
		}
	}
	slices.Sort(problems)
	return l, problems
}

var unitOf = map[string]string{
	memoryLabel:   " of MiB, such as 81559",
	replicasLabel: " of shares of a card, such as 2",
	countLabel:    " of cards, such as 8",
}

// product splits a label <vendor>/<kind>.product.
func product(key string) (vendor, kind string, ok bool) {
	vendor, rest, found := strings.Cut(key, "/")
	kind, ok = strings.CutSuffix(rest, productLabel)
	return vendor, kind, found && ok && kind != ""
}
