// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// TestSelectorsThatMayTakeLongAreRefused lists selectors that the API server admits.
func TestSelectorsThatMayTakeLongAreRefused(t *testing.T) {
	hundred := strings.Repeat("a", 100)
	for expression, want := range map[string]string{
		// Quantities: each takes minutes, or would.
		`quantity("1e999999999").isGreaterThan(quantity("1"))`:                                           "it may take minutes",
		`isQuantity('1e-999999999')`:                                                                     "it may take minutes",
		`device.capacity["d"].memory.compareTo(quantity(r'1e999999999')) > 0`:                            "it may take minutes",
		`quantity("1e9" + "99999999").isGreaterThan(quantity("1"))`:                                      "it may take minutes",
		`quantity(device.driver).isGreaterThan(quantity("1"))`:                                           "it may take minutes",
		"quantity // (\"1\")\n(\"1e999999999\").isGreaterThan(quantity(\"1\"))":                          "it may take minutes",
		`r'\' == '\'' || quantity("1e999999999").isGreaterThan(quantity("1")) || 'x' == 'quantity("1")'`: "it may take minutes",
		// Patterns: one device takes up to seconds.
		`'` + hundred + `'.matches('(a?){999}b')`:                                            "a pattern may take long",
		`'` + hundred + `'.matches(device.driver)`:                                           "a pattern may take long",
		`'` + hundred + `'.find('` + strings.Repeat("a?", 150) + `b') == ''`:                 "a pattern may take long",
		`'` + hundred + `'.matches('a' + 'b')`:                                               "a pattern may take long",
		`'a'.replace('', '` + hundred + `').matches('b')`:                                    "it makes long texts",
		`'a'.replace('', '` + hundred + `').replace('', '` + hundred + `') == ''`:            "it makes long texts",
		`cel.bind(x, '` + hundred + `', x + x + x + x).matches('(a|aa)+b')`:                  "it makes long texts",
		`lists.range(1000).exists(x, x > 7)`:                                                 "it makes long texts",
		"// \r \"\"\" \nquantity(\"1e9999999\").isGreaterThan(quantity(\"1\")) // \r \"\"\"": "it may take minutes",
		`'` + hundred + `'.matches('(a?)\x7b999\x7db')`:                                      "a pattern may take long",
		`'` + hundred + `'.matches('(a?)\173999\175b')`:                                      "a pattern may take long",
		// Lists, maps and texts that double each time, and code that compiles as slowly.
		`optional.of(1)` + strings.Repeat(`.optMap(x, x)`, 8) + `.hasValue()`: "it may make lists",
		doubled(10, `[1]`, `[X, X]`, `X == X`):                                "it may make lists",
		doubled(10, `dyn([1])`, `dyn([X, X])`, `X == X`):                      "it may make lists",
		doubled(10, `[1]`, `X + X`, `size(X) > 0`):                            "it may make lists",
		doubled(10, `"a"`, `X + X`, `X == X`):                                 "it may make lists",
		doubled(8, `{1: 1}`, `{1: X, 2: X}`, `X == X`):                        "it may make lists",
		doubled(8, `{1: 1}`, `{X: X}`, `size(X) > 0`):                         "it may make lists",
		doubled(8, `[1]`, `[1, 1].map(x, X)`, `X == X`):                       "it may make lists",
		`[1]` + strings.Repeat(`.map(x, [x, x])`, 6) + `.all(y, y == y)`:      "it may make lists",
		`["a"].exists(x, [[x, x]].exists(y, [[y, y]].exists(z, z == z)))`:     "it may make lists",
		`[1].all(x, [1, 2, 3].distinct().size() == 3)`:                        "it may make lists",
		`[1].all(x, sets.contains([1, 2, 3], [1]))`:                           "it may make lists",
		strings.TrimSuffix(strings.Repeat(`[1]+`, 40), "+") + ` == [1] + [2]`: "it may make lists",
	} {
		compiled := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true}).CompileCELExpression(expression, cel.Options{})
		if compiled.Error != nil || compiled.MaxCost > resourceapi.CELSelectorExpressionMaxCost {
			t.Errorf("the API server does not admit %s: it costs %d, %v", expression, compiled.MaxCost, compiled.Error)
		}
		for _, request := range []resourceapi.DeviceRequest{exactly("r", "gpu", 1), firstAvailable("r", exactly("s", "gpu", 1))} {
			if request.Exactly != nil {
				request.Exactly.Selectors = selectors(expression)
			} else {
				request.FirstAvailable[0].Selectors = selectors(expression)
			}
			_, err := Requested(&claim(request).Spec)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "selector #0") {
				t.Errorf("%s: %v, want %s", expression, err, want)
			}
		}
	}
}

// doubled repeatedly names a result of the previous name, X.
func doubled(times int, first, double, last string) string {
	text, name := "cel.bind(a0, "+first+", ", "a0"
	for i := range times {
		text += fmt.Sprintf("cel.bind(b%d, %s, ", i, strings.ReplaceAll(double, "X", name))
		name = fmt.Sprint("b", i)
	}
	return text + strings.ReplaceAll(last, "X", name) + strings.Repeat(")", times+1)
}

func TestWhatASelectorCalls(t *testing.T) {
	const quickly, timed, slowly = "quickly", "timed", "slowly"
	for expression, want := range map[string]string{
		`device.driver == "gpu.nvidia.com"`: quickly,
		`device.attributes["gpu.nvidia.com"].model.lowerAscii().contains("a100") && !(device.driver in ["a", "b"])`:                     quickly,
		`device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0 && quantity('1.5e3').isGreaterThan(quantity("-1m"))`: quickly,
		`device.attributes["d"].version.isGreaterThan(semver("1.2.3"))`:                                                                 quickly,
		`"map(replace(quantity('1e999999999')))" == '''all("'exists(''' // filter(`:                                                     quickly,
		`device.attributes["gpu.nvidia.com"].productName.lowerAscii().matches('^.*a100.*$')`:                                            timed,
		`cel.bind(dra, device.attributes["d"], dra.one && dra.model.matches("^h[12]00"))`:                                               timed,
		`["a", "b"].exists(x, device.driver == x)`:                                                                                      timed,
		`cel.bind(d, device.attributes["d"], d.one in ["a", "b"] && d["two"] == "c")`:                                                   timed,
		`device.attributes["d"].name.matches('^a\\.b$')`:                                                                                timed,
		`["a"].exists(x, ["b"].exists(y, x + y == device.driver))`:                                                                      slowly,
		`sets.contains([1, 2], [1])`:                  slowly,
		`device.driver.replace(".", "") == "x"`:       slowly,
		"[1, 2].distinct// a comment\n().size() == 2": slowly,
	} {
		w := wordsOf(expression)
		got := quickly
		if w.slow() {
			got = slowly
		} else if w.timed() {
			got = timed
		}
		if err := w.check(); err != nil || got != want {
			t.Errorf("%s: evaluated %s, want %s; %v", expression, got, want, err)
		}
		if compiled := cel.GetCompiler(cel.Features{}).CompileCELExpression(expression, cel.Options{}); compiled.Error != nil {
			t.Errorf("%s: %v", expression, compiled.Error)
		}
	}
}

// TestTheWordsAreThoseOfKubernetes checks for new words. An unknown function counts as slow, but an unknown macro must not.
func TestTheWordsAreThoseOfKubernetes(t *testing.T) {
	compiled := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true}).CompileCELExpression("true", cel.Options{})
	called := map[string]bool{"has": true, "in": true}
	for name := range compiled.Environment.Functions() {
		called[name[strings.LastIndex(name, ".")+1:]] = true
	}
	for _, macro := range compiled.Environment.Macros() {
		if called[macro.Function()] = true; macro.Function() != "has" && !repeating[macro.Function()] {
			t.Errorf("%s may repeat something", macro.Function())
		}
	}
	for _, words := range []map[string]bool{quick, repeating, growing, naming, making, optional, searching, comparing} {
		for word := range maps.Keys(words) {
			if !called[word] {
				t.Errorf("there is no %s", word)
			}
		}
	}
}
