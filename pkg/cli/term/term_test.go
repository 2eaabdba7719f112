// SPDX-License-Identifier: Apache-2.0

package term

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestABarIsAsWideAsItMustBe(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	amount := func() float64 {
		return []float64{0, -1, 1e-9, 1, 8, 1e30, random.Float64() * 100, random.ExpFloat64() * 1e12}[random.IntN(8)]
	}
	for range 20_000 {
		b := Bar{Used: amount(), Waiting: amount(), Whole: amount(), Mark: amount()}
		for _, style := range []Style{{}, {Unicode: true}} {
			columns := random.IntN(30)
			drawn := b.Draw(style, columns)
			if got := Width(drawn); got != columns {
				t.Fatalf("%+v is %d columns wide, want %d: %q", b, got, columns, drawn)
			}
			used := style.Pick("█", "#")
			if columns > 2 && b.Used > 0 && b.Mark <= 0 && !strings.Contains(drawn, used) {
				t.Fatalf("%+v does not show that something is used: %q", b, drawn)
			}
			if b.Used <= 0 && strings.Contains(drawn, used) {
				t.Fatalf("%+v shows that something is used: %q", b, drawn)
			}
		}
	}
}

func TestBarsLookLikeThis(t *testing.T) {
	for _, c := range []struct {
		name string
		Bar
		want string
	}{
		{"half is used", Bar{Used: 4, Whole: 8, Mark: -1}, "####...."},
		{"what waits comes after what is used", Bar{Used: 4, Waiting: 2, Whole: 8, Mark: -1}, "####++.."},
		{"the mark is what is deserved", Bar{Used: 2, Whole: 8, Mark: 4}, "##.|...."},
		{"a little is seen", Bar{Used: 0.001, Waiting: 0.001, Whole: 8, Mark: -1}, "#+......"},
		{"what waits is seen although everything is used", Bar{Used: 8, Waiting: 0.01, Whole: 8, Mark: -1}, "#######+"},
		{"more than the limit is a full bar", Bar{Used: 12, Whole: 8, Mark: -1}, "########"},
		{"nothing to compare with is no bar", Bar{Mark: -1}, "        "},
	} {
		if got := c.Draw(Style{}, 8); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestColumnsOfATableAlign(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	words := []string{"", "a", "推論", "ﬁn", "é", "e\u0301", "nvidia-h100", "한국어-0"}
	for range 2_000 {
		table := &Table{Columns: []Column{{Title: "FIRST"}, {Title: "SECOND", Right: true}, {Title: "LAST"}}}
		for range 1 + random.IntN(5) {
			table.Row(Cell{Text: words[random.IntN(len(words))]}, Cell{Text: words[random.IntN(len(words))], Colour: Red}, Cell{Text: "|"})
		}
		var text strings.Builder
		if err := table.Write(&text, Style{Unicode: true}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
		want := Width(lines[0]) - len("LAST")
		for _, line := range lines[1:] {
			if got := Width(line) - 1; got != want {
				t.Fatalf("the last column begins at %d and at %d:\n%s", want, got, &text)
			}
		}
	}
}

func TestATableFitsItsTerminal(t *testing.T) {
	for width := 12; width < 60; width++ {
		table := &Table{Columns: []Column{
			{Title: "NAME"}, {Title: "BAR", Min: 4, Max: 12, Drop: 2}, {Title: "NODE", Drop: 1}, {Title: "EMPTY", Optional: true}, {Title: "WHY", Cut: true},
		}}
		table.Row(Cell{Text: "a"}, Cell{Draw: Bar{Used: 1, Whole: 2}.Draw}, Cell{Text: "node"}, Cell{Text: "0"}, Cell{Text: "推論推論推論推論推論推論推論推論推論"})
		table.Line("- ", "  ", Cell{Text: "words that go on and on in further lines"})
		var text strings.Builder
		if err := table.Write(&text, Style{Unicode: true, Width: width}); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(text.String(), "\n") {
			if Width(line) > width {
				t.Errorf("a line has %d columns, the terminal %d:\n%s", Width(line), width, &text)
			}
		}
		if strings.Contains(text.String(), "EMPTY") {
			t.Errorf("a column that says nothing is shown:\n%s", &text)
		}
	}
}

func TestTheLocaleSaysWhichCharactersAreThere(t *testing.T) {
	for _, c := range []struct {
		name string
		set  map[string]string
		want bool
	}{
		{"no locale", nil, false},
		{"LANG", map[string]string{"LANG": "de_DE.UTF-8"}, true},
		{"LANG in another spelling", map[string]string{"LANG": "C.utf8"}, true},
		{"LC_ALL is stronger than LANG", map[string]string{"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, false},
		{"LC_CTYPE is stronger than LANG", map[string]string{"LC_CTYPE": "en_US.UTF-8", "LANG": "C"}, true},
	} {
		if got := utf8Locale(func(name string) string { return c.set[name] }); got != c.want {
			t.Errorf("%s: got %t, want %t", c.name, got, c.want)
		}
	}
}

func TestPipesHaveNoColours(t *testing.T) {
	var flags Flags
	if style := flags.Style(&strings.Builder{}); style.Colour || style.Terminal() {
		t.Errorf("got %+v, want neither colours nor a width", style)
	}
	if got := (Style{}).Paint(Red, "text"); got != "text" {
		t.Errorf("painted %q without colours", got)
	}
}

func TestAScreenLeavesOutWhatDoesNotFit(t *testing.T) {
	var out strings.Builder
	screen := NewScreen(&out, func(w io.Writer) Style { return Style{Width: 80, Height: 4} })
	if err := screen.Draw(func(w io.Writer, _ Style) error {
		_, err := io.WriteString(w, "1\n2\n3\n4\n5\n")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "\x1b[H\x1b[J1\n2\n3 more lines: name a queue, or choose with --dimension\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestASparklineIsAsWideAsItMustBe(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 5_000 {
		line := make(Sparkline, random.IntN(70))
		for i := range line {
			line[i] = []float64{-1, 0, random.Float64() * 1e13}[random.IntN(3)]
		}
		columns := random.IntN(70)
		if drawn := line.Draw(Style{Unicode: true}, columns); Width(drawn) != columns {
			t.Fatalf("%v is %d columns wide, want %d: %q", line, Width(drawn), columns, drawn)
		}
	}
}

func TestSparklinesLookLikeThis(t *testing.T) {
	for _, c := range []struct {
		name string
		Sparkline
		want string
	}{
		{"now is at the right", Sparkline{0, 4, 8}, "     _=#"},
		{"what is not known is blank", Sparkline{-1, 8, -1, 8}, "     # #"},
		{"a little is more than nothing", Sparkline{0, 0.001, 8}, "     _.#"},
		{"nothing", Sparkline{0, 0}, "      __"},
		{"the highest of several", Sparkline{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0}, "._____#_"},
	} {
		if got := c.Draw(Style{}, 8); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNamesDoNotCommandTheTerminal(t *testing.T) {
	const name = "job\x1b[2J\u202egnp.\a\u009b1m"
	table := &Table{Columns: []Column{{Title: "NAME"}}}
	table.Row(Cell{Text: name + "\nanother\trow"})
	table.Line("", "", Cell{Text: name})
	var text strings.Builder
	if err := table.Write(&text, Style{}); err != nil {
		t.Fatal(err)
	}
	const shown = "job\ufffd[2J\ufffdgnp.\ufffd\ufffd1m"
	if want := "NAME\n" + shown + " another row\n" + shown + "\n"; text.String() != want {
		t.Errorf("%q, want %q", text.String(), want)
	}
}
