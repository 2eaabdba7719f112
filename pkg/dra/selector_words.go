// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"errors"
	"regexp"
	"strings"
)

// The text of a selector reveals how long its evaluation may take, without compilation. Literals and comments are replaced first, so they neither
// hide calls nor look like calls.
var (
	// literalOrComment matches text that is not code. Raw literals have no escapes.
	literalOrComment = regexp.MustCompile(`(?s)//[^\n]*` +
		`|[rR][bB]?(?:""".*?"""|'''.*?'''|"[^"\n\r]*"|'[^'\n\r]*')|[bB][rR](?:""".*?"""|'''.*?'''|"[^"\n\r]*"|'[^'\n\r]*')` +
		`|"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n\r])*"|'(?:\\.|[^'\\\n\r])*'`)
	// plainQuantity matches a literal quantity with quick arithmetic. Arithmetic with 1e999999999 takes minutes.
	plainQuantity = regexp.MustCompile(`^['"][-+]?[0-9.]{1,32}(?:[eE][-+]?[0-9]{1,2}|[a-zA-Z]{0,2})['"]$`)
	// shortPattern matches a literal regular expression that Go compiles to a short program. Repetitions with a number make it long, and an
	// escape may stand for their bracket.
	shortPattern = regexp.MustCompile(`^(?:[rR]['"][^{]{0,256}|['"](?:[^{\\]|\\[^xXuU0-9]){0,256})['"]$`)

	called          = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)\s*\(`)
	quantityCall    = regexp.MustCompile(`\b(?:quantity|isQuantity)\s*\(`)
	quantityOfPlain = regexp.MustCompile(`\b(?:quantity|isQuantity)\s*\(\s*"Q"\s*\)`)
	patternCall     = regexp.MustCompile(`\b(?:matches|find|findAll)\s*\(`)
	patternOfShort  = regexp.MustCompile(`\.\s*(?:matches|find|findAll)\s*\(\s*"[QP]"\s*[,)]`)
	// ofSets matches calls of set functions, which compare all pairs of elements. One of them has the name of a quick function.
	ofSets = regexp.MustCompile(`\bsets\s*\.`)
	// constantList matches a list or an index without names. addedList matches a possible addition of two lists.
	constantList = regexp.MustCompile(`\[(?:[\s,]|"[QPL]"|-?[0-9][0-9A-Za-z.]*|\b(?:true|false|null)\b)*\]`)
	addedList    = regexp.MustCompile(`\]\s*\+|\+\s*\[`)
)

// codeOf returns a selector without comments, and with a letter instead of each literal: Q for a plain quantity, P for another literal that is
// short as a pattern, L for others.
func codeOf(expression string) string {
	return literalOrComment.ReplaceAllStringFunc(expression, func(found string) string {
		switch {
		case strings.HasPrefix(found, "//"):
			return " "
		case plainQuantity.MatchString(found):
			return `"Q"`
		case shortPattern.MatchString(found):
			return `"P"`
		default:
			return `"L"`
		}
	})
}

// quick lists the functions that take about as long as a step for all arguments.
var quick = map[string]bool{
	"has": true, "size": true, "contains": true, "startsWith": true, "endsWith": true, "lowerAscii": true, "upperAscii": true, "trim": true,
	"quantity": true, "isQuantity": true, "isGreaterThan": true, "isLessThan": true, "compareTo": true, "sign": true, "isInteger": true, "asInteger": true,
	"asApproximateFloat": true, "add": true, "sub": true, "semver": true, "isSemver": true, "major": true, "minor": true, "patch": true,
	"int": true, "uint": true, "double": true, "string": true, "bool": true, "dyn": true, "type": true, "orValue": true, "hasValue": true, "in": true,
}

// repeating lists the functions and macros that evaluate their arguments several times, or give them a name for repeated use.
var repeating = map[string]bool{
	"all": true, "exists": true, "exists_one": true, "existsOne": true, "map": true, "filter": true, "bind": true, "optMap": true, "optFlatMap": true,
	"transformList": true, "transformMap": true, "transformMapEntry": true, "sortBy": true,
}

// naming lists the repeating functions that name a result. making lists those that make lists or maps. optional lists those that compile their
// receiver several times.
var (
	naming   = map[string]bool{"bind": true, "optMap": true, "optFlatMap": true}
	making   = map[string]bool{"map": true, "filter": true, "transformList": true, "transformMap": true, "transformMapEntry": true, "sortBy": true}
	optional = map[string]bool{"optMap": true, "optFlatMap": true}
)

// searching lists the functions that search for patterns. comparing lists the functions that compare all pairs of list elements.
var (
	searching = map[string]bool{"matches": true, "find": true, "findAll": true}
	comparing = map[string]bool{"distinct": true, "sort": true, "flatten": true}
)

// growing lists the functions with a result that may be much longer than their arguments.
var growing = map[string]bool{"replace": true, "join": true, "format": true, "range": true}

// words counts the calls in a selector.
type words struct {
	// repeats, grows and patterns count the calls that repeat something, make something long, or search for a pattern. others counts calls of
	// other functions that are not quick.
	repeats, grows, patterns, others int
	// unbounded says that the selector makes quantities with possibly slow arithmetic. long says that it searches for patterns that are long or not
	// literals.
	unbounded, long bool
	// builds says that the selector may make a text long by adding it to itself.
	builds bool
	// multiplies says that the selector may repeatedly multiply the size of something, or repeatedly compare all pairs.
	multiplies bool
}

func wordsOf(expression string) words {
	if !strings.ContainsAny(expression, "(+") {
		return words{} // only for speed: it calls nothing
	}
	code := codeOf(expression)
	calls := called.FindAllStringSubmatch(code, -1)
	count := func(functions map[string]bool) (n int) {
		for _, call := range calls {
			if functions[call[1]] {
				n++
			}
		}
		return n
	}
	ofSets := len(ofSets.FindAllStringIndex(code, -1))
	w := words{
		unbounded: len(quantityCall.FindAllStringIndex(code, -1)) != len(quantityOfPlain.FindAllStringIndex(code, -1)),
		long:      len(patternCall.FindAllStringIndex(code, -1)) != len(patternOfShort.FindAllStringIndex(code, -1)),
		repeats:   count(repeating), grows: count(growing), patterns: count(searching),
	}
	w.others = ofSets + len(calls) - count(quick) - w.repeats - w.grows - w.patterns
	names, lists, adds := count(naming), count(making), strings.Contains(code, "+")
	w.builds = w.repeats > 0 && adds
	w.multiplies = count(optional) > 2 || // each compiles its receiver several times
		addedList.MatchString(code) || adds && names+lists > 0 || lists > 0 && w.repeats > 1 || // a result is added to itself, or repeated
		(names > 0 || w.repeats > 1) && strings.ContainsAny(constantList.ReplaceAllString(code, " "), "[{") || // it is several times in a list or map
		ofSets+count(comparing) > 0 && w.repeats > 0 // all pairs are compared again and again
	return w
}

// timed reports whether the time of the selector counts, and not only its steps.
func (w words) timed() bool { return w.repeats+w.grows+w.patterns+w.others > 0 }

// slow reports whether evaluating the selector for one device may take long without interruption. An interrupted repetition does not end its
// outer repetition.
func (w words) slow() bool { return w.repeats > 1 || w.grows+w.others > 0 }

// check returns an error if the selector may take seconds or more for one device. The API server admits such selectors. It ignores the
// numbers in quantities and patterns, and largely ignores how long a text becomes.
func (w words) check() error {
	switch {
	case w.unbounded:
		return errors.New("it may take minutes to compare quantities that are not plain: write each quantity as a text, such as quantity(\"40Gi\"), with at most two digits in its exponent")
	case w.long:
		return errors.New("a pattern may take long if it is: write each pattern as a text of at most 256 characters that has no {")
	case w.grows > 1, w.grows > 0 && w.patterns+w.others+w.repeats > 0, w.builds && w.patterns+w.others > 0:
		return errors.New("it makes long texts or lists, and evaluates them: leave out replace, join, format, and range, or all other functions that take longer for those")
	case w.multiplies:
		return errors.New("it may make lists, maps, or texts many times as long: leave out all macros but one, +, functions that make or sort lists, and lists and maps of anything but constants")
	default:
		return nil
	}
}
