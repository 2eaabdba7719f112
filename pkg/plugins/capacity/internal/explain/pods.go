// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
)

// Pods collects why the pods of a job wait. Pods with the same reason are one entry.
type Pods struct{ answers []v1alpha1.PodsAnswer }

// Add adds the reason why a pod waits.
func (p *Pods) Add(task *api.TaskInfo, cause v1alpha1.Refusal) {
	state := StateOfPod(task)
	same := func(a v1alpha1.PodsAnswer) bool { return a.State == state && a.Cause.Message == cause.Message }
	if i := slices.IndexFunc(p.answers, same); i >= 0 {
		p.answers[i].Count++
		return
	}
	p.answers = append(p.answers, v1alpha1.PodsAnswer{Example: describe.Object("Pod", &task.Pod.ObjectMeta), Count: 1, State: state, Cause: cause})
}

// Answers returns the reasons, those of many pods first.
func (p *Pods) Answers() []v1alpha1.PodsAnswer {
	slices.SortStableFunc(p.answers, func(a, b v1alpha1.PodsAnswer) int { return cmp.Compare(b.Count, a.Count) })
	return p.answers
}
