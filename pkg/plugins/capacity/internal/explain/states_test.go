// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

func TestAJobOfVolcanoWithoutAPodGroupIsExplainedByItsPhase(t *testing.T) {
	for _, c := range []struct {
		phase batchv1alpha1.JobPhase
		state v1alpha1.State
		cause string
	}{
		{batchv1alpha1.Completed, v1alpha1.Ended, ""}, {batchv1alpha1.Failed, v1alpha1.Ended, ""}, {batchv1alpha1.Aborted, v1alpha1.Ended, ""},
		{batchv1alpha1.Terminating, v1alpha1.Releasing, ""},
		{"", v1alpha1.Waiting, "The job, which is Pending, has no PodGroup in this session: Volcano's controllers create one for it, see whether they run"},
	} {
		job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "second"}, Spec: batchv1alpha1.JobSpec{Queue: "team"}}
		job.Status.State.Phase = c.phase
		told := VolcanoJob(job)
		if told.State != c.state || told.Queue != "team" || told.Subject.Kind != "Job" || (told.Cause != nil) != (c.cause != "") || told.Cause != nil && told.Cause.Message != c.cause {
			t.Errorf("a job that is %q: %+v", c.phase, told)
		}
	}
}
