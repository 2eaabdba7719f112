// SPDX-License-Identifier: Apache-2.0

package devices

import "github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"

// NotStarted is the state of a scheduler that failed to start a Cache.
var NotStarted = &report.NotReady{Subject: report.Devices, Why: "claims cannot be read; the scheduler's log says why"}
