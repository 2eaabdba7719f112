// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// onNode binds pods to a node of the scene.
func (s *scene) onNode(node string) podOption {
	return func(p *corev1.PodTemplateSpec) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{s.name(node)}},
			}}},
		}}}
	}
}

// deservesResources sets the cpu and memory that a queue deserves.
func deservesResources(cpu, memory string) queueOption {
	return func(q *schedulingv1beta1.Queue) {
		q.Spec.Deserved = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
}

// cards sets the capability and the deserved amount of a queue, in H100 cards of device plugins.
func cards(atMost, deserved int) queueOption {
	return func(q *schedulingv1beta1.Queue) {
		q.Annotations[schedulingv1beta1.CardQuotaAnnotation] = fmt.Sprintf(`{%q: %d}`, h100, atMost)
		q.Annotations["volcano.sh/card.deserved"] = fmt.Sprintf(`{%q: %d}`, h100, deserved)
	}
}

// card makes pods request one H100 card of the scene's node.
func (s *scene) card(p *corev1.PodTemplateSpec) {
	requests(gpus, "1")(p)
	annotated("volcano.sh/card.name", h100)(p)
	s.onNode("n")(p)
}

// cardsHeldByTheirs creates a node of four cards. A queue that deserves two of them holds all.
func cardsHeldByTheirs(ctx context.Context, s *scene) {
	s.gpuNode(ctx, "n", h100, 4)
	organization := s.team(ctx, "organization", "root")
	s.team(ctx, "ours", organization, cards(4, 2))
	s.singles(ctx, "theirs", s.team(ctx, "theirs", organization, cards(4, 2)), 4, s.card)
}

// sharedByTheirs creates a node of four devices. A queue that deserves two of them holds all. Two pods share a claim with two of the devices.
func (s *scene) sharedByTheirs(ctx context.Context, options ...podOption) {
	s.h100s(ctx, "n", 4)
	_, theirs := s.oursAndTheirs(ctx, "root", 2, 2)
	s.claim(ctx, "shared", exactly(s.class, 2))
	s.singles(ctx, "sharer", theirs, 2, sharing("shared"), slowly)
	s.singles(ctx, "single", theirs, 2, append(options, claiming("one"))...)
}

// deservesOf sets what a queue deserves of a class that is not the scene's.
func deservesOf(class string, count int64) queueOption {
	return func(q *schedulingv1beta1.Queue) {
		q.Spec.DRA.Deserved = schedulingv1beta1.DeviceQuotas{class: {Count: count}}
	}
}

// deservesAmount sets what a queue deserves of a resource.
func deservesAmount(name corev1.ResourceName, quantity string) queueOption {
	return func(q *schedulingv1beta1.Queue) { q.Spec.Deserved = amount(name, quantity) }
}

// dimensionScenarios are about cards, mixed requests, and shared claims.
var dimensionScenarios = []scenario{
	{
		name:  "a pod takes back a card that its queue deserves",
		given: cardsHeldByTheirs,
		when:  func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 1, s.card) },
		want:  outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 3, "ours": 1}},
		then: func(ctx context.Context, s *scene) {
			s.expectNotified(ctx, "theirs", "Reclaimed", SatisfyAll(names(s.name("ours"), s.name("theirs"), h100, "deserve"), MatchRegexp(`\b4\b`), MatchRegexp(`\b2\b`)))
			expectCards(ctx, s.name("ours"), h100+"=1")
		},
	},
	{
		name:  "of three pods, two take back the cards that their queue deserves",
		given: cardsHeldByTheirs,
		when:  func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 3, s.card) },
		want:  outcome{evicted: tally{"theirs": 2}, running: tally{"theirs": 2, "ours": 2}},
	},
	{
		name: "a pod takes back a device, cpu, and memory from the pods that hold them",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4) // 64 cores, 256Gi
			organization := s.team(ctx, "organization", "root")
			s.team(ctx, "ours", organization, s.deserves(2), deservesResources("32", "128Gi"))
			theirs := s.team(ctx, "theirs", organization, s.deserves(2), deservesResources("32", "128Gi"))
			s.singles(ctx, "device", theirs, 4, claiming("one"))
			s.singles(ctx, "many-cores", theirs, 1, requests(corev1.ResourceCPU, "32"), s.onNode("n"))
			s.singles(ctx, "cores", theirs, 1, requests(corev1.ResourceCPU, "28"), requests(corev1.ResourceMemory, "64Gi"), s.onNode("n"))
		},
		when: func(ctx context.Context, s *scene) {
			s.singles(ctx, "ours", s.name("ours"), 1, claiming("one"), requests(corev1.ResourceCPU, "28"), requests(corev1.ResourceMemory, "32Gi"))
		},
		// Without the larger pod, the queue would hold less cpu than it deserves.
		want: outcome{evicted: tally{"device": 1, "cores": 1}, running: tally{"device": 3, "many-cores": 1, "ours": 1}},
	},
	{
		name: "a right to a device is none to the cpu that another queue deserves",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4) // 64 cores
			organization := s.team(ctx, "organization", "root")
			s.team(ctx, "ours", organization, s.deserves(1))
			theirs := s.team(ctx, "theirs", organization, deservesAmount(corev1.ResourceCPU, "64"))
			s.singles(ctx, "theirs", theirs, 4, claiming("one"), requests(corev1.ResourceCPU, "16"))
		},
		when: func(ctx context.Context, s *scene) {
			s.singles(ctx, "ours", s.name("ours"), 1, claiming("one"), requests(corev1.ResourceCPU, "64"))
		},
		want: outcome{evicted: tally{}, running: tally{"theirs": 4}},
	},
	{
		name: "a right to a device of a general class is none to a special device that another queue deserves",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "special", 2)
			s.node(ctx, "general", devices(2, "a100", nil)...)
			any := s.name("any")
			createClass(ctx, any, fmt.Sprintf("device.driver == %q", s.driver()))
			s.template(ctx, "any", exactly(any, 1))
			organization := s.team(ctx, "organization", "root")
			s.team(ctx, "ours", organization, deservesOf(any, 2))
			theirs := s.team(ctx, "theirs", organization, s.deserves(2))
			s.singles(ctx, "special", theirs, 2, claiming("one"))
			s.singles(ctx, "general", theirs, 2, claiming("any"), s.onNode("general"))
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 2, claiming("any")) },
		want: outcome{evicted: tally{"general": 2}, running: tally{"special": 2, "ours": 2}},
	},
	{
		name: "a device that another queue deserves protects nothing that it has borrowed beside it",
		given: func(ctx context.Context, s *scene) {
			nic := s.model(ctx, "nic")
			s.node(ctx, "n", append(devices(2, "h100", nil), devices(2, "nic", nil)...)...)
			second := exactly(nic, 1)
			second.Name = "nic"
			s.template(ctx, "both", exactly(s.class, 1), second)
			organization := s.team(ctx, "organization", "root")
			s.team(ctx, "ours", organization, s.deserves(1))
			s.singles(ctx, "theirs", s.team(ctx, "theirs", organization, deservesOf(nic, 2)), 2, claiming("both"))
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 1, claiming("one")) },
		want: outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 1, "ours": 1}},
	},
	{
		name: "what a queue deserves by the name of an extended resource is not taken by the name of its class",
		given: func(ctx context.Context, s *scene) {
			class := s.model(ctx, "l4", offering(s.gpu()))
			s.node(ctx, "n", devices(4, "l4", nil)...)
			s.template(ctx, "l4", exactly(class, 2))
			organization := s.team(ctx, "organization", "root")
			s.team(ctx, "ours", organization, deservesOf(class, 2))
			s.singles(ctx, "theirs", s.team(ctx, "theirs", organization, deservesAmount(s.gpu(), "4")), 4, requests(s.gpu(), "1"))
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 1, claiming("l4")) },
		want: outcome{evicted: tally{}, running: tally{"theirs": 4}},
	},
	{
		name:  "two pods that share a claim are both evicted for its devices",
		given: func(ctx context.Context, s *scene) { s.sharedByTheirs(ctx, notPreemptable) },
		when:  func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 1, claiming("two")) },
		want:  outcome{evicted: tally{"sharer": 2}, running: tally{"single": 2, "ours": 1}},
		then:  func(ctx context.Context, s *scene) { expectAllocated(ctx, s.name("theirs"), s.class+"/count", 2) },
	},
	{
		name:  "two pods that share a claim are left alone if one pod without it is enough",
		given: func(ctx context.Context, s *scene) { s.sharedByTheirs(ctx) },
		when:  onePodAsks,
		want:  outcome{evicted: tally{"single": 1}, running: tally{"sharer": 2, "single": 1, "ours": 1}},
	},
	{
		name: "two pods that share one claim take back its devices once",
		given: func(ctx context.Context, s *scene) {
			s.claim(ctx, "together", exactly(s.class, 2))
			fourDevicesHeldByTheirs(belowRoot)(ctx, s)
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 2, sharing("together")) },
		want: outcome{evicted: tally{"theirs": 2}, running: tally{"theirs": 2, "ours": 2}},
	},
}
