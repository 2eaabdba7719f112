// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// explain asks why each pod and each job waits. It fails if an answer lacks a cause, or if the questions change the session.
func (c *fuzzCluster) explain(ssn *framework.Session) {
	before, books, told := statuses(ssn), opened.snapshot.Ledger.Describe(), c.told(ssn)
	for _, pod := range c.pods {
		c.ask(ssn, "Pod", pod.Namespace, pod.Name)
	}
	for _, job := range ssn.Jobs {
		c.ask(ssn, "PodGroup", job.Namespace, job.Name)
	}
	if after := statuses(ssn); after != before {
		c.fail("questions have changed pods from\n%s to\n%s", before, after)
	}
	after := c.told(ssn)
	for _, id := range told {
		if !slices.Contains(after, id) { // pods that the session had not tried may have reasons now
			c.fail("after questions, fewer are told why they wait:\n%s, and then\n%s", strings.Join(told, "\n"), strings.Join(after, "\n"))
		}
	}
	if after := opened.snapshot.Ledger.Describe(); after != books {
		c.fail("questions have changed the ledger from\n%s to\n%s", books, after)
	}
}

// told returns the jobs and pods whose waiting the session would explain at its end. The reason is from the last question, for
// example that other pods have used up the quota in the meantime.
func (c *fuzzCluster) told(ssn *framework.Session) []string {
	var all []string
	for id, job := range ssn.Jobs {
		if refusal, _ := opened.cache.report.WhyJob(id); refusal != nil {
			all = append(all, string(id))
		}
		for _, task := range job.Tasks {
			if refusal := opened.explainer().Cause(job, task); refusal != nil {
				all = append(all, string(task.UID))
			}
		}
	}
	return all
}

func (c *fuzzCluster) ask(ssn *framework.Session, kind, namespace, name string) {
	type reply struct {
		told *v1alpha1.Explanation
		err  error
	}
	replies := make(chan reply, 1)
	go func() {
		told, err := c.plugins.Publisher().Explain(context.Background(), kind, namespace, name)
		replies <- reply{told, err}
	}()
	for {
		c.plugins.Answer(ssn)
		select {
		case got := <-replies:
			c.checkExplanation(kind+" "+name, got.told, got.err)
			return
		default:
		}
	}
}

func (c *fuzzCluster) checkExplanation(what string, told *v1alpha1.Explanation, err error) {
	switch {
	case err != nil && strings.Contains(err.Error(), "failed to explain"):
		c.fail("%s: %v: %s", what, err, logged.take())
	case err != nil || told.State != v1alpha1.Waiting:
	case told.Cause == nil || told.Cause.Message == "":
		c.fail("%s waits without a cause: %+v", what, told)
	}
}
