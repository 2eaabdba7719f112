// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// at returns a time a number of seconds after a fixed time.
func at(seconds int) metav1.Time {
	return metav1.NewTime(time.Unix(1_800_000_000+int64(seconds), 0))
}

func resource(name string) ledger.Dimension { return ledger.Dimension{Name: name} }

func TestTheAnnotationOfAGrant(t *testing.T) {
	g := &Grant{Queue: "team", Group: "together", Time: metav1.NewTime(time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)), Decided: metav1.NewTime(time.Date(2027, 1, 15, 9, 0, 0, 0, time.UTC)), Amounts: []Amount{
		{resource("cpu"), mustAmount(t, "2500000000")},
		{ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "gpu", Capacity: "memory"}, ledger.Units(80 << 30)},
	}}
	const want = `{"queue":"team","group":"together","time":"2027-01-15T08:00:00Z","decided":"2027-01-15T09:00:00Z","amounts":[{"kind":"Resource","name":"cpu","amount":"2.5"},` +
		`{"kind":"DeviceCapacity","name":"gpu","capacity":"memory","amount":"85899345920"}]}`
	if got := g.Annotation(); got != want {
		t.Errorf("got %s", got)
	}
	got, err := ParseGrant(want)
	if err != nil || got.Annotation() != want || !got.Time.Equal(&g.Time) || !got.Decided.Equal(&g.Decided) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err = ParseGrant(`{"queue":"team","time":"2027-01-15T08:00:00Z"}`); err != nil || !got.Decided.Equal(&g.Time) {
		t.Errorf("a grant that does not say when it was decided: got %+v, %v", got, err)
	}
}

// TestAReasonOfAnyLengthIsWritten: the API server refuses annotations of more than 256 KiB, and the grant would not end.
func TestAReasonOfAnyLengthIsWritten(t *testing.T) {
	text := (&Requeue{Attempts: 1, Reason: strings.Repeat("\"é", 100_000)}).Annotation()
	if r, err := ParseRequeue(text); err != nil || len(text) > 10_000 || !strings.HasPrefix(r.Reason, `"é"é`) || !strings.HasSuffix(r.Reason, " ...") {
		t.Errorf("%d bytes are written, and read as %.20q, %v", len(text), r.Reason, err)
	}
}

// mustAmount returns an amount of billionths.
func mustAmount(t testing.TB, nano string) ledger.Amount {
	t.Helper()
	n, _ := new(big.Int).SetString(nano, 10)
	a, err := ledger.FromNano(n)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestGrantsAreReadAsTheyWereWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	largest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1)).String()
	for range 300 {
		g := &Grant{Queue: "q", Time: at(random.IntN(1e6))}
		for i := range random.IntN(6) {
			d := ledger.Dimension{Kind: ledger.Kind(random.IntN(4)), Name: fmt.Sprintf("n%d.example.com/\"é|", i)}
			if d.Kind == ledger.DeviceCapacity {
				d.Capacity = "memory"
			}
			n := new(big.Int).SetUint64(random.Uint64())
			n.Lsh(n, uint(random.IntN(63))).Add(n, big.NewInt(1))
			nano := []string{n.String(), largest, "1", "1000000000"}[random.IntN(4)]
			g.Amounts = append(g.Amounts, Amount{d, mustAmount(t, nano)})
		}
		random.Shuffle(len(g.Amounts), func(i, j int) { g.Amounts[i], g.Amounts[j] = g.Amounts[j], g.Amounts[i] })
		got, err := ParseGrant(g.Annotation())
		if err != nil || got.Queue != g.Queue || !got.Time.Equal(&g.Time) || len(got.Amounts) != len(g.Amounts) {
			t.Fatalf("%s: got %+v, %v", g.Annotation(), got, err)
		}
		if want := NormalAmounts(g.Amounts); len(want) > 0 && !reflect.DeepEqual(got.Amounts, want) {
			t.Fatalf("got %v, want %v", got.Amounts, want)
		}
	}
}

// TestOneCopyOfAGrant: a grant without copies has one, which has its amounts.
func TestOneCopyOfAGrant(t *testing.T) {
	amounts := func(nano string) []Amount {
		return []Amount{{ledger.Dimension{Kind: ledger.Resource, Name: "cpu"}, mustAmount(t, nano)}}
	}
	for _, g := range []*Grant{{Amounts: amounts("6")}, {Amounts: amounts("6"), Copies: 1, Copy: amounts("6")}, {Amounts: amounts("18"), Copies: 3, Copy: amounts("6")}} {
		g.Queue = "q"
		got, err := ParseGrant(g.Annotation())
		if err != nil || !reflect.DeepEqual(got.OneCopy(), amounts("6")) || !reflect.DeepEqual(got.Amounts, g.Amounts) || max(1, got.Copies) != max(1, g.Copies) {
			t.Errorf("%s: got %+v, %v", g.Annotation(), got, err)
		}
	}
}

func TestAGrantThatIsWrong(t *testing.T) {
	grant := func(amounts string) string { return `{"queue":"q","amounts":[` + amounts + `]}` }
	cpu := func(amount string) string { return grant(`{"kind":"Resource","name":"cpu","amount":"` + amount + `"}`) }
	for text, want := range map[string]string{
		``: "unexpected end of JSON input", `[]`: "cannot unmarshal array", `{}`: "queue is empty",
		`{"queue":"q","copies":-1}`:                                                              "copies is -1: it must not be negative",
		`{"queue":"q","time":"soon"}`:                                                            "cannot parse",
		grant(`{"kind":"Energy","name":"x"}`):                                                    `"Energy" is no kind of a dimension`,
		grant(`{"kind":"Card","amount":"1"}`):                                                    "a dimension of kind Card has no name",
		grant(`{"kind":"Card","name":"A","amount":1}`):                                           "cannot unmarshal number",
		grant(`{"kind":"DeviceCapacity","name":"gpu"}`):                                          `DeviceCapacity gpu has capacity "": a DeviceCapacity names one, and nothing else does`,
		grant(`{"kind":"Card","name":"A","capacity":"memory","amount":"1"}`):                     `Card A has capacity "memory"`,
		grant(`{"kind":"Card","name":"A","amount":"1"},{"kind":"Card","name":"A","amount":"2"}`): "Card A occurs twice",
		cpu("-1"): "the amount of cpu is -1: it must not be negative", cpu("-0.000000001"): "the amount of cpu is -0.000000001: it must not be negative",
		cpu(""): `the amount of cpu: "" is no decimal number of at most 9 decimals`, cpu("1e3"): `"1e3" is no decimal`, cpu("0x1"): `"0x1" is no decimal`,
		cpu("1."): `"1." is no decimal`, cpu(".1"): `".1" is no decimal`, cpu("--1"): `"--1" is no decimal`, cpu("-"): `"-" is no decimal`, cpu("1.-1"): `"1.-1" is no decimal`,
		cpu("0.0000000001"): "is no decimal number of at most 9 decimals", cpu(strings.Repeat("9", 40)): "amount overflows the ledger", cpu(strings.Repeat("9", 65)): "is no decimal",
	} {
		if g, err := ParseGrant(text); g != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v, want %s", text, g, err, want)
		}
	}
}

func TestAHoldOrARequeueThatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		`x`: "invalid character", `{}`: `reason "" is none of ["Waiting" "Growing" "Returning"]`, `{"reason":"Resting"}`: `reason "Resting" is none of`,
		`{"reason":"Waiting","dispatching":"yes"}`: "cannot unmarshal string",
	} {
		if h, err := ParseHold(text); h != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v, want %s", text, h, err, want)
		}
	}
	for text, want := range map[string]string{
		`x`: "invalid character", `{"attempts":-1}`: "attempts is -1: it must not be negative", `{"attempts":1.5}`: "cannot unmarshal number", `{"notBefore":5}`: "cannot unmarshal number",
	} {
		if r, err := ParseRequeue(text); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v, want %s", text, r, err, want)
		}
	}
}

func TestHoldsAndRequeuesAreReadAsTheyWereWritten(t *testing.T) {
	for _, reason := range []Reason{Waiting, Growing, Returning} {
		want := &Hold{Reason: reason, Queue: "q", Dispatching: true}
		if got, err := ParseHold(want.Annotation()); err != nil || *got != *want {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	want := &Requeue{Attempts: 3, NotBefore: at(5), Reason: "no cluster <fits> \"it\""}
	if got, err := ParseRequeue(want.Annotation()); err != nil || got.Attempts != 3 || !got.NotBefore.Equal(&want.NotBefore) || got.Reason != want.Reason {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestNamesThatUsersWriteLeaveRoom: if the annotations become too long, the API server refuses to take a grant back.
func TestNamesThatUsersWriteLeaveRoom(t *testing.T) {
	long := strings.Repeat("\u00e9", 50_000)
	hold := &Hold{Reason: Growing, Queue: long}
	read, err := ParseHold(hold.Annotation())
	if err != nil || len(hold.Annotation()) > 1000 || len(read.Queue) <= 253 {
		t.Errorf("a hold has %d bytes, and a queue of %d, which must not exist: %v", len(hold.Annotation()), len(read.Queue), err)
	}
	if again := read.Annotation(); again != hold.Annotation() {
		t.Errorf("a hold becomes %s when it is written again", again)
	}
	grant := &Grant{Queue: "team", Group: long}
	if text := grant.Annotation(); len(text) > 1000 || strings.Contains(text, `"group"`) {
		t.Errorf("a grant has %d bytes", len(text))
	}
}
