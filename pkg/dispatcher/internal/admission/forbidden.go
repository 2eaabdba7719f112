// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// forbidden says why clusters would have pods that nobody can count, "" if they would not. Hold is the current hold, nil if there is none.
func (c *change) forbidden(rb *workv1alpha2.ResourceBinding, hold *binding.Hold) string {
	if c.makesFormerPods(rb) {
		return "would get pods of a template that it had before: set spec.paused to false, and the partition of a StatefulSet to 0, and let it roll out first"
	}
	if hold.Hides() && hold.Tasks != "" && hold.Tasks == tasksOf(c.after) {
		return "" // clusters have not seen the others
	}
	stays := make(map[string]bool, len(c.after.Tasks)) // users write thousands of tasks
	for _, task := range c.after.Tasks {
		stays[task] = true
	}
	for _, task := range c.before.Tasks {
		if !stays[task] { // Volcano never ends the pods of such a task, and makes those of others beside them
			return fmt.Sprintf("would keep the pods of task %s beside those of other tasks: leave the task there with 0 replicas, or delete the job and create it again", task)
		}
	}
	return ""
}

// tasksBefore identifies the tasks of a Volcano Job that gets others, "" if it gets none. Volcano's webhook in a member refuses all further updates of a job
// that has got a task, so that its user must be able to remove it again before clusters have seen it.
func (c *change) tasksBefore() string {
	if slices.Equal(c.before.Tasks, c.after.Tasks) {
		return ""
	}
	return tasksOf(c.before)
}

// tasksOf identifies the tasks of a Volcano Job.
func tasksOf(t *workload.Template) string {
	text, _ := json.Marshal(slices.Sorted(slices.Values(t.Tasks))) // texts do not fail to marshal
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
