// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"slices"
	"strings"
)

// maxTypos is the number of wrong letters up to which an annotation counts as a typing error.
const maxTypos = 2

// MeantAnnotation returns the queue annotation that a misspelled key stands for. It is empty if the scheduler reads the
// key itself, or if the key belongs to other software.
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

// letters removes common sources of confusion: upper and lower case, and separators.
func letters(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
}

// distance returns the number of letters to insert, delete or replace to turn one name into the other.
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
