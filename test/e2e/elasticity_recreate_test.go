// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/gomega"
)

// recreated creates a node of four devices. Its pods have a controller that recreates them when they are evicted.
func recreated(create func(ctx context.Context, s *scene, queue string)) func(context.Context, *scene) {
	return func(ctx context.Context, s *scene) {
		s.h100s(ctx, "n", 4)
		_, theirs := s.oursAndTheirs(ctx, "root", 2, 2)
		create(ctx, s, theirs)
	}
}

func onePodAsks(ctx context.Context, s *scene) {
	s.singles(ctx, "ours", s.name("ours"), 1, claiming("one"))
}

// expectReplacementWaits checks that the replacement of the victim waits and says why.
func expectReplacementWaits(ctx context.Context, s *scene) {
	s.expectExplained(ctx, "theirs", 1, names(s.class))
}

var oneReplaced = outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 3, "ours": 1}}

// recreateScenarios are about victims that their controllers replace.
var recreateScenarios = []scenario{
	{
		name: "a victim of a Deployment is replaced by a pod that waits",
		given: recreated(func(ctx context.Context, s *scene, queue string) {
			s.deployment(ctx, "theirs", queue, 4, claiming("one"), slowly)
		}),
		when: onePodAsks, want: oneReplaced, then: expectReplacementWaits,
	},
	{
		name: "a victim of a Deployment that ends at once is replaced by a pod that waits",
		given: recreated(func(ctx context.Context, s *scene, queue string) {
			s.deployment(ctx, "theirs", queue, 4, claiming("one"))
		}),
		when: onePodAsks, want: oneReplaced, then: expectReplacementWaits,
	},
	{
		name: "a victim of a Volcano Job is replaced by a pod that waits",
		given: recreated(func(ctx context.Context, s *scene, queue string) {
			s.job(ctx, "theirs", queue, 4, 1, claiming("one"), slowly)
		}),
		when: onePodAsks, want: oneReplaced, then: expectReplacementWaits,
	},
	{
		name: "a victim of a Kubernetes Job is replaced by a pod that waits",
		given: recreated(func(ctx context.Context, s *scene, queue string) {
			s.kubernetesJob(ctx, "theirs", queue, 4, claiming("one"), slowly)
		}),
		when: onePodAsks, want: oneReplaced, then: expectReplacementWaits,
	},
}

// untilEvicted makes the others wait until the victims of the scenario are evicted.
func untilEvicted(context.Context, *scene) {}

// untilOursPromised makes the others wait until the API server knows the nodes that our pods were promised. If the scheduler is killed
// before that, it has promised nothing.
func untilOursPromised(ctx context.Context, s *scene) {
	promised := func() tally { return s.record.count(func(h podHistory) bool { return h.nominated != "" }) }
	Eventually(promised).WithContext(ctx).Should(HaveKeyWithValue("ours", s.asked["ours"]), "pods that were promised a node")
}

// crashScenarios are about the time between an eviction and the start of the pod that it was for. The scheduler is killed when all
// victims are evicted.
var crashScenarios = []scenario{
	{
		name:      "a pod starts for which the previous scheduler evicted another",
		given:     fourDevicesHeldByTheirs(belowRoot, slowly),
		when:      onePodAsks,
		meanwhile: untilEvicted,
		want:      oneReplaced,
	},
	{
		name: "a gang starts for which the previous scheduler evicted pods that are replaced",
		given: recreated(func(ctx context.Context, s *scene, queue string) {
			s.deployment(ctx, "theirs", queue, 4, claiming("one"), slowly)
		}),
		when:      gangOfTwoAsks,
		meanwhile: untilOursPromised, // otherwise, the replacements of the victims may be first
		want:      outcome{evicted: tally{"theirs": 2}, running: tally{"theirs": 2, "ours": 2}},
		then: func(ctx context.Context, s *scene) {
			s.expectExplained(ctx, "theirs", 2, names(s.class))
		},
	},
	{
		name:  "a device goes to somebody else when the pod that it was freed for is deleted",
		given: fourDevicesHeldByTheirs(belowRoot, slowly),
		when:  onePodAsks,
		meanwhile: func(ctx context.Context, s *scene) {
			s.remove(ctx, "ours")
			s.singles(ctx, "late", s.team(ctx, "others", "root"), 1, claiming("one"))
		},
		want: outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 3, "late": 1}},
	},
}
