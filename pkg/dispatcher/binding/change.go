// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// changeTakes is how long a request may take from the admission webhook to the store. It is the API server's default limit for
// a request, with a margin for clock skew.
const changeTakes = 65 * time.Second

// Change records that an update was admitted that may need more. Until the update is stored or has failed, the needs of the
// workload are unknown, and nothing is granted.
type Change struct {
	// Replaces is the resource version of the workload that the update replaces.
	Replaces string `json:"replaces"`
	// Time is when the update was admitted.
	Time metav1.Time `json:"time"`
	// Grace is the longest grace period that its pods have had in seconds, if the grant does not say so yet: the object may have a
	// shorter one again before a leader notes it.
	Grace int64 `json:"grace,omitempty"`
	// Given has notes of claims and claim templates that its pods may name, if the grant does not note them yet: the object may name others
	// before a leader notes these. See Grant.Given.
	Given []string `json:"given,omitempty"`
}

// Again returns the record of this update and of another one that was admitted later, and of which only the time is known. The receiver may be nil.
func (c *Change) Again(now time.Time) *Change {
	again := Change{}
	if c != nil {
		again = *c
	}
	again.Time.Time = now
	return &again
}

// Annotation returns the text of a ChangeAnnotation.
func (c *Change) Annotation() string {
	text, _ := json.Marshal(c) // no field can fail to marshal
	return string(text)
}

// ParseChange reads a ChangeAnnotation. The error says what is wrong with it.
func ParseChange(text string) (*Change, error) {
	c := &Change{}
	if err := json.Unmarshal([]byte(text), c); err != nil {
		return nil, err
	}
	return c, nil
}

// Pending reports whether the update may still be stored, and until when at the latest. Known is the version of the workload
// in the cache. The receiver may be nil.
func (c *Change) Pending(known string, now time.Time) (time.Time, bool) {
	if c == nil || workload.Newer(known, c.Replaces) {
		return time.Time{}, false
	}
	until := c.Time.Add(changeTakes)
	return until, until.After(now)
}
