package card

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	// NameAnnotation on a pod says which cards it may get, the preferred one first: A|B|C. It may
	// also stand on a DeviceClass, whose devices then are cards of that name.
	NameAnnotation = "volcano.sh/card.name"
	// RequestAnnotation on a PodGroup says how many cards a job needs at least, for jobs whose pods do
	// not exist yet: a JSON object of card names, or of names with | between them, and whole numbers.
	// Volcano copies it from a Job to the PodGroup.
	RequestAnnotation = "volcano.sh/card.request"
)

// alternativeSeparator stands between the names of cards of which one will do.
const alternativeSeparator = "|"

// Names reads what a pod may get, each name once. The error says where the text is wrong.
func Names(text string) ([]string, error) {
	var names []string
	position := 0
	for name := range strings.SplitSeq(text, alternativeSeparator) {
		if name == "" || strings.ContainsFunc(name, isSpace) {
			return nil, fmt.Errorf("at character %d: %q is no card name; write one name, or several with | between them and no spaces, such as NVIDIA-H100-80GB|NVIDIA-H20",
				position, name)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		position += len(name) + len(alternativeSeparator)
	}
	return names, nil
}

func isSpace(r rune) bool {
	return strings.ContainsRune(" \t\r\n", r)
}

// Number is what somebody wrote down for a card.
type Number struct {
	// Card is a name; in requests also several, with | between them.
	Card  string
	Count int64
}

// Numbers reads a JSON object of card names and whole numbers from zero to the largest int64, in
// the order in which they are written. The error says where the text is wrong.
func Numbers(text string) ([]Number, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	numbers, err := readNumbers(d)
	if err != nil {
		return nil, fmt.Errorf("at character %d: %w; write a JSON object of card names and whole numbers, such as {\"NVIDIA-H200\": 8}", d.InputOffset(), err)
	}
	return numbers, nil
}

// readNumbers reads token by token, because the package json takes a key that occurs twice.
func readNumbers(d *json.Decoder) ([]Number, error) {
	numbers := []Number{}
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.Join(notJSON(err), errors.New("it is no object"))
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		card := token.(string) // the decoder takes nothing else for a key
		if card == "" || strings.ContainsFunc(card, isSpace) {
			return nil, fmt.Errorf("%q is no card name", card)
		}
		if slices.ContainsFunc(numbers, func(n Number) bool { return n.Card == card }) {
			return nil, fmt.Errorf("%s is listed twice", card)
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
		return nil, errors.New("something follows the object")
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
		return 0, fmt.Errorf("what is written for %s is no number", card)
	}
	count, err := value.Int64()
	if err != nil || count < 0 {
		return 0, fmt.Errorf("%s for %s is no whole number from 0 to 9223372036854775807", value, card)
	}
	return count, nil
}

func notJSON(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("it is no JSON: %w", err)
}
