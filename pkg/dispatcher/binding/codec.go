// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// ParseHold reads a HoldAnnotation. The error says what is wrong with it.
func ParseHold(text string) (*Hold, error) {
	h := &Hold{}
	if err := json.Unmarshal([]byte(text), h); err != nil {
		return nil, err
	}
	if known := []Reason{Waiting, Growing, Returning}; !slices.Contains(known, h.Reason) {
		return nil, fmt.Errorf("reason %q is none of %q", h.Reason, known)
	}
	return h, nil
}

// ParseGrant reads a GrantAnnotation. The error says what is wrong with it.
func ParseGrant(text string) (*Grant, error) {
	g := &Grant{}
	if err := json.Unmarshal([]byte(text), g); err != nil {
		return nil, err
	}
	if g.Grace < 0 {
		return nil, fmt.Errorf("grace is %d: it must not be negative", g.Grace)
	}
	if g.Copies < 0 {
		return nil, fmt.Errorf("copies is %d: it must not be negative", g.Copies)
	}
	if g.Queue == "" {
		return nil, errors.New("queue is empty")
	}
	amounts := NormalAmounts(g.Amounts)
	for i, a := range amounts {
		if a.Amount.Sign() < 0 {
			return nil, fmt.Errorf("the amount of %s is %s: it must not be negative", a.Dimension, a.Amount)
		}
		if i > 0 && a.Dimension == amounts[i-1].Dimension {
			return nil, fmt.Errorf("%s %s occurs twice", a.Dimension.Kind, a.Dimension)
		}
	}
	g.Amounts, g.Pod, g.Copy, g.Copies = amounts, NormalAmounts(g.Pod), NormalAmounts(g.Copy), max(1, g.Copies)
	if g.Decided.IsZero() {
		g.Decided = g.Time
	}
	return g, nil
}

// ParseRequeue reads a RequeueAnnotation. The error says what is wrong with it.
func ParseRequeue(text string) (*Requeue, error) {
	r := &Requeue{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, err
	}
	if r.Attempts < 0 {
		return nil, fmt.Errorf("attempts is %d: it must not be negative", r.Attempts)
	}
	return r, nil
}

// NormalAmounts returns the amounts that are not zero, in the order of a Grant.
func NormalAmounts(amounts []Amount) []Amount {
	normal := slices.DeleteFunc(slices.Clone(amounts), func(a Amount) bool { return a.Amount == ledger.Amount{} })
	slices.SortFunc(normal, func(a, b Amount) int {
		x, y := a.Dimension, b.Dimension
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Capacity, y.Capacity), cmp.Compare(x.Kind, y.Kind))
	})
	return normal
}

// longestName is the maximum length of an object's name in bytes. Users may write a quarter of a megabyte instead, which would
// leave no room for other annotations.
const longestName = 253

// Annotation returns the text of a HoldAnnotation. It shortens the name of a queue that is too long to exist.
func (h *Hold) Annotation() string {
	const more = "..."
	bounded := *h
	if len(h.Queue) > longestName+len(more) { // a shortened name stays as it is
		bounded.Queue = strings.ToValidUTF8(h.Queue[:longestName], "") + more
	}
	return encode(bounded)
}

// Annotation returns the text of a GrantAnnotation.
func (g *Grant) Annotation() string {
	normal := *g
	normal.Amounts, normal.Pod, normal.Copy = NormalAmounts(g.Amounts), NormalAmounts(g.Pod), NormalAmounts(g.Copy)
	if g.Copies <= 1 {
		normal.Copies, normal.Copy = 0, nil
	}
	if len(g.Group) > longestName {
		normal.Group = "" // no PodGroup has a name that long
	}
	return encode(normal)
}

// maxReason bounds the reason in a RequeueAnnotation, in bytes. The reason has Karmada's message for each cluster. The API server
// rejects annotations of more than 256 KiB, and the grant would never end.
const maxReason = 4096

// Annotation returns the text of a RequeueAnnotation.
func (r *Requeue) Annotation() string {
	bounded := *r
	if len(r.Reason) > maxReason {
		bounded.Reason = strings.ToValidUTF8(r.Reason[:maxReason], "") + " ..."
	}
	return encode(bounded)
}

func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the types above have only fields that JSON supports
	}
	return string(text)
}

// amount is an Amount in an annotation.
type amount struct {
	ledger.Key
	// Amount is a decimal number, which is exact.
	Amount string `json:"amount"`
}

// MarshalJSON implements json.Marshaler.
func (a Amount) MarshalJSON() ([]byte, error) {
	return json.Marshal(amount{a.Dimension.Key(), a.Amount.String()})
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *Amount) UnmarshalJSON(text []byte) error {
	var written amount
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	d, err := ledger.ParseKey(written.Key)
	if err != nil {
		return err
	}
	value, err := parseAmount(written.Amount)
	if err != nil {
		return fmt.Errorf("the amount of %s: %w", d, err)
	}
	a.Dimension, a.Amount = d, value
	return nil
}

// parseAmount reads what Amount.String writes.
func parseAmount(text string) (ledger.Amount, error) {
	const longest, decimals = 64, 9
	whole, fraction, point := strings.Cut(text, ".")
	digits := strings.TrimPrefix(whole, "-") + fraction
	if len(text) > longest || whole == "" || whole == "-" || point && fraction == "" || len(fraction) > decimals ||
		strings.Trim(digits, "0123456789") != "" {
		return ledger.Amount{}, fmt.Errorf("%.70q is no decimal number of at most %d decimals", text, decimals)
	}
	unscaled, _ := new(big.Int).SetString(digits, 10)
	if strings.HasPrefix(whole, "-") {
		unscaled.Neg(unscaled)
	}
	return ledger.FromDecimal(unscaled, int32(len(fraction)))
}
