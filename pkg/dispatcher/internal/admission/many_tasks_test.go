// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"testing"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// TestAnUpdateOfAJobOfManyTasksKeepsNobodyWaiting: tasks without replicas cost no quota, and who may update a job sends any number of updates.
func TestAnUpdateOfAJobOfManyTasksKeepsNobodyWaiting(t *testing.T) {
	job := &workload.Template{}
	for i := range 200_000 {
		job.Tasks = append(job.Tasks, fmt.Sprintf("task-%06d", i))
	}
	c := &change{before: job, after: job}
	why := make(chan string)
	go func() { why <- c.forbidden(&workv1alpha2.ResourceBinding{}, nil) }()
	select {
	case why := <-why:
		if why != "" {
			t.Errorf("it is refused: %s", why)
		}
	case <-time.After(30 * time.Second):
		t.Error("each task is compared with all others")
	}
}
