// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

const (
	// soakDuration is how long jobs are created, unless the environment variable ELASTICITY_SOAK is set, for example
	// ELASTICITY_SOAK=20m. Give go test a longer -timeout, too.
	soakDuration = "40s"
	// soakPatience is how long a queue may wait for a device that another queue could give. Pods take up to two seconds to end. On a machine that others share,
	// it may wait until soakSessions have run, but no longer than soakMost.
	soakPatience, soakMost = 10 * time.Second, time.Minute
	soakSessions           = 30
	soakStep               = 200 * time.Millisecond

	soakNodes, soakDevicesPerNode = 4, 6
	// soakCrowd is the number of waiting pods of a team above which it gets no more jobs.
	soakCrowd = 4
)

// soakTeam is a queue of the soak. Each pod uses one device.
type soakTeam struct {
	queue, organization string
	deserved            int
}

type elasticitySoak struct {
	*scene
	random        *rand.Rand
	teams         []soakTeam
	organizations map[string]int // what they deserve
	low, high     string
	jobs          int
	waiting       map[string]soakWait
}

// newElasticitySoak creates two organizations of five teams. Together they deserve all devices.
func newElasticitySoak(ctx context.Context, s *scene) *elasticitySoak {
	k := &elasticitySoak{
		scene: s, random: rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0)), organizations: map[string]int{},
		waiting: map[string]soakWait{},
	}
	k.low, k.high = s.priorities(ctx)
	for i := range soakNodes {
		s.h100s(ctx, fmt.Sprint("n", i), soakDevicesPerNode)
	}
	const half = soakNodes * soakDevicesPerNode / 2
	for _, name := range []string{"east", "west"} {
		organization := s.team(ctx, name, "root", s.deserves(half))
		k.organizations[organization] = half
		for i, deserved := range []int{3, 3, 2, 2, 2} {
			queue := s.team(ctx, fmt.Sprint(name, "-", i), organization, s.deserves(int64(deserved)))
			k.teams = append(k.teams, soakTeam{queue: queue, organization: organization, deserved: deserved})
		}
	}
	return k
}

// soakElasticity creates and deletes random jobs in ten queues, and checks invariants every second.
func soakElasticity(ctx context.Context) {
	duration := must(time.ParseDuration(cmp.Or(os.Getenv("ELASTICITY_SOAK"), soakDuration)))
	s := newScene(ctx)
	k := newElasticitySoak(ctx, s)
	DeferCleanup(deleteNamespace, s.namespace)

	checked, growth := time.Now(), &processGrowth{}
	step := time.NewTicker(soakStep)
	defer step.Stop()
	for began := time.Now(); time.Since(began) < duration; <-step.C {
		k.act(ctx, time.Since(began))
		if time.Since(checked) >= time.Second {
			k.check(ctx)
			deleteCompletedJobs(ctx, k.namespace) // so that there are as many objects at any time
			growth.sample(ctx)
			checked = time.Now()
		}
	}

	By("letting the last victims leave")
	Eventually(k.promisesToKeep).WithContext(ctx).Should(BeEmpty(), "pods that were promised a node, and have not started")
	Eventually(k.evictedInVain).WithContext(ctx).Should(BeEmpty(), "pods for which others were evicted, and that have not started")
	evicted := s.record.evicted().sum()
	AddReportEntry("soak", fmt.Sprintf("%d jobs, %d evictions, %s", k.jobs, evicted, growth))
	growth.expectNone()
	Expect(evicted).To(BeNumerically(">", int(duration/(10*time.Second))), "so few evictions prove nothing")
}

// act adds a job, and sometimes deletes one. Most jobs go to one team, which changes every five seconds. It borrows devices that
// others reclaim later.
func (k *elasticitySoak) act(ctx context.Context, after time.Duration) {
	team := k.teams[k.random.IntN(len(k.teams))]
	if k.random.IntN(3) > 0 {
		team = k.teams[int(after/(5*time.Second))*3%len(k.teams)]
	}
	waiting, jobs := 0, []string{}
	for _, h := range k.record.histories() {
		if h.waits() && h.pod.Annotations[upstreamv1beta1.QueueNameAnnotationKey] == team.queue {
			waiting++
		}
		if !h.ended() && h.pod.DeletionTimestamp == nil {
			jobs = append(jobs, h.pod.Labels[groupLabel])
		}
	}
	if waiting < soakCrowd {
		k.add(ctx, team.queue)
	}
	if len(jobs) > 0 && k.random.IntN(10) == 0 {
		k.removeJob(ctx, jobs[k.random.IntN(len(jobs))])
	}
	succeeded := metav1.ListOptions{FieldSelector: "status.phase=Succeeded"}
	Expect(kube.CoreV1().Pods(k.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, succeeded)).To(Succeed())
}

func (k *elasticitySoak) add(ctx context.Context, queue string) {
	k.jobs++
	options := []podOption{claiming("one"), annotated("devicequota.io/run-for", fmt.Sprint(20+k.random.IntN(60), "s"))}
	if k.random.IntN(2) == 0 {
		options = append(options, ending(int64(1+k.random.IntN(2))))
	}
	name := fmt.Sprint("job-", k.jobs)
	switch k.random.IntN(10) {
	case 0:
		k.singles(ctx, name, queue, 1, append(options, ofPriority(k.high))...)
	case 1, 2:
		k.job(ctx, name, queue, 2, 2, append(options, ofPriority(k.low))...)
	case 3, 4:
		k.job(ctx, name, queue, 3, 1, append(options, ofPriority(k.low))...)
	default:
		k.singles(ctx, name, queue, 1, append(options, ofPriority(k.low))...)
	}
}

// removeJob deletes a Volcano Job, or a pod, in any state.
func (k *elasticitySoak) removeJob(ctx context.Context, name string) {
	k.remove(ctx, name)
	Expect(ignoreNotFound(vc.BatchV1alpha1().Jobs(k.namespace).Delete(ctx, name, metav1.DeleteOptions{}))).To(Succeed())
}
