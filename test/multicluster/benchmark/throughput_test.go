// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package benchmark

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	karmadaclient "github.com/karmada-io/karmada/pkg/generated/clientset/versioned"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	devicequota "github.com/devicequota/devicequota/pkg/client/clientset/versioned"
	"github.com/devicequota/devicequota/test/cluster"
)

const (
	jobs       = 500
	podsPerJob = 2
	queues     = 10
	// creators is the number of jobs that are created at the same time.
	creators = 8
	// patience bounds the wait for all pods. Only a benchmark that fails waits so long.
	patience = 5 * time.Minute
)

// members are the names of the member clusters.
var members = []string{"east", "west"}

// site is a Karmada control plane with two members.
type site struct {
	*cluster.Karmada
	b *testing.B
}

// BenchmarkPods measures the time from the creation of the first of 500 Volcano Jobs with two pods each until all pods run in member clusters. The
// jobs are in ten queues with room for all of them. Without a dispatcher, the queues on Karmada's API server have no effect.
func BenchmarkPods(b *testing.B) {
	s := start(b)
	b.Run("dispatcher=false", func(b *testing.B) { s.measure(b, "without") })
	if _, err := s.StartDispatcher(b.Context(), "a", cluster.DispatcherOptions{ConfigFile: filepath.Join("..", "..", "..", "config", "dispatcher", "config.yaml")}); err != nil {
		b.Fatal(err)
	}
	b.Run("dispatcher=true", func(b *testing.B) { s.measure(b, "with") })
}

// start returns a site with the queues. In the members, the queues have no limits.
func start(b *testing.B) *site {
	b.Helper()
	both := filepath.Join("..", "testdata", "both")
	member := cluster.Options{Manifests: []string{both, filepath.Join("..", "testdata", "member")}, SchedulerArgs: []string{"--schedule-period=100ms"}}
	o := cluster.KarmadaOptions{Manifests: []string{both}}
	for _, name := range members {
		o.Members = append(o.Members, cluster.Member{Name: name, Options: member})
	}
	k, err := cluster.StartKarmada(context.Background(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = k.Stop() })
	s := &site{k, b}
	for i := range queues {
		queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: queueName(i)}}
		queue.Spec.Parent, queue.Spec.Weight = "root", 1
		for _, name := range members {
			s.createQueue(s.Member(name).Config(), queue.DeepCopy())
		}
		queue.Spec.Capability = corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(jobs*podsPerJob, resource.DecimalSI)}
		s.createQueue(s.Config(), queue)
	}
	return s
}

func queueName(i int) string { return fmt.Sprintf("team-%d", i%queues) }

func (s *site) createQueue(config *rest.Config, queue *schedulingv1beta1.Queue) {
	s.b.Helper()
	if _, err := devicequota.NewForConfigOrDie(config).SchedulingV1beta1().Queues().Create(s.b.Context(), queue, metav1.CreateOptions{}); err != nil {
		s.b.Fatal(err)
	}
}

func (s *site) measure(b *testing.B, name string) {
	for i := range b.N {
		namespace := fmt.Sprintf("%s-%d", name, i)
		b.StopTimer()
		s.createNamespace(b, namespace)
		b.StartTimer()
		began := time.Now()
		s.createJobs(b, namespace)
		s.waitForPods(b, namespace, jobs*podsPerJob)
		b.ReportMetric(jobs*podsPerJob/time.Since(began).Seconds(), "pods/s")
		b.StopTimer()
		policy := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
		if err := volcano.NewForConfigOrDie(s.Config()).BatchV1alpha1().Jobs(namespace).DeleteCollection(b.Context(), policy, metav1.ListOptions{}); err != nil {
			b.Fatal(err)
		}
		s.waitForPods(b, namespace, 0)
		b.StartTimer()
	}
}

// createNamespace creates a namespace. Each of its Volcano Jobs runs in one member.
func (s *site) createNamespace(b *testing.B, name string) {
	b.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().Namespaces().Create(b.Context(), namespace, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	policy := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "jobs"}}
	policy.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job"}}
	policy.Spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByFieldCluster, MinGroups: 1, MaxGroups: 1}}
	if _, err := karmadaclient.NewForConfigOrDie(s.Config()).PolicyV1alpha1().PropagationPolicies(name).Create(b.Context(), policy, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
}

func (s *site) createJobs(b *testing.B, namespace string) {
	b.Helper()
	config := rest.CopyConfig(s.Config())
	config.QPS, config.Burst = 1000, 1000
	client := volcano.NewForConfigOrDie(config).BatchV1alpha1().Jobs(namespace)
	group := errgroup.Group{}
	group.SetLimit(creators)
	for i := range jobs {
		group.Go(func() error {
			_, err := client.Create(b.Context(), job(i), metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

// job returns a job. Its pods are small, so all pods can run before a node is full.
func job(i int) *batchv1alpha1.Job {
	pods := corev1.PodTemplateSpec{}
	pods.Spec = corev1.PodSpec{SchedulerName: "volcano", RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](0)}
	pods.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
	}}}
	job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("job-%d", i)}}
	job.Spec = batchv1alpha1.JobSpec{
		SchedulerName: "volcano", Queue: queueName(i), MinAvailable: podsPerJob,
		Tasks: []batchv1alpha1.TaskSpec{{Name: "main", Replicas: podsPerJob, MinAvailable: ptr.To[int32](podsPerJob), Template: pods}},
	}
	return job
}

// waitForPods waits until the members run a number of pods in a namespace, and have no other pods there.
func (s *site) waitForPods(b *testing.B, namespace string, want int) {
	b.Helper()
	running, others := 0, 0
	err := wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		running, others = 0, 0
		for _, name := range members {
			pods, err := kubernetes.NewForConfigOrDie(s.Member(name).Config()).CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				return false, err
			}
			for i := range pods.Items {
				if pods.Items[i].Status.Phase == corev1.PodRunning && pods.Items[i].DeletionTimestamp == nil {
					running++
				} else {
					others++
				}
			}
		}
		return running == want && others == 0, nil
	})
	if err != nil {
		b.Fatalf("%d pods run in namespace %s, and there are %d others, want %d: %v", running, namespace, others, want, err)
	}
}
