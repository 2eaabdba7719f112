// SPDX-License-Identifier: Apache-2.0

package card

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Annotations about cards that users write.
const (
	// NameAnnotation on a pod lists the cards that the pod may get, the preferred one first: A|B|C. On a
	// DeviceClass it is the card name of the class's devices.
	NameAnnotation = "volcano.sh/card.name"
	// RequestAnnotation on a PodGroup is the minimum number of cards of a job whose pods do not exist yet:
	// a JSON object of card names, or of alternatives separated by |, and whole numbers. Volcano copies
	// the annotation from a Job to its PodGroup.
	RequestAnnotation = "volcano.sh/card.request"
)

// Users write annotations of up to 256 KiB. The scheduler parses them in every cycle that counts their pods anew.
const (
	// MaxAlternatives is how many cards a pod or an entry of a request may choose among.
	MaxAlternatives = 64
	// maxNames is the maximum length of a list of names, in bytes.
	maxNames = 8 << 10
	// maxNumbers is the maximum number of entries in a quota or a request.
	maxNumbers = 4096
	// MaxRequests is how many entries a request may have. The cards of a job are divided among its entries in every cycle in which
	// the job waits.
	MaxRequests = 64
)

const alternativeSeparator = "|"

// Names parses a NameAnnotation. It returns every name once, in the order of the text. The error names the position of
// the mistake, or the exceeded maximum.
func Names(text string) ([]string, error) {
	if len(text) > maxNames {
		return nil, fmt.Errorf("at character %d: it has %d characters, but at most %d are allowed: name fewer cards", maxNames, len(text), maxNames)
	}
	var names []string
	position := 0
	for name := range strings.SplitSeq(text, alternativeSeparator) {
		if name == "" || strings.ContainsFunc(name, isSpace) {
			return nil, fmt.Errorf("at character %d: %q is not a card name; write one name, or several with | between them and no spaces, such as NVIDIA-H100-80GB|NVIDIA-H20",
				position, name)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if len(names) > MaxAlternatives {
			return nil, fmt.Errorf("at character %d: it names more than %d cards: name fewer", position, MaxAlternatives)
		}
		position += len(name) + len(alternativeSeparator)
	}
	return names, nil
}

func isSpace(r rune) bool {
	return strings.ContainsRune(" \t\r\n", r)
}

// Number is an entry of a JSON object of cards: a quota or a request.
type Number struct {
	// Card is a card name. In requests, it may also be several alternatives, separated by |.
	Card string
	// Count is a number of cards, at least zero.
	Count int64
}

// Request is an entry of a RequestAnnotation: a number of cards, each with the same alternatives.
type Request struct {
	Number
	// Among lists the names of the alternative cards, preferred first.
	Among []string
}

// Requests parses a RequestAnnotation. The error names the annotation and the position of the mistake.
func Requests(text string) ([]Request, error) {
	numbers, err := Numbers(text)
	if err != nil {
		return nil, fmt.Errorf("its annotation %s is wrong %w", RequestAnnotation, err)
	}
	if len(numbers) > MaxRequests {
		return nil, fmt.Errorf("its annotation %s has %d entries, but at most %d are allowed: ask for fewer kinds of cards in one job", RequestAnnotation, len(numbers), MaxRequests)
	}
	requests := make([]Request, len(numbers))
	for i, n := range numbers {
		names, err := Names(n.Card)
		if err != nil {
			return nil, fmt.Errorf("its annotation %s is wrong in %q: %w", RequestAnnotation, n.Card, err)
		}
		requests[i] = Request{n, names}
	}
	return requests, nil
}

// Numbers parses a JSON object of card names and whole numbers from zero to the largest int64. It returns the entries in
// the order of the text. An empty object gives an empty list that is not nil. The error names the position of the mistake.
func Numbers(text string) ([]Number, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	numbers, err := readNumbers(d)
	if err != nil {
		return nil, fmt.Errorf("at character %d: %w; write a JSON object of card names and whole numbers, such as {\"NVIDIA-H200\": 8}", d.InputOffset(), err)
	}
	return numbers, nil
}

// readNumbers reads token by token, because encoding/json accepts duplicate keys.
func readNumbers(d *json.Decoder) ([]Number, error) {
	numbers, listed := []Number{}, map[string]bool{}
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.Join(notJSON(err), errors.New("it is not an object"))
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		card := token.(string) // keys of a JSON object are strings
		if card == "" || strings.ContainsFunc(card, isSpace) {
			return nil, fmt.Errorf("%q is not a card name", card)
		}
		if listed[card] {
			return nil, fmt.Errorf("%s is listed twice", card)
		}
		if listed[card] = true; len(listed) > maxNumbers {
			return nil, fmt.Errorf("it has more than %d entries", maxNumbers)
		}
		count, err := readCount(d, card)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, Number{Card: card, Count: count})
	}
	if _, err := d.Token(); err != nil {
		return nil, notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after the object")
	}
	return numbers, nil
}

func readCount(d *json.Decoder, card string) (int64, error) {
	token, err := d.Token()
	if err != nil {
		return 0, notJSON(err)
	}
	value, isNumber := token.(json.Number)
	if !isNumber {
		return 0, fmt.Errorf("the value of %s is not a number", card)
	}
	count, err := value.Int64()
	if err != nil || count < 0 {
		return 0, fmt.Errorf("%s for %s is not a whole number from 0 to 9223372036854775807", value, card)
	}
	return count, nil
}

func notJSON(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("it is not JSON: %w", err)
}
