// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"slices"
	"strings"
)

// maxTypos is how many letters of an annotation may be wrong for its name to count as a typing error.
const maxTypos = 2

// MeantAnnotation returns the annotation of queues that somebody who wrote the key surely meant. It is empty if
// the scheduler reads the key itself, or if the key is of somebody else.
func MeantAnnotation(key string) string { return Meant(key, CardAnnotations[:]) }

// Meant is MeantAnnotation for the annotations of other objects.
func Meant(key string, all []string) string {
	if slices.Contains(all, key) {
		return ""
	}
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		prefix, name = "", key
	}
	for _, known := range all {
		_, meant, _ := strings.Cut(known, "/")
		typos := distance(letters(name), letters(meant))
		ours := prefix == "" || strings.Contains(prefix, "volcano")
		if typos == 0 || ours && typos <= maxTypos {
			return known
		}
	}
	return ""
}

// letters leaves out what people confuse first: upper and lower case, and separators.
func letters(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
}

// distance is the number of letters that must be inserted, deleted, or replaced to make one name of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
