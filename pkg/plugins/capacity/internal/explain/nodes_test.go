// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"testing"

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
