// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// History has how much queues had allocated in the last hour, one value a minute. It begins anew when another process leads.
type History struct {
	metav1.TypeMeta `json:",inline"`
	// Times are those of the values, the oldest first.
	Times []metav1.Time `json:"times"`
	Items []Series      `json:"items"`
}

// Series is what a queue had allocated of one dimension.
type Series struct {
	Queue     string `json:"queue"`
	Dimension `json:",inline"`
	// Values has one number for each time, in the unit of the dimension. It is -1 where the queue did not exist or did not count the dimension.
	Values []float64 `json:"values"`
}
