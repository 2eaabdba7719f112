// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Configuration is the scheduler's configuration that is in force.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`
	// Text is that of the file which the scheduler has read last without a mistake.
	Text string `json:"text"`
}
