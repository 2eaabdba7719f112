// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/devicequota/devicequota/pkg/cli/simulate"
	"github.com/devicequota/devicequota/pkg/simulation"
)

// ask runs kubectl devicequota simulate as a user with only read access, and returns the answer and the exit code.
func (f *fixture) ask(ctx context.Context, args ...string) (*simulate.Answer, int) {
	GinkgoHelper()
	output, code := f.askText(ctx, append(args, "-o", "json")...)
	answer := &simulate.Answer{}
	Expect(json.Unmarshal([]byte(output), answer)).To(Succeed(), "%s", output)
	Expect(answer.Unread).To(BeEmpty())
	return answer, code
}

func (f *fixture) askText(ctx context.Context, args ...string) (string, int) {
	GinkgoHelper()
	args = append([]string{"simulate", "--as", f.reader(ctx)}, args...)
	return run(ctx, controlPlane.Kubeconfig(), args...)
}

// run runs kubectl devicequota, and returns its output and its exit code.
func run(ctx context.Context, kubeconfig string, args ...string) (string, int) {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, plugin, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "LC_ALL=C.UTF-8")
	cmd.Stderr = GinkgoWriter
	output, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() != 1 {
		return string(output), exit.ExitCode()
	}
	Expect(err).NotTo(HaveOccurred(), "kubectl devicequota %s", strings.Join(args, " "))
	return string(output), 0
}

// reader returns a user with only read access to everything.
func (f *fixture) reader(ctx context.Context) string {
	GinkgoHelper()
	name := f.name("reader")
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}}
	_, err := kube.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
	if err != nil { // an earlier call has created it
		return name
	}
	DeferCleanup(kube.RbacV1().ClusterRoles().Delete, name, metav1.DeleteOptions{})
	must(kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}, metav1.CreateOptions{}))
	DeferCleanup(kube.RbacV1().ClusterRoleBindings().Delete, name, metav1.DeleteOptions{})
	Eventually(func() error { _, err := tryDevicequota(ctx, "snapshot", "--as", name, "-f", os.DevNull); return err }).WithContext(ctx).Should(Succeed())
	return name
}

// file writes a job to a file.
func (f *fixture) file(j job) string {
	GinkgoHelper()
	text := must(yaml.Marshal(f.jobOf(j)))
	file := filepath.Join(GinkgoT().TempDir(), j.name+".yaml")
	Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
	return file
}

// versions returns the resource versions of the objects that are relevant to a simulation.
func (f *fixture) versions(ctx context.Context) map[string]string {
	GinkgoHelper()
	all := map[string]string{}
	pods := must(kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{}))
	for i := range pods.Items {
		all["pod/"+pods.Items[i].Name] = pods.Items[i].ResourceVersion
	}
	claims := must(kube.ResourceV1().ResourceClaims(f.namespace).List(ctx, metav1.ListOptions{}))
	for i := range claims.Items {
		all["claim/"+claims.Items[i].Name] = claims.Items[i].ResourceVersion
	}
	list := must(queues.SchedulingV1beta1().Queues().List(ctx, metav1.ListOptions{}))
	for i := range list.Items {
		if q := &list.Items[i]; strings.HasPrefix(q.Name, f.namespace) {
			all["queue/"+q.Name] = fmt.Sprint(q.Generation) // the scheduler itself writes the annotations and the status
		}
	}
	return all
}

var _ = Describe("kubectl devicequota simulate", func() {
	It("says that a job starts, where, and what it is charged, or the cause for which it waits, and the scheduler does the same", func(ctx context.Context) {
		s := newScene(ctx)
		s.h100s(ctx, "n", 4)
		team := s.team(ctx, "team", "root", s.atMost(2))

		fits := gang("fits", team, 2)
		answer, code := s.ask(ctx, "-f", s.file(fits))
		Expect(code).To(BeZero())
		Expect(answer.Others).To(BeEmpty())
		Expect(answer.Tried).To(HaveLen(1))
		tried := answer.Tried[0]
		Expect(tried.Verdict).To(Equal(simulation.Starts))
		Expect(tried.Pods).To(HaveLen(2))
		charged := map[string]string{}
		for _, amount := range tried.Charged {
			charged[amount.Dimension.String()] = amount.Amount.String()
		}
		Expect(charged).To(HaveKeyWithValue(s.class, "2"))
		s.submit(ctx, fits)
		s.expectRunning(ctx, "fits", 2)
		for _, pod := range s.pods(ctx, "fits") {
			Expect(tried.Pods).To(ContainElement(SatisfyAll(HaveField("Name", pod.Name), HaveField("Node", pod.Spec.NodeName))))
		}
		expectAllocated(ctx, team, s.class+"/count", charged[s.class])

		waits := gang("waits", team, 1)
		answer, code = s.ask(ctx, "-f", s.file(waits))
		Expect(code).To(Equal(3))
		Expect(answer.Tried).To(HaveLen(1))
		why := answer.Tried[0].Why
		Expect(why).To(HaveField("Message", insufficient(team, s.class, 1, 3, 2)))
		Expect(answer.Tried[0].Explanations).To(HaveLen(1))
		Expect(answer.Tried[0].Explanations[0].Checks).To(ContainElement(HaveField("Message", why.Message)))
		s.submit(ctx, waits)
		s.expectNotEnqueued(ctx, "waits", why.Reason, why.Message)
	})

	It("names the victims of a job and of another quota, writes nothing, and does so from a file, with and without names", func(ctx context.Context) {
		s := newScene(ctx)
		low, high := s.priorities(ctx)
		s.h100s(ctx, "n", 4)
		ours, theirs := s.oursAndTheirs(ctx, "root", 1, 2)
		s.singles(ctx, "stays", theirs, 3, claiming("one"), ofPriority(high))
		s.singles(ctx, "goes", theirs, 1, claiming("one"), ofPriority(low), annotated("notes.volcano.sh/owner", "alice-in-chains"))
		Eventually(s.running).WithContext(ctx).Should(Equal(4))

		before := s.versions(ctx)
		takes := gang("takes", ours, 1)
		file := s.file(takes)
		answer, _ := s.ask(ctx, "-f", file)
		Expect(answer.Tried).To(ConsistOf(HaveField("Verdict", simulation.Starts)))
		Expect(victims(answer)).To(ConsistOf("goes-0"))
		online, _ := s.askText(ctx, "-f", file)

		By("another quota: the queue takes nothing back, or another one two devices")
		answer, code := s.ask(ctx, "-f", file, "--set", ours+".deserved."+s.class+".count=0")
		Expect(code).To(Equal(3))
		Expect(victims(answer)).To(BeEmpty())
		Expect(answer.Tried[0].Explanations[0].Eviction).To(SatisfyAll(Not(BeNil()), HaveField("Possible", BeFalse())))
		answer, _ = s.ask(ctx, "-f", s.file(gang("two", ours, 2)), "--set", ours+".deserved."+s.class+".count=2")
		Expect(victims(answer)).To(ConsistOf("goes-0", HavePrefix("stays-")))
		Expect(s.versions(ctx)).To(Equal(before), "a simulation writes nothing")

		By("a file of the cluster, without the cluster")
		dir := GinkgoT().TempDir()
		state, nameless, nowhere := filepath.Join(dir, "state.yaml.gz"), filepath.Join(dir, "nameless.yaml"), filepath.Join(dir, "none")
		_, code = run(ctx, controlPlane.Kubeconfig(), "snapshot", "--as", s.name("nobody"), "-f", os.DevNull)
		Expect(code).To(Equal(3), "what a user may not read is not in the file")
		_, code = run(ctx, controlPlane.Kubeconfig(), "snapshot", "-f", state)
		Expect(code).To(BeZero())
		offline, _ := run(ctx, nowhere, "simulate", "--snapshot", state, "-f", file)
		Expect(offline).To(Equal(online))

		By("a file without names")
		s.submit(ctx, gang("large", ours, 4))
		Eventually(func() int { return s.told(ctx, "large") }).WithContext(ctx).Should(Equal(4), "pods of job large: both files have the same of it")
		run(ctx, controlPlane.Kubeconfig(), "snapshot", "-f", state)
		run(ctx, controlPlane.Kubeconfig(), "snapshot", "--anonymize", "-f", nameless)
		text := must(os.ReadFile(nameless))
		Expect(words(string(text))).NotTo(ContainElement(BeElementOf(s.secrets(ctx))))
		named, _ := run(ctx, nowhere, "simulate", "--snapshot", state, "-o", "json")
		unnamed, _ := run(ctx, nowhere, "simulate", "--snapshot", nameless, "-o", "json")
		Expect(summary(unnamed)).To(Equal(summary(named)))
		Expect(summary(named)).NotTo(BeEmpty())

		By("the scheduler")
		s.deleteJob(ctx, "large")
		s.submit(ctx, takes)
		s.expectRunning(ctx, "takes", 1)
		Eventually(s.record.evicted).WithContext(ctx).Should(Equal(tally{"goes": 1}))
	}, NodeTimeout(2*timeout))
})

// told returns the number of pods of a job that have their claim and a condition that they wait.
func (s *scene) told(ctx context.Context, job string) (n int) {
	for _, pod := range s.pods(ctx, job) {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && len(pod.Status.ResourceClaimStatuses) > 0 {
				n++
			}
		}
	}
	return n
}

// running returns the number of running pods of the namespace.
func (s *scene) running(ctx context.Context) (n int, err error) {
	pods, err := kube.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
	if err != nil {
		return 0, err
	}
	return len(pods.Items), nil
}

// victims returns the names of all evicted pods.
func victims(answer *simulate.Answer) (names []string) {
	for i := range answer.Others {
		names = append(names, answer.Others[i].Evicted...)
	}
	return names
}

// notInNames matches separators between names.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

func words(text string) []string {
	all := notInNames.Split(text, -1)
	slices.Sort(all)
	return slices.Compact(all)
}

// secrets returns the names in the cluster other than those of Kubernetes and Volcano.
func (s *scene) secrets(ctx context.Context) (names []string) {
	GinkgoHelper()
	add := func(name string) {
		if !slices.Contains([]string{"default", "root", "kube-system", "volcano-system"}, name) {
			names = append(names, name)
		}
	}
	pods := must(kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{}))
	for i := range pods.Items {
		add(pods.Items[i].Name)
	}
	nodes := must(kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{}))
	for i := range nodes.Items {
		add(nodes.Items[i].Name)
	}
	namespaces := must(kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{}))
	for i := range namespaces.Items {
		add(namespaces.Items[i].Name)
	}
	list := must(queues.SchedulingV1beta1().Queues().List(ctx, metav1.ListOptions{}))
	for i := range list.Items {
		add(list.Items[i].Name)
	}
	return append(names, "alice-in-chains", "takes", "large", s.name("low"), s.name("high"))
}

// summary returns an answer's statements about its workloads, without names.
func summary(output string) (all []string) {
	GinkgoHelper()
	var answer simulate.Answer
	Expect(json.Unmarshal([]byte(output), &answer)).To(Succeed())
	for _, w := range answer.Next {
		reason, checks := "", []string{}
		if w.Why != nil {
			reason = w.Why.Reason
		}
		for _, e := range w.Explanations {
			for _, check := range e.Checks {
				checks = append(checks, check.Name+"="+string(check.Result))
			}
		}
		all = append(all, fmt.Sprint(w.Verdict, len(w.Pods), len(w.Evicted), len(w.Charged), reason, checks))
	}
	slices.Sort(all)
	return all
}
