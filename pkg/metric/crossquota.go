// SPDX-License-Identifier: Apache-2.0

package metric

// Metrics of the plugin crossquota.
var (
	CrossquotaQuota = Metric{
		Name: volcano + "crossquota_quota", Type: Gauge, Labels: []string{"node", "resource"}, Unit: "cores, bytes, or pieces",
		Help: "What pods without GPU may take of a GPU node, in cores, bytes or pieces",
	}
	CrossquotaUsed = Metric{
		Name: volcano + "crossquota_used", Type: Gauge, Labels: []string{"node", "resource"}, Unit: "cores, bytes, or pieces",
		Help: "What pods without GPU hold of a GPU node, in cores, bytes or pieces",
	}
)

func crossquotaGroup() Group {
	return Group{
		Title: "The plugin crossquota", Metrics: []Metric{CrossquotaQuota, CrossquotaUsed},
		About: "The plugin updates the metrics at the start and at the end of each cycle. It removes the metrics of a node that is deleted or no " +
			"longer has a GPU. If you remove the plugin from the configuration without a restart of the scheduler, the metrics keep " +
			"their last values. See [crossquota.md](crossquota.md).",
	}
}
