// SPDX-License-Identifier: Apache-2.0

package binding

import (
	"slices"
	"strings"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// executionNamespace is the prefix of the namespaces that hold the Works of a cluster.
const executionNamespace = "karmada-es-"

// ClusterOf returns the name of the cluster that a Work goes to.
func ClusterOf(work *workv1alpha1.Work) string {
	return strings.TrimPrefix(work.Namespace, executionNamespace)
}

// StatusIn returns the status that the cluster of a Work reported last, nil if there is none.
func StatusIn(work *workv1alpha1.Work) []byte {
	for i := range work.Status.ManifestStatuses {
		if status := work.Status.ManifestStatuses[i].Status; status != nil {
			return status.Raw
		}
	}
	return nil
}

// isKept reports whether Karmada keeps a Work.
func isKept(work *workv1alpha1.Work) bool { return work.DeletionTimestamp == nil }

// end says how the workload has ended in all of its clusters, and reports whether it has. A cluster that it is leaving, or that
// has not reported, may still run it. A status that cannot be read does not count as an end.
func end(rb *workv1alpha2.ResourceBinding, clusters []string, works []*workv1alpha1.Work) (string, bool) {
	kind := KindOf(rb)
	ends := map[string]string{}
	for i := range rb.Status.AggregatedStatus {
		item := &rb.Status.AggregatedStatus[i]
		if item.Status == nil {
			continue
		}
		if ended, finished, _ := workload.Finished(kind, item.Status.Raw); finished {
			ends[item.ClusterName] = ended
		}
	}
	for _, work := range works {
		// Karmada may still show in the binding how a former one has ended.
		if _, finished, _ := workload.Finished(kind, StatusIn(work)); !finished || ends[ClusterOf(work)] == "" {
			return "", false
		}
	}
	var words, each []string
	for _, cluster := range clusters {
		ended := ends[cluster]
		if ended == "" {
			return "", false
		}
		if !slices.Contains(words, ended) {
			words = append(words, ended)
		}
		each = append(each, ended+" in cluster "+cluster)
	}
	if len(words) > 1 {
		words = each
	}
	return strings.Join(words, ", "), len(clusters) > 0
}
