// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// errNotLooked means that the dispatcher does not look at members.
var errNotLooked = errors.New("members are not looked at")

const (
	// worksSettle is how long Karmada's instructions to clusters must have been unchanged before a grant ends or is lowered.
	// Until then, Karmada may still act on old data.
	worksSettle = 3 * time.Second
	// tellAfter is how long pods may take to end before the dispatcher reports that they are still charged.
	tellAfter = 5 * time.Second
)

// remainder is the part of a workload that member clusters may keep when a grant ends or is lowered.
type remainder struct {
	// about identifies the instructions that the clusters got. When it changes, the time that they need starts again.
	about string
	// clusters are the clusters to check.
	clusters []string
	// generation is the generation of the object that the clusters may keep. It is empty if they must not have the object.
	generation string
	// pods is the number of pods that each cluster may keep. A cluster without an entry may keep nothing.
	pods map[string]int64
	// living says that clusters with an entry may keep any pods except those that are being deleted.
	living bool
	// looks says that no report shows that a cluster has the generation. Only a look at the member does.
	looks bool
}

// settled reports whether the member clusters have no more of a workload than a remainder. A cluster that cannot be reached
// counts as unchanged. If the dispatcher can look at a member, the member's pods decide. If not, the time that pods take to end decides.
func (c *cycle) settled(w *framework.Workload, may remainder) bool {
	for _, cluster := range may.clusters {
		if c.NotReady[cluster] {
			c.memory.stirs(w)
			c.tellRemains(w, fmt.Sprintf("cluster %s cannot be reached", cluster), false, false)
			return false
		}
	}
	since := c.memory.restsSince(w, may.about, c.Now)
	if until := since.Add(worksSettle); until.After(c.Now) {
		c.due(until)
		return false
	}
	latest := since.Add(workload.EndsWithin + time.Duration(w.State.Grant.Grace)*time.Second)
	why, known := "", true
	for _, cluster := range may.clusters {
		if why, known = c.remains(w, cluster, may, since, latest); why != "" {
			break
		}
	}
	if why == "" || may.living && !latest.After(c.Now) {
		return true
	}
	if told := since.Add(tellAfter); told.After(c.Now) {
		c.due(told)
	} else {
		c.tellRemains(w, why, known, known && c.Now.After(latest))
	}
	return false
}

// reconcileLost reports a workload that a member cluster still has although Karmada has lost it. It waits until the time to end is over.
func (c *cycle) reconcileLost(w *framework.Workload) {
	until := c.memory.restsSince(w, "lost", c.Now).Add(workload.EndsWithin + time.Duration(w.Template.Grace)*time.Second)
	if until.After(c.Now) {
		c.due(until)
		return
	}
	c.tell(report.Lost(w))
}

func (c *cycle) tellRemains(w *framework.Workload, why string, looked, late bool) {
	switch {
	case w.Grows():
		c.tell(report.GrowthHeld(w, &framework.Refusal{Message: "Pods that it had before may still end: " + why}))
	case late:
		c.tell(report.StillRuns(w, why))
	default:
		c.tell(report.StillCharged(w, why, looked))
	}
}

// remains says what a cluster has, or may have, of a workload beyond a remainder. It returns "" if there is nothing. Known is false if nobody has looked.
func (c *cycle) remains(w *framework.Workload, cluster string, may remainder, since, latest time.Time) (why string, known bool) {
	allowed, stays := may.pods[cluster]
	generation := ""
	if stays {
		generation = may.generation
	}
	left := framework.Left{Err: errNotLooked}
	if c.Left != nil {
		left = c.Left(w, cluster, since)
	}
	if !left.Again.IsZero() {
		c.due(left.Again)
	}
	every := !may.living || !stays // every pod counts, not only those that are being deleted
	switch {
	case left.Err == nil && every && left.Generation != "" && left.Generation != generation:
		return fmt.Sprintf("cluster %s has not done yet what it was told", cluster), true
	case left.Err == nil && every && left.Pods > allowed:
		return fmt.Sprintf("cluster %s has %d of its pods, and is to have %d", cluster, left.Pods, allowed), true
	case left.Err == nil && left.Ending > 0: // the workload had them before, even if they are few enough
		return fmt.Sprintf("cluster %s has %d of its pods that end", cluster, left.Ending), true
	case left.Err != nil && may.looks && stays:
		return fmt.Sprintf("cluster %s does not report which version of the object it has, and the dispatcher cannot look there: %s", cluster, left.Err), false
	case left.Err != nil && latest.After(c.Now):
		c.due(latest)
		return fmt.Sprintf("its pods in cluster %s may run until %s, and the dispatcher cannot look there: %s", cluster, latest.UTC().Format(time.RFC3339), left.Err), false
	}
	return "", true
}

// hasEnded reports whether no pods of a workload are ending, which new pods would run beside. Clusters that cannot be reached do
// not block a change, because it does not reach them, unless other clusters make the replicas that they are to give up. Pods past their time do not block
// it either, because their nodes are gone.
func (c *cycle) hasEnded(w *framework.Workload) bool {
	may := remainder{about: "ended", living: true, pods: map[string]int64{}}
	if change := w.State.Change; change != nil {
		may.about += " before " + change.Annotation()
	}
	for _, cluster := range w.Places {
		if !c.NotReady[cluster] || w.Spread.Divided && givesUp(w, cluster) {
			may.clusters = append(may.clusters, cluster)
		}
	}
	for _, cluster := range binding.Clusters(w.Binding) {
		may.pods[cluster] = 0
	}
	return c.settled(w, may)
}

// hasShrunk reports whether the member clusters run no more than the workload needs now, which is less than its grant.
func (c *cycle) hasShrunk(w *framework.Workload) bool {
	may, missing := lowered(w)
	if missing != "" && c.forgetsLeft(w) { // it may be missing for ever
		return false
	}
	kind := binding.KindOf(w.Binding)
	smaller := len(needs.OneCopy(c.Dimensions, w.State.Grant).Beyond(w.Needs.Copy, nil)) > 0
	may.looks = smaller && workload.OldVersionLasts(kind) // its agent may lag
	return c.hasDone(w, may, missing)
}

// hasDone reports whether missing is empty and the member clusters have no more than a remainder.
func (c *cycle) hasDone(w *framework.Workload, may remainder, missing string) bool {
	if missing == "" {
		return c.settled(w, may)
	}
	if told := c.memory.restsSince(w, missing, c.Now).Add(tellAfter); told.After(c.Now) {
		c.due(told)
	} else {
		c.tell(report.StillCharged(w, missing, true))
	}
	return false
}

// leftInReach returns the reachable clusters that a workload has left.
func (c *cycle) leftInReach(w *framework.Workload) []string {
	if len(w.Places) == len(w.Binding.Spec.Clusters) {
		return nil // both lists are the same
	}
	return slices.DeleteFunc(w.Left(), func(cluster string) bool { return c.NotReady[cluster] })
}

// forgetsLeft ends the charge for reachable clusters that a workload has left, when they have nothing of it any more. It reports
// whether the workload has such clusters to decide about.
func (c *cycle) forgetsLeft(w *framework.Workload) bool {
	left := c.leftInReach(w)
	works := slices.ContainsFunc(w.Works, func(work *workv1alpha1.Work) bool { return slices.Contains(left, binding.ClusterOf(work)) })
	if len(left) == 0 || works {
		return false
	}
	if c.settled(w, remainder{about: fmt.Sprint("left ", left), clusters: left}) {
		grant := *w.State.Grant
		grant.Clusters = slices.DeleteFunc(slices.Clone(w.Places), func(cluster string) bool { return slices.Contains(left, cluster) })
		grant.Moves = moves(w, len(w.Leaves())-len(left))
		c.end(report.Decision{Workload: w}, binding.PatchRecord(w.Binding, &grant))
	}
	return true
}

// givesUp reports whether a cluster may have more replicas than it is meant to have. The pods of a surge are not meant to stay.
func givesUp(w *framework.Workload, cluster string) bool {
	kind := binding.KindOf(w.Binding)
	wanted := replicasIn(w, cluster)
	return slices.ContainsFunc(w.Works, func(work *workv1alpha1.Work) bool {
		status, more := binding.StatusIn(work), int64(0)
		if wanted > 0 && !w.Template.Replaced(kind, status, wanted) {
			more = w.Template.MaxSurge(wanted)
		}
		return binding.ClusterOf(work) == cluster && (status == nil || workload.Reported(status) > wanted+more)
	})
}

// replicasIn returns the number of replicas that a cluster is meant to have.
func replicasIn(w *framework.Workload, cluster string) int64 {
	if !w.Spread.Divided {
		return w.Template.Replicas()
	}
	for _, target := range w.Binding.Spec.Clusters {
		if target.Name == cluster {
			return int64(target.Replicas)
		}
	}
	return 0
}

// lowered returns what member clusters may keep of a workload that needs less than its grant. Missing says which step is still
// to come before they can have shrunk.
func lowered(w *framework.Workload) (may remainder, missing string) {
	now := ""
	if !w.Template.Fallback {
		now = strconv.FormatInt(w.Template.Generation, 10)
	}
	switch {
	case w.Template.Shape() != w.State.Grant.Shape:
		return may, "its pods stay as they were made, whatever its template says now"
	case w.Needs.Claims != w.State.Grant.Claims:
		return may, "its pods keep the claims that they have, whatever its claim templates say now"
	}
	clusters := binding.Clusters(w.Binding)
	may = remainder{clusters: w.Places, generation: now, pods: map[string]int64{}}
	for _, cluster := range clusters {
		may.pods[cluster] = replicasIn(w, cluster)
	}
	if cluster := untoldBy(w); cluster != "" {
		return may, fmt.Sprintf("cluster %s has been told nothing that is known here", cluster)
	}
	kind := binding.KindOf(w.Binding)
	for _, work := range w.Works {
		cluster := binding.ClusterOf(work)
		told := work.Annotations[workv1alpha2.ResourceTemplateGenerationAnnotationKey]
		object := work.Annotations[workv1alpha2.ResourceTemplateUIDAnnotation] // the generations start again when the object is created again
		switch {
		case !slices.Contains(clusters, cluster):
			return may, fmt.Sprintf("cluster %s, which it has left, may run it", cluster)
		case ptr.Deref(work.Spec.SuspendDispatching, false):
			return may, fmt.Sprintf("cluster %s is told nothing while the dispatching to it is suspended", cluster)
		case object != "" && object != string(w.Template.UID), told != "" && now != "" && told != now:
			return may, fmt.Sprintf("cluster %s has not been told yet", cluster)
		case !meta.IsStatusConditionTrue(work.Status.Conditions, workv1alpha1.WorkApplied):
			return may, fmt.Sprintf("cluster %s has not applied it", cluster)
		}
		status := binding.StatusIn(work)
		if w.Template.RetainsReplicas {
			may.pods[cluster] = max(may.pods[cluster], workload.Reported(status))
		}
		if !w.Template.Done(kind, status, may.pods[cluster]) {
			return may, fmt.Sprintf("cluster %s has not reported that its pods are as few, and as small, as they are to be", cluster)
		}
	}
	may.about = fmt.Sprint("lowered ", now, may.pods)
	return may, ""
}

// untoldBy names a cluster that is to have a workload, and whose Work is not shown: Karmada has not made it yet, or the informer is late.
func untoldBy(w *framework.Workload) string {
	for _, cluster := range binding.Kept(w.Binding) {
		if !slices.ContainsFunc(w.Works, func(work *workv1alpha1.Work) bool { return binding.ClusterOf(work) == cluster }) {
			return cluster
		}
	}
	return ""
}

// unreplaced names a member cluster that may still make pods of a former template although it has only the remainder.
func unreplaced(w *framework.Workload, has remainder) string {
	kind := binding.KindOf(w.Binding)
	for _, work := range w.Works {
		if cluster := binding.ClusterOf(work); !w.Template.Replaced(kind, binding.StatusIn(work), has.pods[cluster]) {
			return fmt.Sprintf("cluster %s has not replaced all of its pods by smaller ones", cluster)
		}
	}
	return ""
}
