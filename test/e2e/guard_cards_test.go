// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// cardTexts are values of annotations about cards.
var cardTexts = []string{
	"", " ", "A", "A|B", "A||B", "|", "A|", "|A", "A |B", " A", "A\n", "A\tB", "NVIDIA-H20/mps-96g*1/2", "Größe|模型", `"A"`, `A\u0020B`,
	manyCards(64, "|"), manyCards(65, "|"), strings.Repeat("A", 8192), strings.Repeat("A", 8193), strings.Repeat("ß", 4096), strings.Repeat("ß", 4097),
	strings.Repeat("A|", 65) + "A",
	"{}", " {} ", "\t{\r\n}\n", "{", "}", "[]", "null", `"A"`, "{}{}", "{} x", "{,}", `{"A"}`, `{"A":}`, `{A: 1}`, `{'A': 1}`, "H200=8", "three",
	`{"A": 8}`, `{"A":8,"B":0}`, `{ "A" : 8 , "B/mps-96g*1/2" : 4 }`, "{\n  \"A\": 1,\n  \"B\": 2\n}", `{"A": 8,}`, `{,"A": 8}`, `{"A": 1 "B": 2}`, `{"A" 1}`, `{"A": 1}]`,
	`{"A": -1}`, `{"A": -0}`, `{"A": +1}`, `{"A": 01}`, `{"A": 00}`, `{"A": 1.5}`, `{"A": 1.0}`, `{"A": 1e3}`, `{"A": 0x1}`, `{"A": "8"}`, `{"A": true}`, `{"A": null}`,
	`{"A": {}}`, `{"A": [1]}`, `{"A": 9223372036854775807}`, `{"A": 9223372036854775808}`, `{"A": 9999999999999999999}`, `{"A": 10000000000000000000}`,
	`{"A": 1, "A": 2}`, `{"": 1}`, `{"A B": 1}`, "{\"A\tB\": 1}", "{\"A\nB\": 1}", `{"A\tB": 1}`, `{"A\u0020B": 1}`, `{"\u0041": 1}`, `{"A\"B": 1}`, `{"A\\B": 1}`, `{"A\xB": 1}`, `{"A\u00zzB": 1}`,
	`{"A\/B": 1}`, `{"\ud800": 1}`, "{\"A\u007f\": 1}", "{\"A\u00a0B\": 1}", "{\u00a0\"A\": 1}", "\ufeff{}", "{\"A\": 1}\u0085", "{\"A\": 1\v}",
	`{"A|B": 6}`, `{"A||B": 6}`, `{"|": 6}`, `{"A|": 6}`, `{"A\u007cB": 6}`, `{"A|\u007c": 6}`, `{"A| B": 6}`,
	`{"` + manyCards(64, `": 1, "`) + `": 1}`, `{"` + manyCards(65, `": 1, "`) + `": 1}`, `{"` + manyCards(4096, `": 1, "`) + `": 1}`, `{"` + manyCards(4097, `": 1, "`) + `": 1}`,
	`{"` + manyCards(8000, `": 1, "`) + `": 1`, `{"` + strings.Repeat("A", 65526) + `": 1}`, `{"` + strings.Repeat("A", 100_000) + `": 1}`,
}

// manyCards returns n names.
func manyCards(n int, separator string) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("A", i)
	}
	return strings.Join(names, separator)
}

// readNames and readRequest are the scheduler's own readers of the annotations.
func readNames(text string) error { _, err := card.Names(text); return err }

func readRequest(text string) error {
	_, err := demand.OfCardRequest(map[string]string{card.RequestAnnotation: text}, &card.Fleet{}, &ledger.Dimensions{})
	return err
}

func readQuota(text string) error {
	queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{schedulingv1beta1.CardQuotaAnnotation: text}}}
	_, err := quota.Cards(queue, schedulingv1beta1.CardQuotaAnnotation, &ledger.Dimensions{})
	return err
}

func guardOfCards() {
	// annotated returns an object with one annotation at a path.
	annotated := func(object, key, text string, path ...string) *unstructured.Unstructured {
		u := parseObject(object)
		Expect(unstructured.SetNestedField(u.Object, text, append(path, "metadata", "annotations", key)...)).To(Succeed())
		return u
	}
	// refuses reports whether the API server refuses an object because of the annotation.
	refuses := func(ctx context.Context, u *unstructured.Unstructured, key string) bool {
		GinkgoHelper()
		_, err := attempt{}.client(u, administrator).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			Expect(err).To(MatchError(SatisfyAll(ContainSubstring("the annotation "+key+" of "), ContainSubstring(" cannot be read: write "))))
		}
		return err != nil
	}

	DescribeTable("refuses no annotation that the scheduler reads, and all others that CEL can tell:",
		func(ctx context.Context, object, key string, read func(string) error, path ...string) {
			refused := 0
			for _, text := range cardTexts {
				err := read(text)
				if refuses(ctx, annotated(object, key, text, path...), key) {
					Expect(err).To(HaveOccurred(), "the policy refuses %.80q of %d characters, which the scheduler reads", text, len(text))
					refused++
				} else if !celCannotTell(text, err) {
					Expect(err).NotTo(HaveOccurred(), "the policy accepts %.80q of %d characters", text, len(text))
				}
			}
			Expect(refused).To(BeNumerically(">", 15))
		},
		Entry("the quota of a queue", queueWith(""), "volcano.sh/card.quota", readQuota),
		Entry("what a queue deserves", queueWith(""), "volcano.sh/card.deserved", readQuota),
		Entry("the guarantee of a queue", queueWith(""), "volcano.sh/card.guarantee", readQuota),
		Entry("the names of a pod", asPod(volcanoTemplate("")), "volcano.sh/card.name", readNames),
		Entry("the names of a Deployment", workloads["Deployment"](volcanoTemplate("")), "volcano.sh/card.name", readNames, "spec", "template"),
		Entry("the names of a CronJob", workloads["CronJob"](volcanoTemplate("")), "volcano.sh/card.name", readNames, "spec", "jobTemplate", "spec", "template"),
		Entry("the request of a PodGroup", podGroup("default", ""), "volcano.sh/card.request", readRequest),
		Entry("the request of a Volcano Job", volcanoJobs["Volcano Job"](volcanoJob("default", template("", ""))), "volcano.sh/card.request", readRequest),
	)

	const malformed = "cannot be read: write "
	DescribeTable("checks an annotation when it changes:", func(ctx context.Context, j judged) { j.check(ctx) },
		Entry("of a queue", nobodyBut("the annotation volcano.sh/card.deserved of Queue existing "+malformed,
			attempt{existing: queueWith("a: b"), patch: "metadata: {annotations: {volcano.sh/card.deserved: '8'}}"}).everybodyRefused()),
		Entry("of the tasks of a Volcano Job", nobodyBut("the annotation volcano.sh/card.name of the pods of Job attempt "+malformed,
			attempt{create: volcanoJobs["Volcano Job"](volcanoJob("default", template("volcano.sh/card.name: 'A B'", "")))}).everybodyRefused()),
		Entry("of the tasks of a JobTemplate", nobodyBut("the annotation volcano.sh/card.name of the pods of JobTemplate attempt "+malformed,
			attempt{create: volcanoJobs["JobTemplate"](volcanoJob("default", template("volcano.sh/card.name: 'A B'", "")))}).everybodyRefused()),
		Entry("of the template of a Deployment", nobodyBut("the annotation volcano.sh/card.name of the pods of Deployment existing "+malformed,
			attempt{existing: workloads["Deployment"](volcanoTemplate("")), patch: "spec: {template: {metadata: {annotations: {volcano.sh/card.name: '|'}}}}"}).everybodyRefused()),
		Entry("of a namespace that is not guarded", everybody(attempt{namespace: "default", create: asPod(volcanoTemplate("volcano.sh/card.name: '|'"))})),
		Entry("of a pod whose controller made it from a template that was there before", judged{attempt{create: "apiVersion: v1\nkind: Pod\n" +
			"metadata: {annotations: {volcano.sh/card.name: '|'}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: x, uid: 0a1b, controller: true}]}\n" +
			"spec: {schedulerName: volcano, containers: [{name: main, image: i}]}"}, []string{replicaSets}, nil}),
	)
}

// celCannotTell reports whether the scheduler cannot read a text and CEL cannot detect that.
func celCannotTell(text string, err error) bool {
	if err == nil {
		return false
	}
	escaped, long := strings.Contains(text, `\`), len(text) > 1<<16
	wide := len(text) > 8192 && utf8.RuneCountInString(text) <= 8192
	for _, reason := range []string{"listed twice", "9223372036854775808 for", "9999999999999999999 for", "more than 64 cards", "more than 4096 entries", "at most 64 are allowed", ": at character 8192: it has"} {
		if strings.Contains(err.Error(), reason) {
			return true
		}
	}
	return escaped || long || wide
}
