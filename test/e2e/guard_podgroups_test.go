// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
)

func guardOfPodGroups() {
	// The policy of queues refuses a stranger, too. The API server reports one policy: the first that it evaluated.
	intoTeam := func(a attempt) judged {
		return judged{a, []string{administrator, volcanos}, map[string]string{
			member: "may not move PodGroup existing from queue default to team-a", stranger: "user stranger may not "}}
	}
	DescribeTable("does not let users change what is charged through", func(ctx context.Context, j judged) { j.check(ctx) },
		Entry("the queue of a PodGroup", intoTeam(attempt{existing: podGroup("default", ""), patch: "spec: {queue: team-a}"})),
		Entry("the queue of a PodGroup, by a server-side apply", intoTeam(attempt{existing: podGroup("default", ""), apply: podGroup("team-a", "")})),
		Entry("the queue of a PodGroup, which another user may use", nobodyBut("may not move PodGroup existing from queue team-a to default",
			attempt{existing: podGroup("team-a", ""), patch: "spec: {queue: default}"})),
		Entry("conditions of a new PodGroup", nobodyBut("may not create PodGroup attempt with a status", attempt{create: podGroup("default", "status: {phase: Pending, conditions: [{}]}")})),
		Entry("many resources", nobodyBut("more than 64 entries in minResources", attempt{create: podGroup("default, minResources: {"+strings.Join(numbered("example.com/r%d: 1", 65), ", ")+"}", "")})),
		Entry("the status of a new PodGroup", nobodyBut("may not create PodGroup attempt with a status", attempt{create: podGroup("default", "status: {phase: Inqueue}")})),
		Entry("the status of a PodGroup", nobodyBut("may not change the status of PodGroup existing",
			attempt{existing: podGroup("default", ""), patch: "status: {phase: Unknown, running: 7}"})),
		Entry("a new PodGroup with the status that clients write", everybody(attempt{create: podGroup("default", "status: {phase: Pending}")})),
		Entry("the owner of a PodGroup", nobodyBut("may not change the owners of PodGroup existing", attempt{
			existing: podGroup("team-a", ""), patch: "metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: gone, uid: gone}]}"})),
		Entry("a label of a PodGroup", everybody(attempt{existing: podGroup("team-a", ""), patch: "metadata: {labels: {a: b}}"})),
		Entry("the deletion of a PodGroup without pods", everybody(attempt{existing: podGroup("default", ""), remove: true})),
		Entry("the deletion of all PodGroups, none of which has pods", everybody(attempt{existing: podGroup("default", ""), removeAll: true})),
	)

	It("keeps a PodGroup in the queue of its namespace, whoever writes it", func(ctx context.Context) {
		namespaces := kubernetes.NewForConfigOrDie(as(administrator)).CoreV1().Namespaces()
		sendTo := func(ctx context.Context, queue string) {
			patch := []byte(`{"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": ` + queue + `}}}`)
			must(namespaces.Patch(ctx, guarded, types.MergePatchType, patch, metav1.PatchOptions{}))
		}
		groups := volcano.NewForConfigOrDie(as(administrator)).SchedulingV1beta1().PodGroups(guarded)
		group := &upstreamv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Spec: upstreamv1beta1.PodGroupSpec{Queue: "team-a", MinMember: 1}}
		must(groups.Create(ctx, group, metav1.CreateOptions{}))
		DeferCleanup(func(ctx context.Context) error { return groups.Delete(ctx, "kept", metav1.DeleteOptions{}) })
		moved := func(user, queue string) error {
			own := volcano.NewForConfigOrDie(as(user)).SchedulingV1beta1().PodGroups(guarded)
			_, err := own.Patch(ctx, "kept", types.MergePatchType, []byte(`{"spec": {"queue": `+queue+`}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}
		Expect(moved(volcanos, `"default"`)).To(Succeed())
		sendTo(ctx, `"team-a"`)
		DeferCleanup(sendTo, "null")
		refusal := ContainSubstring("PodGroup kept would go from queue team-a to the default queue, in whose place namespace " + guarded + " names queue team-a")
		for _, user := range []string{volcanos, administrator} {
			Eventually(moved).WithArguments(user, `"default"`).WithContext(ctx).Should(MatchError(refusal))
			Expect(moved(user, "null")).To(MatchError(refusal), "the CRD has a default")
			Expect(moved(user, `"other"`)).To(Succeed())
		}
	})

	It("does not let users delete the PodGroup of pods that run", func(ctx context.Context) {
		pod := parseObject(podIn("team-a"))
		must(attempt{}.client(pod, member).Create(ctx, pod, metav1.CreateOptions{}))
		own := volcano.NewForConfigOrDie(as(member)).SchedulingV1beta1().PodGroups(guarded)
		group := ""
		Eventually(func(g Gomega) {
			groups, err := own.List(ctx, metav1.ListOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(groups.Items).To(HaveLen(1))
			g.Expect(groups.Items[0].Status.Running).To(BeEquivalentTo(1))
			group = groups.Items[0].Name
		}).WithContext(ctx).Should(Succeed())
		refusal := "user member may not delete PodGroup " + group + " of queue team-a, of which 1 pods run: delete the job or its pods first"
		Expect(own.Delete(ctx, group, metav1.DeleteOptions{})).To(MatchError(ContainSubstring(refusal)))
		Expect(own.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(MatchError(ContainSubstring(refusal)))

		By("deleting its pods")
		pods := kubernetes.NewForConfigOrDie(as(member)).CoreV1().Pods(guarded)
		Expect(pods.Delete(ctx, pod.GetName(), metav1.DeleteOptions{})).To(Succeed())
		Eventually(func() int {
			groups := must(own.List(ctx, metav1.ListOptions{}))
			return len(groups.Items)
		}).WithContext(ctx).Should(BeZero(), "the garbage collector deletes the PodGroup")
	})
}

func guardOfNamespaces() {
	const namespace, label = "apiVersion: v1\nkind: Namespace\n", "devicequota.io/guarded"
	const refusal = "user stranger may not change the label devicequota.io/guarded of Namespace"
	DescribeTable("lets only those who may use every queue set the label", func(ctx context.Context, j judged) { j.check(ctx) },
		Entry("in a new namespace", nobodyBut("may not change the label", attempt{create: namespace + "metadata: {name: attempt, labels: {" + label + `: "false"}}`})),
		Entry("a new namespace without it", everybody(attempt{create: namespace})),
		Entry("of administrative access, for which no queue is charged", nobodyBut("may not change the label resource.kubernetes.io/admin-access of Namespace attempt",
			attempt{create: namespace + `metadata: {name: attempt, labels: {resource.kubernetes.io/admin-access: "true"}}`})),
	)
	It("lets only those who may use a queue send to it what names no queue", func(ctx context.Context) {
		sending := func(user, queue string) error {
			patch := []byte(`{"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "` + queue + `"}}}`)
			dry := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
			_, err := kubernetes.NewForConfigOrDie(as(user)).CoreV1().Namespaces().Patch(ctx, guarded, types.MergePatchType, patch, dry)
			return err
		}
		for _, user := range []string{member, administrator} {
			Expect(sending(user, "team-a")).To(Succeed())
		}
		Expect(sending(administrator, "other")).To(Succeed())
		Expect(sending(stranger, "team-a")).To(MatchError(ContainSubstring("user stranger may not use queue team-a, to which Namespace team-a would send what names no queue")))
		Expect(sending(member, "other")).To(MatchError(ContainSubstring("user member may not use queue other")))
	})
	It("keeps the label when users change the namespace", func(ctx context.Context) {
		own := kubernetes.NewForConfigOrDie(as(stranger)).CoreV1().Namespaces()
		dry := metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}
		team := must(own.Get(ctx, guarded, metav1.GetOptions{}))
		team.Labels["other"] = "label"
		must(own.Update(ctx, team, dry))
		delete(team.Labels, label)
		for _, update := range []func() error{
			func() error { _, err := own.Update(ctx, team, dry); return err },
			func() error { _, err := own.UpdateStatus(ctx, team, dry); return err },
			func() error { _, err := own.Finalize(ctx, team, dry); return err },
		} {
			Expect(update()).To(MatchError(ContainSubstring(refusal + " team-a")))
		}
		must(kube.CoreV1().Namespaces().Update(ctx, team, dry))
	})
}
