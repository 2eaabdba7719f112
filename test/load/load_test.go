// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"

	"github.com/devicequota/devicequota/test/cluster"
)

const (
	namespace = "load"
	// creators is the number of pods that are created at the same time.
	creators = 16
	// patience bounds each wait. Only a scheduler that leaves pods waiting, or a benchmark that fails, takes so long.
	patience = 5 * time.Minute
)

// BenchmarkCluster measures each scheduler with each shape, on a cluster of its own.
func BenchmarkCluster(b *testing.B) {
	for _, s := range shapes {
		for _, c := range contestants {
			if !c.serves(s) {
				continue
			}
			b.Run(fmt.Sprintf("%s/scheduler=%s", s, c.name), func(b *testing.B) {
				for range b.N {
					site := start(b, s, c.scheduler)
					site.pods = c.pods
					site.measure()
					if err := site.Stop(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// site is a cluster without pods.
type site struct {
	*cluster.Cluster
	*testing.B
	shape shape
	// pods is the name of the scheduler of the pods.
	pods    string
	client  *kubernetes.Clientset
	volcano *volcano.Clientset
}

// start returns a cluster whose nodes are ready. Nothing acts for kubelets any more, so that only the schedulers and controllers work.
func start(b *testing.B, s shape, scheduler cluster.Scheduler) *site {
	b.Helper()
	setting := filepath.Join(b.TempDir(), "setting.yaml")
	file, err := os.Create(setting)
	if err != nil {
		b.Fatal(err)
	}
	if err := settingTemplate.Execute(file, s); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	options := cluster.Options{Scheduler: scheduler, Manifests: []string{setting}}
	if scheduler != cluster.Kube {
		options.SchedulerArgs = []string{"--schedule-period=100ms", "--v=0"}
	}
	c, err := cluster.Start(context.Background(), options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Stop() })
	config := c.Config()
	config.QPS, config.Burst = 5000, 5000
	at := &site{Cluster: c, B: b, shape: s, client: kubernetes.NewForConfigOrDie(config), volcano: volcano.NewForConfigOrDie(config)}
	at.await("nodes are ready", at.nodesReady, s.Nodes)
	if scheduler != cluster.Kube {
		at.await("queues are open", at.queuesOpen, s.Queues)
	}
	if err := c.Kill(cluster.Kwok); err != nil {
		b.Fatal(err)
	}
	return at
}

// measure creates the pods, and reports what the scheduler needs until the last one has a node.
func (at *site) measure() {
	ctx, cancel := context.WithTimeout(at.Context(), patience)
	defer cancel()
	arrivals := follow(ctx, at.client)
	began := time.Now()
	before := &usage{}
	if at.shape.Rate > 0 {
		before = at.usage()
		at.stream(ctx)
	} else {
		at.stop()
		at.create(ctx)
		began = time.Now()
		if err := at.Restart(ctx, cluster.VolcanoScheduler); err != nil {
			at.Fatal(err)
		}
	}
	at.report(began, arrivals.await(ctx, at.shape.bound()), before)
}

// stop stops the scheduler, so that it finds all pods when it starts.
func (at *site) stop() {
	if err := at.Kill(cluster.VolcanoScheduler); err != nil {
		at.Fatal(err)
	}
}

// create creates all pods, and waits until controllers have made their claims and PodGroups.
func (at *site) create(ctx context.Context) {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range at.shape.Pods {
		group.Go(func() error { return at.createPod(groupCtx, i) })
	}
	if err := group.Wait(); err != nil {
		at.Fatal(err)
	}
	if at.shape.Resource == "" {
		at.await("claims are made", at.claims, at.shape.Pods)
	}
	if groups := at.shape.Groups(); groups > 0 {
		at.await("PodGroups exist", at.groups, groups)
	} else if at.pods == "volcano" {
		at.await("PodGroups exist", at.groups, at.shape.Pods)
	}
}

// stream creates pods at the rate of the shape.
func (at *site) stream(ctx context.Context) {
	due := time.NewTicker(time.Second / time.Duration(at.shape.Rate))
	defer due.Stop()
	group, groupCtx := errgroup.WithContext(ctx)
	for i := range at.shape.Pods {
		<-due.C
		group.Go(func() error { return at.createPod(groupCtx, i) })
	}
	if err := group.Wait(); err != nil {
		at.Fatal(err)
	}
}

func (at *site) createPod(ctx context.Context, i int) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i), Namespace: namespace, Annotations: map[string]string{
		schedulingv1beta1.QueueNameAnnotationKey: fmt.Sprintf("queue-%d", i%at.shape.Queues),
	}}}
	if at.shape.Gang > 0 {
		pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey] = fmt.Sprintf("gang-%d", i/at.shape.Gang)
	}
	container := corev1.Container{Name: "main", Image: "registry.example.com/main:v1"}
	container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}
	if name := at.shape.Resource; name != "" {
		container.Resources.Limits = corev1.ResourceList{corev1.ResourceName(name): resource.MustParse("1")}
		container.Resources.Requests[corev1.ResourceName(name)] = resource.MustParse("1")
	} else {
		container.Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}
	}
	pod.Spec.SchedulerName, pod.Spec.Containers = at.pods, []corev1.Container{container}
	_, err := at.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// await waits until a number of objects are as they should be.
func (at *site) await(what string, count func(context.Context) (int, error), want int) {
	at.Helper()
	found := 0
	err := wait.PollUntilContextTimeout(at.Context(), 250*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		var err error
		found, err = count(ctx)
		return found >= want, err
	})
	if err != nil {
		at.Fatalf("%s: %d of %d: %v", what, found, want, err)
	}
}

var anyVersion = metav1.ListOptions{ResourceVersion: "0"}

func (at *site) nodesReady(ctx context.Context) (int, error) {
	nodes, err := at.client.CoreV1().Nodes().List(ctx, anyVersion)
	if err != nil {
		return 0, err
	}
	ready := slices.DeleteFunc(nodes.Items, func(node corev1.Node) bool {
		return !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
	})
	return len(ready), nil
}

func (at *site) queuesOpen(ctx context.Context) (int, error) {
	queues, err := at.volcano.SchedulingV1beta1().Queues().List(ctx, anyVersion)
	if err != nil {
		return 0, err
	}
	open := slices.DeleteFunc(queues.Items, func(queue schedulingv1beta1.Queue) bool {
		return queue.Status.State != schedulingv1beta1.QueueStateOpen
	})
	return len(open), nil
}

func (at *site) claims(ctx context.Context) (int, error) {
	claims, err := at.client.ResourceV1().ResourceClaims(namespace).List(ctx, anyVersion)
	if err != nil {
		return 0, err
	}
	return len(claims.Items), nil
}

func (at *site) groups(ctx context.Context) (int, error) {
	groups, err := at.volcano.SchedulingV1beta1().PodGroups(namespace).List(ctx, anyVersion)
	if err != nil {
		return 0, err
	}
	return len(groups.Items), nil
}
