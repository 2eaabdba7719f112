// SPDX-License-Identifier: Apache-2.0

package card

import (
	"fmt"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for _, c := range []struct{ name, text, want, wantErr string }{
		{name: "one card", text: "NVIDIA-H20/mps-96g*1/2", want: "NVIDIA-H20/mps-96g*1/2"},
		{name: "several, the preferred one first", text: "B|A|C", want: "B A C"},
		{name: "a repeated name counts once", text: "B|A|B", want: "B A"},
		{name: "empty", text: "", wantErr: `at character 0: "" is not a card name; write one name, or several with | between them and no spaces, such as NVIDIA-H100-80GB|NVIDIA-H20`},
		{name: "an empty name in the middle", text: "A||B", wantErr: `at character 2: "" is not a card name`},
		{name: "an empty name at the end", text: "A|", wantErr: `at character 2: "" is not a card name`},
		{name: "a space", text: "A| B", wantErr: `at character 2: " B" is not a card name`},
		{name: "the most names", text: many(64, "|"), want: many(64, " ")},
		{name: "a name too many", text: many(65, "|"), wantErr: "at character 246: it names more than 64 cards: name fewer"},
		{name: "a text that is too long", text: strings.Repeat("A", 8<<10+1), wantErr: "at character 8192: it has 8193 characters, but at most 8192 are allowed: name fewer cards"},
	} {
		t.Run(c.name, func(t *testing.T) {
			names, err := Names(c.text)
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if (err != nil || c.wantErr != "") && (err == nil || !strings.HasPrefix(err.Error(), c.wantErr)) {
				t.Errorf("error %v, want %s", err, c.wantErr)
			}
		})
	}
}

func many(n int, separator string) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("A", i)
	}
	return strings.Join(names, separator)
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ name, text, want, wantErr string }{
		{name: "an empty object", text: "{}"},
		{name: "models and shares, in the order of the text", text: `{"NVIDIA-H800/mps-80g*1/2": 0, "A|B": 6}`, want: "NVIDIA-H800/mps-80g*1/2:0 A|B:6"},
		{name: "the largest number", text: `{"A": 9223372036854775807}`, want: "A:9223372036854775807"},
		{name: "an empty text", text: "", wantErr: "at character 0: it is not JSON: EOF"},
		{name: "not JSON", text: "H200=8", wantErr: "at character 0: it is not JSON"},
		{name: "cut off", text: `{"A": 8`, wantErr: "at character 7: it is not JSON: EOF"},
		{name: "not an object", text: `["A"]`, wantErr: "at character 1: it is not an object"},
		{name: "negative", text: `{"A": -1}`, wantErr: "at character 8: -1 for A is not a whole number from 0 to 9223372036854775807; write a JSON object of card names and whole numbers, such as {\"NVIDIA-H200\": 8}"},
		{name: "a fraction", text: `{"A": 1.5}`, wantErr: "at character 9: 1.5 for A is not a whole number"},
		{name: "a string", text: `{"A": "8"}`, wantErr: "at character 9: the value of A is not a number"},
		{name: "an object inside", text: `{"A": {}}`, wantErr: "at character 7: the value of A is not a number"},
		{name: "too large", text: `{"A": 9223372036854775808}`, wantErr: "at character 25: 9223372036854775808 for A is not a whole number"},
		{name: "a name twice", text: `{"A": 1, "A": 2}`, wantErr: "at character 12: A is listed twice"},
		{name: "too many entries", text: `{"` + many(4097, `": 1, "`) + `": 1}`, wantErr: "at character 48050: it has more than 4096 entries"},
		{name: "an empty name", text: `{"": 1}`, wantErr: `at character 3: "" is not a card name`},
		{name: "a space", text: `{"A B": 1}`, wantErr: `at character 6: "A B" is not a card name`},
		{name: "text after the object", text: `{"A": 1} x`, wantErr: "at character 9: there is text after the object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			numbers, err := Numbers(c.text)
			var got []string
			for _, n := range numbers {
				got = append(got, fmt.Sprintf("%s:%d", n.Card, n.Count))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
			if err == nil && (numbers == nil || c.wantErr != "") || err != nil && (c.wantErr == "" || !strings.Contains(err.Error(), c.wantErr)) {
				t.Errorf("got %v with error %v, want %q", numbers, err, c.wantErr)
			}
		})
	}
}

// FuzzAnnotations checks that every text is either parsed or refused with a position. It also checks that parsing
// returns only cards in the text.
func FuzzAnnotations(f *testing.F) {
	for _, text := range []string{"", "A|B", `{"A": 1}`, `{"A|B": 2, "C": 0}`, `{"A": 1e3}`, "{}{}", "\x00|\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if names, err := Names(text); err == nil {
			for _, name := range names {
				if name == "" || !strings.Contains(text, name) {
					t.Errorf("%q has name %q", text, name)
				}
			}
		} else if !strings.Contains(err.Error(), "at character ") {
			t.Errorf("%q: %v", text, err)
		}
		numbers, err := Numbers(text)
		if err != nil && !strings.Contains(err.Error(), "at character ") {
			t.Errorf("%q: %v", text, err)
		}
		for _, n := range numbers {
			if n.Card == "" || n.Count < 0 {
				t.Errorf("%q has %v", text, n)
			}
		}
	})
}
