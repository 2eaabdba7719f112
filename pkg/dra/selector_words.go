// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"errors"
	"regexp"
	"strings"
)

// The text of a selector says how long it may take, so that nothing has to be compiled to know that. Literals and comments are replaced first, so
// that neither hides what is called, and what they say is not taken for a call.
var (
	// literalOrComment matches what is not code. Nothing is escaped in a raw literal.
	literalOrComment = regexp.MustCompile(`(?s)//[^\n]*` +
		`|[rR][bB]?(?:""".*?"""|'''.*?'''|"[^"\n\r]*"|'[^'\n\r]*')|[bB][rR](?:""".*?"""|'''.*?'''|"[^"\n\r]*"|'[^'\n\r]*')` +
		`|"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n\r])*"|'(?:\\.|[^'\\\n\r])*'`)
	// plainQuantity is a literal of a quantity with which arithmetic is quick: that with 1e999999999 takes minutes.
	plainQuantity = regexp.MustCompile(`^['"][-+]?[0-9.]{1,32}(?:[eE][-+]?[0-9]{1,2}|[a-zA-Z]{0,2})['"]$`)
	// shortPattern is a literal of a regular expression for which Go makes a short program: repetitions with a number make it long. An escape may
	// stand for their bracket.
	shortPattern = regexp.MustCompile(`^(?:[rR]['"][^{]{0,256}|['"](?:[^{\\]|\\[^xXuU0-9]){0,256})['"]$`)

	called          = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)\s*\(`)
	quantityCall    = regexp.MustCompile(`\b(?:quantity|isQuantity)\s*\(`)
	quantityOfPlain = regexp.MustCompile(`\b(?:quantity|isQuantity)\s*\(\s*"Q"\s*\)`)
	patternCall     = regexp.MustCompile(`\b(?:matches|find|findAll)\s*\(`)
	patternOfShort  = regexp.MustCompile(`\.\s*(?:matches|find|findAll)\s*\(\s*"[QP]"\s*[,)]`)
	// ofSets matches the functions of sets, which compare each with each, and of which one has the name of a quick one.
	ofSets = regexp.MustCompile(`\bsets\s*\.`)
	// constantList matches a list, or an index, in which nothing has a name, and addedList what may be a list that is added to another.
	constantList = regexp.MustCompile(`\[(?:[\s,]|"[QPL]"|-?[0-9][0-9A-Za-z.]*|\b(?:true|false|null)\b)*\]`)
	addedList    = regexp.MustCompile(`\]\s*\+|\+\s*\[`)
)

// codeOf returns a selector without comments, and with a letter in place of each literal: Q for a quantity that is plain, P for another one that
// is short as a pattern, L for others.
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

// quick are the functions that take about as long as a step, whatever they are called with.
var quick = map[string]bool{
	"has": true, "size": true, "contains": true, "startsWith": true, "endsWith": true, "lowerAscii": true, "upperAscii": true, "trim": true,
	"quantity": true, "isQuantity": true, "isGreaterThan": true, "isLessThan": true, "compareTo": true, "sign": true, "isInteger": true, "asInteger": true,
	"asApproximateFloat": true, "add": true, "sub": true, "semver": true, "isSemver": true, "major": true, "minor": true, "patch": true,
	"int": true, "uint": true, "double": true, "string": true, "bool": true, "dyn": true, "type": true, "orValue": true, "hasValue": true, "in": true,
}

// repeating are the functions and macros that evaluate what they are called with several times, or give it a name, by which it may be used several times.
var repeating = map[string]bool{
	"all": true, "exists": true, "exists_one": true, "existsOne": true, "map": true, "filter": true, "bind": true, "optMap": true, "optFlatMap": true,
	"transformList": true, "transformMap": true, "transformMapEntry": true, "sortBy": true,
}

// naming are those of them that give a name to what was made, making those that make lists or maps, and optional those for which what is before
// them is compiled several times.
var (
	naming   = map[string]bool{"bind": true, "optMap": true, "optFlatMap": true}
	making   = map[string]bool{"map": true, "filter": true, "transformList": true, "transformMap": true, "transformMapEntry": true, "sortBy": true}
	optional = map[string]bool{"optMap": true, "optFlatMap": true}
)

// searching are the functions that look for patterns, and comparing those that compare each element of a list with each.
var (
	searching = map[string]bool{"matches": true, "find": true, "findAll": true}
	comparing = map[string]bool{"distinct": true, "sort": true, "flatten": true}
)

// growing are the functions whose result may be much longer than all that they are called with.
var growing = map[string]bool{"replace": true, "join": true, "format": true, "range": true}

// words says what a selector calls.
type words struct {
	// repeats is how often it repeats something, grows how often it makes something long, and patterns how often it looks for a pattern. Others
	// is how often it calls another function that is not quick.
	repeats, grows, patterns, others int
	// unbounded says that it makes quantities with which arithmetic may take long, and long that it looks for patterns that are long or not literals.
	unbounded, long bool
	// builds says that it may make a text long by adding it to itself.
	builds bool
	// multiplies says that it may make something many times as large again and again, or compare each with each again and again.
	multiplies bool
}

func wordsOf(expression string) words {
	if !strings.ContainsAny(expression, "(+") {
		return words{} // for speed alone: it calls nothing
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
	w.multiplies = count(optional) > 2 || // each compiles what is before it several times
		addedList.MatchString(code) || adds && names+lists > 0 || lists > 0 && w.repeats > 1 || // what was made is added to itself, or repeated
		(names > 0 || w.repeats > 1) && strings.ContainsAny(constantList.ReplaceAllString(code, " "), "[{") || // it is several times in a list or map
		ofSets+count(comparing) > 0 && w.repeats > 0 // each with each, again and again
	return w
}

// timed reports whether the time that the selector takes is to be counted, and not steps alone.
func (w words) timed() bool { return w.repeats+w.grows+w.patterns+w.others > 0 }

// slow reports whether it may take long to evaluate the selector for one device, and nothing interrupts that: an interrupted repetition does not
// end the one around it.
func (w words) slow() bool { return w.repeats > 1 || w.grows+w.others > 0 }

// check returns an error if the selector may take seconds or more for one device. The API server admits such selectors, because it takes no
// account of what the numbers in quantities and patterns mean, and little of how long a text gets.
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
