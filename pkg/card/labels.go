package card

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What follows the type of card in the labels of a node.
const (
	productLabel  = ".product"
	countLabel    = ".count"
	memoryLabel   = ".memory"
	replicasLabel = ".replicas"
)

// labels is what the labels of a node say of its cards, as <vendor>/<kind>.product and its
// companions.
type labels struct {
	vendor, kind string
	model        string
	// memory is that of a card in MiB, replicas how many share a card; zero where no label says so.
	memory, replicas int64
}

// key is the label with that ending.
func (l labels) key(ending string) string {
	return l.vendor + "/" + l.kind + ending
}

// readLabels returns a model of "" for a node that has no cards, or whose model cannot be told. The
// problems say what is wrong.
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
			return labels{}, []string{fmt.Sprintf("it carries two card models, %s (label %s) and %s (label %s): remove one of the labels",
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

// product takes a label apart that says which product a card is.
func product(key string) (vendor, kind string, ok bool) {
	vendor, rest, found := strings.Cut(key, "/")
	kind, ok = strings.CutSuffix(rest, productLabel)
	return vendor, kind, found && ok && kind != ""
}
