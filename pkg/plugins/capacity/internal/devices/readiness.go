// SPDX-License-Identifier: Apache-2.0

package devices

import "github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"

var (
	// NotStarted is the state of a scheduler that failed to start a Cache.
	NotStarted = &report.NotReady{Subject: report.Devices, Why: "claims cannot be read; the scheduler's log says why"}
	// NotRead is the state of a scheduler whose Cache is not Ready: it has not read all claims, classes, and slices that
	// existed at the start.
	NotRead = &report.NotReady{
		Subject: report.Devices,
		Why:     "claims, device classes and slices are still being read; if this lasts, check that the API server serves resource.k8s.io and that the scheduler may list and watch it",
	}
)
