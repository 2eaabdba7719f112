// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/devicequota/devicequota/test/cluster"
)

// unguarded returns an attempt in a namespace that is not guarded, where no policy checks workloads.
func unguarded(object string) attempt {
	return attempt{as: administrator, namespace: "default", create: object}
}

var _ = Describe("The webhook for quotas and cards", Ordered, func() {
	const (
		malformed = "volcano.sh/card.name: 'A||B'"
		ofObjects = `.webhook.devicequota.io" denied the request: `
		ofQueues  = `admission webhook "queues.webhook.devicequota.io" denied the request: `
	)
	waiting := []string{"Volcano CronJob", "JobTemplate"} // for the webhook
	listedTwice := queueWith(`volcano.sh/card.quota: '{"A": 1, "A": 2}'`)
	inForce := func(ctx context.Context) {
		GinkgoHelper()
		for _, object := range []string{asPod(volcanoTemplate(malformed)), listedTwice} {
			Eventually(func() error { return unguarded(object).try(ctx) }).WithContext(ctx).Should(MatchError(ContainSubstring("webhook.devicequota.io")))
		}
	}

	BeforeAll(func(ctx context.Context) {
		Expect(controlPlane.StartWebhook(ctx)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return controlPlane.StopWebhook(ctx) })
		inForce(ctx)
	})

	// objects returns pods and objects with one pod template, by kind.
	objects := func(annotations string) map[string]string {
		all := map[string]string{}
		for kind, object := range workloads {
			all[kind] = object(volcanoTemplate(annotations))
		}
		for kind, object := range volcanoJobs {
			all[kind] = object(volcanoJob("default", template(annotations, "")))
		}
		return all
	}

	It("refuses malformed names of cards in all kinds of objects that have pods, and admits all others", func(ctx context.Context) {
		for kind, object := range objects(malformed) {
			Expect(unguarded(object).try(ctx)).To(MatchError(And(ContainSubstring(ofObjects),
				ContainSubstring("its annotation volcano.sh/card.name is wrong at character 2"))), kind)
		}
		for kind, object := range objects("volcano.sh/card.name: A|B") {
			Expect(unguarded(object).try(ctx)).To(Succeed(), kind)
		}
		byController := strings.Replace(asPod(volcanoTemplate(malformed)), "labels:", "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: x, uid: 0a1b, controller: true}], labels:", 1)
		Expect(unguarded(byController).try(ctx)).To(Succeed(), "a pod whose template was there before")
	})

	DescribeTable("refuses what the scheduler's readers refuse, and nothing else:", func(ctx context.Context, object, key string, read func(string) error) {
		for _, text := range cardTexts {
			u := parseObject(object)
			Expect(unstructured.SetNestedField(u.Object, text, "metadata", "annotations", key)).To(Succeed())
			_, err := unguarded("").client(u, administrator).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if want := read(text); want != nil {
				Expect(err).To(MatchError(Or(ContainSubstring(want.Error()), ContainSubstring("ValidatingAdmissionPolicy"))), "%.80q", text)
			} else {
				Expect(err).NotTo(HaveOccurred(), "%.80q", text)
			}
		}
	},
		Entry("the names of a pod", asPod(volcanoTemplate("")), "volcano.sh/card.name", readNames),
		Entry("the request of a PodGroup", podGroup("default", ""), "volcano.sh/card.request", readRequest),
		Entry("the quota of a queue", queueWith(""), "volcano.sh/card.quota", readQuota),
	)

	DescribeTable("looks at quotas of queues:", func(ctx context.Context, a attempt, refused string) {
		a.as, a.namespace = administrator, "default"
		if err := a.try(ctx); refused == "" {
			Expect(err).NotTo(HaveOccurred())
		} else {
			Expect(err).To(MatchError(ContainSubstring(ofQueues + refused)))
		}
	},
		Entry("a card that is listed twice", attempt{create: listedTwice}, "Queue attempt: its annotation volcano.sh/card.quota is wrong at character 12: A is listed twice"),
		Entry("a key of Volcano 1.15 without a class", attempt{existing: queueWith(""), patch: "spec: {capability: {deviceclass/: 1}}"},
			"Queue existing: its spec.capability[deviceclass/] names no DeviceClass"),
		Entry("half a device that is guaranteed", attempt{existing: queueWith(""), patch: "spec: {guarantee: {resource: {deviceclass/h100: 500m}}}"},
			"Queue existing: its spec.guarantee.resource[deviceclass/h100] is 500m: set it to a whole number of devices"),
		Entry("a capacity beyond all numbers", attempt{existing: queueWith(""), patch: "spec: {dra: {capability: {h100: {count: 1, capacity: {memory: '1e40'}}}}}"},
			"Queue existing: its spec.dra.capability[h100].capacity[memory] is 10e39: set it to zero or more, and to less than 1e29"),
		Entry("valid keys of Volcano 1.15", attempt{existing: queueWith(""), patch: "spec: {capability: {deviceclass/h100: 1}}"}, ""),
	)

	It("refuses in the words of its page", func(ctx context.Context) {
		text := must(os.ReadFile("../../docs/guard.md"))
		message := regexp.MustCompile(`(?m)^    (` + ofQueues + `Queue team-a: .*)$`).FindSubmatch(text)
		Expect(message).NotTo(BeNil())
		object := strings.Replace(queueWith(`volcano.sh/card.quota: '{"NVIDIA-H200": 8, "NVIDIA-H200": 4}'`), "metadata: {", "metadata: {name: team-a, ", 1)
		Expect(unguarded(object).try(ctx)).To(MatchError(string(message[1])))
	})

	It("is not asked about anything else", func(ctx context.Context) {
		before := asked(ctx)
		for kind, object := range objects("") {
			if slices.Contains(waiting, kind) {
				continue
			}
			Expect(unguarded(object).try(ctx)).To(Succeed(), kind)
		}
		Expect(unguarded(queueWith("")).try(ctx)).To(Succeed())
		Expect(asked(ctx)).To(Equal(before))
	})

	It("refuses what keeps Volcano's controllers from starting", func(ctx context.Context) {
		for _, kind := range waiting {
			for _, numbers := range []string{"maxRetry: 99999999999\n" + volcanoJob("default", template("", "")), volcanoJob("default", template("", "priority: 99999999999, ")),
				volcanoJob("default", "spec: {containers: [{name: main, image: i, resources: {requests: {cpu: '1e1.5'}}}]}")} {
				err := unguarded(volcanoJobs[kind](numbers)).try(ctx)
				Expect(err).To(MatchError(ContainSubstring(`admission webhook "objects.webhook.devicequota.io" denied the request: `)), kind)
				Expect(err).To(MatchError(ContainSubstring("it cannot be read: ")), kind)
			}
		}
	})

	It("lets everything pass while it does not run, but kinds that Volcano's controllers may not be able to read", func(ctx context.Context) {
		Expect(controlPlane.Kill(cluster.Webhook)).To(Succeed())
		for kind, object := range objects(malformed) {
			outcome := Succeed()
			if slices.Contains(waiting, kind) {
				outcome = MatchError(ContainSubstring(`failed calling webhook "objects.webhook.devicequota.io"`))
			}
			Expect(unguarded(object).try(ctx)).To(outcome, kind)
		}
		Expect(unguarded(listedTwice).try(ctx)).To(Succeed())
		Expect(controlPlane.Restart(ctx, cluster.Webhook)).To(Succeed())
		inForce(ctx)
	})
})

var requestsOfWebhook = regexp.MustCompile(`(?m)^controller_runtime_webhook_requests_total\{code="200",webhook="/validate"\} (\d+)$`)

// asked returns the number of requests that the webhook has received.
func asked(ctx context.Context) int {
	GinkgoHelper()
	_, text := get(ctx, controlPlane.WebhookMetricsURL())
	found := requestsOfWebhook.FindStringSubmatch(text)
	Expect(found).NotTo(BeNil(), "%s", text)
	return must(strconv.Atoi(found[1]))
}
