// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// hidden stands for the name of an object that the user may not see.
const hidden = "<another namespace>"

// FormatObject formats the name of an object as kubectl accepts it, such as pod/trainer-0.
func FormatObject(o v1alpha1.Object) string {
	if o.Name == "" {
		return hidden
	}
	return strings.ToLower(o.Kind) + "/" + o.Name
}

// FormatNamespace formats the namespace of an object. It is a dash if the user may not see the namespace.
func FormatNamespace(o v1alpha1.Object) string {
	if o.Namespace == "" {
		return "-"
	}
	return o.Namespace
}

// FormatAge formats the time since an event as kubectl does. It is a dash if the time of the event is unknown.
func FormatAge(since *metav1.Time, now time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(0, now.Sub(since.Time)))
}

// OrDash returns the text, or a dash if the text is empty.
func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// FormatDevices formats devices with their driver and pool, because most drivers use the same names on each node.
func FormatDevices(ids []v1alpha1.DeviceID, separator string) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.Driver + "/" + id.Pool + "/" + id.Device
	}
	return strings.Join(names, separator)
}
