// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

func TestSuitableNodesComeFirstAndRareAnswersAreOne(t *testing.T) {
	nodes := Nodes{answers: []v1alpha1.NodesAnswer{{Count: 1, Suitable: true}}}
	for i := range MaxAnswers + 5 {
		nodes.answers = append(nodes.answers, v1alpha1.NodesAnswer{Count: int32(i + 1), Message: fmt.Sprint("reason ", i)})
	}
	answers := nodes.Answers()
	if len(answers) != MaxAnswers || !answers[0].Suitable || answers[1].Count != MaxAnswers+5 {
		t.Fatalf("the answers are %+v", answers)
	}
	if last := answers[MaxAnswers-1]; last.Message != "<7> other reasons" || last.Count != 1+2+3+4+5+6+7 {
		t.Errorf("the last answer is %+v", last)
	}
}

func TestRareReasonsOfPodsAreOne(t *testing.T) {
	for _, reasons := range []int{MaxAnswers, MaxAnswers + 5} {
		var pods Pods
		for i := range reasons {
			for range i + 1 {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i)}}
				pods.Add(&api.TaskInfo{Pod: pod, TransactionContext: api.TransactionContext{Status: api.Pending}}, v1alpha1.Refusal{Message: fmt.Sprint("reason ", i)})
			}
		}
		answers := pods.Answers()
		if len(answers) != MaxAnswers || answers[0].Count != int32(reasons) {
			t.Fatalf("with %d reasons, the answers are %+v", reasons, answers)
		}
		last := answers[MaxAnswers-1]
		if reasons == MaxAnswers && (last.Cause.Message != "reason 0" || last.Count != 1) {
			t.Errorf("the last answer is %+v", last)
		}
		if reasons > MaxAnswers && (last.Cause.Message != "<6> other reasons" || last.Count != 1+2+3+4+5+6 || last.Example.Name != "pod-5") {
			t.Errorf("the last of too many answers is %+v", last)
		}
	}
}
