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

// Answers returns the reasons, those of many pods first. If there are too many, the last ones are one entry with the first of their pods as example.
func (p *Pods) Answers() []v1alpha1.PodsAnswer {
	slices.SortStableFunc(p.answers, func(a, b v1alpha1.PodsAnswer) int { return cmp.Compare(b.Count, a.Count) })
	if len(p.answers) <= MaxAnswers {
		return p.answers
	}
	rare := p.answers[MaxAnswers-1:]
	others := v1alpha1.PodsAnswer{Example: rare[0].Example, State: rare[0].State, Cause: v1alpha1.Refusal{Message: otherReasons(len(rare))}}
	for i := range rare {
		others.Count += rare[i].Count
	}
	return append(p.answers[:MaxAnswers-1:MaxAnswers-1], others)
}
