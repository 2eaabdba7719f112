// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Names of checks besides those that the plugin makes of each pod and each job.
const (
	GatesCheck    = "SchedulingGates"
	AdmittedCheck = "Admitted"
	QueueCheck    = "Queue"
	NodesCheck    = "Nodes"
	GangCheck     = "Gang"
	SessionCheck  = "Session"
)

// Checks are the checks of an explanation, up to the first one that fails.
type Checks struct {
	// Made has the checks in their order, including those that were not reached.
	Made  []v1alpha1.Check
	cause report.Refusal
}

// Add adds a check. The refusal is nil if it passes. The check does not count if an earlier check has failed.
func (c *Checks) Add(name string, refusal report.Refusal) {
	switch {
	case c.Failed():
		c.Made = append(c.Made, v1alpha1.Check{Name: name, Result: v1alpha1.NotReached})
	case refusal == nil:
		c.Made = append(c.Made, v1alpha1.Check{Name: name, Result: v1alpha1.Passed})
	default:
		c.cause = refusal
		c.Made = append(c.Made, v1alpha1.Check{Name: name, Result: v1alpha1.Failed, Message: refusal.Message()})
	}
}

// Failed reports whether a check has failed.
func (c *Checks) Failed() bool { return c.cause != nil }

// End returns the checks and the cause. told is the refusal already reported, nil if there is none. It takes precedence: it decided in this
// session, and pods may have come or gone since.
func (c *Checks) End(told report.Refusal) ([]v1alpha1.Check, *v1alpha1.Refusal) {
	switch {
	case told == nil && c.cause == nil:
		told = Unreported("No check of this plugin keeps it from starting: another plugin does, or others came first in this session")
		c.Add(SessionCheck, told)
	case told == nil:
		told = c.cause
	case c.cause == nil:
		c.Add(SessionCheck, told)
	}
	return c.Made, describe.Refusal(told)
}
