// SPDX-License-Identifier: Apache-2.0

package needs_test

import (
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

func TestTheDimensionsOfAlternativesAreChoices(t *testing.T) {
	both := cards(`{"NVIDIA-H20": 8, "NVIDIA-H800": 8}`)
	for name, c := range map[string]struct {
		world []option
		job   *workload.Template
		want  string
	}{
		"no alternative":                {[]option{both, class("a"), claimTemplate("t", nil, exactly("a", 1))}, job(pods(1, fromTemplate("t")), pods(1, requests("nvidia.com/gpu=1"), naming("NVIDIA-H20"))), ""},
		"cards that a pod names":        {[]option{both}, job(pods(1, requests("nvidia.com/gpu=1"), naming("NVIDIA-H20|NVIDIA-H800"))), "NVIDIA-H20 NVIDIA-H800"},
		"cards that a pod may get":      {[]option{both}, job(pods(1, requests("nvidia.com/gpu=1"))), "NVIDIA-H20 NVIDIA-H800"},
		"devices of the first class":    {[]option{class("a"), class("b"), class("c"), claimTemplate("t", nil, firstAvailable(exactly("a", 1), exactly("b", 2)))}, job(pods(1, fromTemplate("t"))), "a b"},
		"cards that a PodGroup accepts": {[]option{both}, &workload.Template{Kind: "PodGroup", CardRequest: `{"NVIDIA-H20|NVIDIA-H800": 3}`}, "NVIDIA-H20 NVIDIA-H800"},
	} {
		t.Run(name, func(t *testing.T) {
			counter, n, err := newWorld(c.world...).counted(t, c.job, framework.Spread{Copies: 1})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, o := range n.Choices {
				names = append(names, counter.Dimensions().Dimension(o).String())
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("choices %s, want %s", got, c.want)
			}
		})
	}
}
