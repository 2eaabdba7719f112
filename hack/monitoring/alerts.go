// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/devicequota/devicequota/pkg/metric"
)

// The severities of alerts.
const (
	// critical: the scheduler does not do its work, or allocates devices beyond a quota.
	critical = "critical"
	// warning: a promise of the quotas is not kept.
	warning = "warning"
	// info: an administrator should look at it at some time.
	info = "info"
)

// alert is an alert. Its runbook is the section of docs/alerts.md with its name.
type alert struct {
	name, expr, wait, severity string
	// summary describes the problem. description gives the numbers and the remedy. Both are templates of Prometheus.
	summary, description string
}

// alertGroup is a group of alerts.
type alertGroup struct {
	name   string
	alerts []alert
}

// problems selects the problems of queues whose reason matches, with =~, or does not match, with !~.
func problems(match string, reasons ...string) string {
	return fmt.Sprintf(`max by (reason) (%s{reason%s"%s"}) > 0`, metric.QueueProblems.Name, match, strings.Join(reasons, "|"))
}

// positive selects a gauge that should be zero. Only the leading replica has other values.
func positive(m metric.Metric) string { return fmt.Sprintf("max(%s) > 0", m.Name) }

// notLed fires if there are replicas and none of them leads.
func notLed(lease string) string {
	return fmt.Sprintf(`max(%s{name="%s"}) == 0`, metric.Leader.Name, lease)
}

// sessions counts the sessions of the scheduler's replicas. It excludes schedulers with other leases, such as a canary, because they would hide a
// failed scheduler. Without leader election, there is no series of a lease.
func sessions(of string) string {
	return fmt.Sprintf(`%s unless on (instance) %s{name!="%s"}`, of, metric.Leader.Name, metric.SchedulerLease)
}

// The reasons of problems of queues with separate alerts.
const (
	guaranteeNotCovered = "GuaranteeNotCovered"
	quotaNotRead        = "QuotaNotRead"
	fieldMissing        = "QuotaFieldMissing"
	removalUnconfirmed  = "QuotaRemovalUnconfirmed"
	notSaved            = "QuotaNotSaved"
	noReclaim           = "ReclaimNotConfigured"
	ignoresDeserved     = "ReclaimIgnoresDeserved"
	cannotReclaim       = "CannotReclaim"
)

// quotaRefusals are the reasons of refusals by a quota.
const quotaRefusals = "InsufficientCPUQuota|InsufficientMemoryQuota|InsufficientScalarQuota"

const events = " `kubectl get events -A --field-selector reason={{ $labels.reason }}` names them and says what to do."

var alertGroups = []alertGroup{
	{"devicequota.queues", []alert{
		{
			name: "DeviceQuotaQueueAtLimit", wait: "30m", severity: info,
			expr:        fmt.Sprintf(`sum by (queue) (max by (queue, reason) (%s{reason=~"%s"})) > 0`, metric.QueueWaitingPods.Name, quotaRefusals),
			summary:     "Pods wait because queue {{ $labels.queue }} is at its limit",
			description: "{{ $value }} pods of queue {{ $labels.queue }} have waited for 30 minutes, because the queue or a queue above it has no quota left. Raise the quota, or let the pods wait.",
		},
		{
			name: "DeviceQuotaGuaranteeNotCovered", wait: "10m", severity: warning, expr: problems("=~", guaranteeNotCovered),
			summary:     "Guarantees of queues cannot be kept",
			description: "{{ $value }} queues are guaranteed more than there is." + events,
		},
		{
			name: "DeviceQuotaNotRead", wait: "5m", severity: warning, expr: problems("=~", quotaNotRead),
			summary:     "Quotas of queues are invalid",
			description: "{{ $value }} queues have a quota that cannot be read. Their last valid quota holds, or they get nothing." + events,
		},
		{
			name: "DeviceQuotaFieldMissing", wait: "5m", severity: critical, expr: fmt.Sprintf("min(%s) == 0", metric.QuotaFieldServed.Name),
			summary:     "The Queue CRD has no field spec.dra",
			description: "The API server drops spec.dra of every queue that is written. The last valid quotas hold. Apply config/crd/scheduling.volcano.sh_queues.yaml again.",
		},
		{
			name: "DeviceQuotaLastValidInForce", wait: "15m", severity: warning, expr: problems("=~", fieldMissing, removalUnconfirmed),
			summary:     "Queues have lost their spec.dra",
			description: "{{ $value }} queues have no spec.dra, and their last valid quota holds, for the reason {{ $labels.reason }}." + events,
		},
		{
			name: "DeviceQuotaNotSaved", wait: "10m", severity: warning, expr: problems("=~", notSaved),
			summary:     "The scheduler cannot save quotas",
			description: "The last valid quotas of {{ $value }} queues cannot be written to the queues, so that they may be lost when the scheduler restarts." + events,
		},
		{
			name: "DeviceQuotaReclaimFault", wait: "10m", severity: warning, expr: problems("=~", noReclaim, ignoresDeserved),
			summary:     "The scheduler's configuration keeps queues from what they deserve",
			description: "{{ $value }} queues deserve something, and the scheduler is configured wrongly for that: {{ $labels.reason }}." + events,
		},
		{
			name: "DeviceQuotaCannotReclaim", wait: "15m", severity: warning, expr: problems("=~", cannotReclaim),
			summary:     "Queues cannot take back what they deserve",
			description: "{{ $value }} queues cannot take back what they deserve." + events,
		},
		{
			name: "DeviceQuotaQueueMistake", wait: "15m", severity: info,
			expr:        problems("!~", guaranteeNotCovered, quotaNotRead, fieldMissing, removalUnconfirmed, notSaved, noReclaim, ignoresDeserved, cannotReclaim),
			summary:     "Queues have a mistake: {{ $labels.reason }}",
			description: "{{ $value }} queues have the problem {{ $labels.reason }}." + events,
		},
	}},
	{"devicequota.devices", []alert{
		{
			name: "DeviceQuotaDeviceAllocatedTwice", wait: "2m", severity: critical, expr: positive(metric.DevicesAllocatedTwice),
			summary:     "Devices are allocated twice",
			description: "{{ $value }} devices are allocated to several ResourceClaims, beyond what sharing allows. Let only one scheduler allocate the devices of a node, and delete the pods of all but one of the claims.",
		},
		{
			name: "DeviceQuotaUnattributedPods", wait: "15m", severity: warning, expr: positive(metric.UnattributedPods),
			summary:     "Pods run outside of all queues",
			description: "{{ $value }} running pods are charged to queue root, because nobody knows which queue they came from. Events with the reason ChargedToRoot name them.",
		},
		{
			name: "DeviceQuotaUnattributedClaims", wait: "15m", severity: warning, expr: positive(metric.UnattributedClaims),
			summary:     "ResourceClaims are allocated outside of all queues",
			description: "{{ $value }} allocated ResourceClaims are charged to queue root, because nobody knows which queue they came from.",
		},
	}},
	{"devicequota.scheduler", []alert{
		{
			name: "DeviceQuotaConfigurationInvalid", wait: "5m", severity: warning, expr: fmt.Sprintf("min(%s) == 0", metric.ConfigurationValid.Name),
			summary:     "The scheduler's configuration has a mistake",
			description: "The last valid configuration stays in force until the scheduler restarts. The log of the scheduler names the mistake.",
		},
		{
			name: "DeviceQuotaSessionSlow", wait: "15m", severity: warning,
			expr:        fmt.Sprintf(`histogram_quantile(0.9, sum by (le) (rate(%s_bucket[10m]))) > 5000`, metric.SessionDuration.Name),
			summary:     "Sessions of the scheduler are slow",
			description: "One session in ten takes longer than {{ $value | humanize }} ms. Until it ends, no pod is placed.",
		},
		{
			name: "DeviceQuotaNoSessions", wait: "5m", severity: critical,
			expr: fmt.Sprintf(`absent(%s) or sum(%s) == 0`,
				sessions(metric.SessionDuration.Name+"_count"), sessions(fmt.Sprintf("rate(%s_count[5m])", metric.SessionDuration.Name))),
			summary:     "The scheduler does nothing",
			description: "There has been no session for 5 minutes, so that no pod is placed. The scheduler does not run, does not lead, hangs, or is not scraped.",
		},
		{
			name: "DeviceQuotaNoLeader", wait: "5m", severity: critical, expr: notLed(metric.SchedulerLease),
			summary:     "No replica of the scheduler leads",
			description: "Replicas of the scheduler run, and none of them holds the lease " + metric.SchedulerLease + ", so that no pod is placed. Their logs say why.",
		},
		{
			// accountingInterval may be longer than its default of a minute, but rarely longer than this.
			name: "DeviceQuotaUsageNotRecorded", wait: "15m", severity: warning, expr: fmt.Sprintf("time() - max(%s) > 3600", metric.UsageRecorded.Name),
			summary:     "Usage is not recorded",
			description: "The record of usage was complete {{ $value | humanizeDuration }} ago for the last time. The log of the scheduler that leads says why it cannot be written.",
		},
	}},
	{"devicequota.dispatcher", []alert{
		{
			name: "DeviceQuotaDispatcherDown", wait: "5m", severity: critical,
			expr:        fmt.Sprintf(`absent(%[1]s_count) unless on () absent_over_time(%[1]s_count[1d])`, metric.DispatcherCycleDuration.Name),
			summary:     "The dispatcher is gone",
			description: "The metrics of vc-dispatcher were there during the last day and are gone. Nobody sends workloads to clusters, and its webhooks do not answer.",
		},
		{
			name: "DeviceQuotaDispatcherNoLeader", wait: "5m", severity: critical, expr: notLed(metric.DispatcherLease),
			summary:     "No replica of the dispatcher leads",
			description: "Replicas of vc-dispatcher run, and none of them holds the lease " + metric.DispatcherLease + ", so that no workload is sent to a cluster. Their logs say why.",
		},
		{
			name: "DeviceQuotaDispatcherStillRuns", wait: "5m", severity: warning, expr: metric.DispatcherStillRuns.Name + " > 0",
			summary: "Workloads of queue {{ $labels.queue }} run that should have ended",
			description: "Member clusters run {{ $value }} workloads of queue {{ $labels.queue }} that were deleted, taken back, or made smaller, and whose pods have had " +
				"their time to end, or that Karmada has lost. The queue stays charged. The events StillRuns say which, and where.",
		},
		{
			name: "DeviceQuotaDispatcherCannotWrite", wait: "15m", severity: warning,
			expr:        fmt.Sprintf(`sum by (patch) (rate(%s{result="failure"}[10m])) > 0`, metric.DispatcherPatches.Name),
			summary:     "The dispatcher cannot write {{ $labels.patch }}",
			description: "Of the requests of vc-dispatcher that change objects for {{ $labels.patch }}, {{ $value | humanize }} fail each second. Its log says why.",
		},
	}},
}
