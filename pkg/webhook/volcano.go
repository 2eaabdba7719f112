// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"regexp"

	"volcano.sh/apis/pkg/client/clientset/versioned/scheme"
)

// tiny matches a JSON value that is a number with a large negative exponent. To read it as a quantity may take many seconds.
var tiny = regexp.MustCompile(`[:,\[]\s*"?[+-]?[0-9.]+[eE]-[0-9]{4,}"?\s*[,}\]]`)

// readAsVolcano reads an object as Volcano's clients do. The CRDs allow numbers, quantities, and times that they cannot read, and one such object keeps
// Volcano's controllers, which share their caches, from starting. Volcano 1.14 has no webhook for JobTemplates, and none for the status of any kind.
func readAsVolcano(raw []byte) error {
	if tiny.Match(raw) {
		return errors.New("it has a number with a negative exponent of four digits or more: write one such as 1m")
	}
	_, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	return err
}
