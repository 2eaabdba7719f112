// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"volcano.sh/apis/pkg/client/clientset/versioned/scheme"
)

// Path is where the webhook configuration finds the handler.
const Path = "/validate"

// Handler answers the requests of the API server.
func Handler() http.Handler {
	return &ctrladmission.Webhook{Handler: ctrladmission.HandlerFunc(func(_ context.Context, request ctrladmission.Request) ctrladmission.Response {
		return review(&request)
	})}
}

// reading is a value that the scheduler reads in an object.
type reading struct {
	// input is the value with its place. An input that the object had before is accepted.
	input string
	// err is the reason why the scheduler cannot read the value.
	err error
}

// review refuses an object with a new value that the scheduler cannot read.
func review(request *ctrladmission.Request) ctrladmission.Response {
	readings := readTemplates
	if request.Resource.Resource == "queues" {
		readings = readQueue
	}
	after, warnings, err := readings(request.Object.Raw)
	if err == nil && strings.HasSuffix(request.Resource.Group, ".volcano.sh") && request.Resource.Resource != "queues" {
		err = readAsVolcano(request.Object.Raw)
	}
	if err != nil {
		return refused(request, []string{fmt.Sprintf("it cannot be read: %v", err)})
	}
	before := map[string]bool{} // a job may have thousands of tasks
	if len(request.OldObject.Raw) > 0 {
		old, _, _ := readings(request.OldObject.Raw) // an object that could not be read had no valid values
		for _, r := range old {
			before[r.input] = true
		}
	}
	var reasons []string
	for _, r := range after {
		if r.err != nil && !before[r.input] {
			reasons = append(reasons, r.err.Error())
		}
	}
	if len(reasons) > 0 {
		return refused(request, reasons)
	}
	return ctrladmission.Allowed("").WithWarnings(warnings...)
}

// refused returns the status that the API server uses for objects that violate their schema.
func refused(request *ctrladmission.Request, reasons []string) ctrladmission.Response {
	response := ctrladmission.Denied("")
	name := cmp.Or(request.Name, "without a name")
	response.Result = &metav1.Status{
		Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("%s %s: %s", request.Kind.Kind, name, strings.Join(reasons, "; ")),
	}
	return response
}

// slow matches a number with an exponent of many digits. To read it as a quantity may take many seconds, and megabytes.
var slow = regexp.MustCompile(`^\s*[+-]?[0-9.]+[eE][+-]?[0-9]{4,}\s*$`)

// lists are the fields that list quantities by the names of resources, and single those that have one quantity.
var lists, single = sets.New("allocated", "capability", "capacity", "deserved", "limits", "minResources", "overhead", "requests", "resource"), sets.New("divisor", "sizeLimit")

// hasSlow reports whether a JSON value has a quantity that takes long to read. Other texts may look like one, such as the hash of a commit.
func hasSlow(value any) bool {
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, hasSlow)
	case map[string]any:
		for key, field := range v {
			if list, is := field.(map[string]any); is && lists.Has(key) {
				for _, quantity := range list {
					if slow.MatchString(fmt.Sprint(quantity)) {
						return true
					}
				}
			}
			if single.Has(key) && slow.MatchString(fmt.Sprint(field)) || hasSlow(field) {
				return true
			}
		}
	}
	return false
}

// maxEntries is how many entries the lists of an object may have in all. A task that takes three bytes in a request takes more than a kilobyte in memory: a single
// request could use up that of the webhook.
const maxEntries = 50_000

// entriesOf returns the number of entries that the lists in a JSON value have.
func entriesOf(value any) int {
	entries := 0
	switch v := value.(type) {
	case []any:
		entries = len(v)
		for _, entry := range v {
			entries += entriesOf(entry)
		}
	case map[string]any:
		for _, field := range v {
			entries += entriesOf(field)
		}
	}
	return entries
}

// readAsVolcano reads an object as Volcano's clients do. The CRDs allow numbers, quantities, and times that they cannot read, and one such object keeps
// Volcano's controllers, which share their caches, from starting. Volcano 1.14 has no webhook for JobTemplates, and none for the status of any kind.
func readAsVolcano(raw []byte) error {
	var object any
	numbers := json.NewDecoder(bytes.NewReader(raw))
	numbers.UseNumber()
	if err := numbers.Decode(&object); err == nil && hasSlow(object) {
		return errors.New("it has a quantity with an exponent of four digits or more: write one with a suffix, such as 1m or 10Gi")
	}
	if entries := entriesOf(object); entries > maxEntries {
		return fmt.Errorf("its lists have %d entries: at most %d are read", entries, maxEntries)
	}
	_, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	return err
}
