package quota

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Cards returns the most cards of each model that a queue may use, as its annotation
// volcano.sh/card.quota lists them; nil without that annotation. The error says where the
// annotation is wrong.
func Cards(queue *schedulingv1beta1.Queue, dimensions *ledger.Dimensions) (ledger.Amounts, error) {
	text, carries := queue.Annotations[schedulingv1beta1.CardQuotaAnnotation]
	if !carries {
		return nil, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	cards, err := readCards(d, dimensions)
	if err != nil {
		return nil, fmt.Errorf("its annotation %s is wrong at character %d: %w; write a JSON object of card names and whole numbers, such as {\"NVIDIA-H200\": 8}",
			schedulingv1beta1.CardQuotaAnnotation, d.InputOffset(), err)
	}
	slices.SortFunc(cards, func(a, b ledger.Entry) int { return int(a.Dimension - b.Dimension) })
	return cards, nil
}

// readCards reads token by token, because the package json takes a key that occurs twice.
func readCards(d *json.Decoder, dimensions *ledger.Dimensions) (ledger.Amounts, error) {
	cards := ledger.Amounts{}
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.Join(notJSON(err), errors.New("it is no object"))
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		card := token.(string) // the decoder takes nothing else for a key
		if strings.TrimSpace(card) != card || card == "" {
			return nil, fmt.Errorf("%q is no card name", card)
		}
		number, err := d.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		value, isNumber := number.(json.Number)
		if !isNumber {
			return nil, fmt.Errorf("what is written for %s is no number", card)
		}
		count, err := value.Int64()
		if err != nil || count < 0 {
			return nil, fmt.Errorf("%s for %s is no whole number from 0 to 9223372036854775807", value, card)
		}
		o := dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: card})
		if slices.ContainsFunc(cards, func(e ledger.Entry) bool { return e.Dimension == o }) {
			return nil, fmt.Errorf("%s is listed twice", card)
		}
		cards = append(cards, ledger.Entry{Dimension: o, Amount: ledger.Units(count)})
	}
	if _, err := d.Token(); err != nil {
		return nil, notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return cards, nil
}

func notJSON(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("it is no JSON: %w", err)
}
