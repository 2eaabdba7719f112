// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// follow calls a function for each version of each object of a kind in a namespace, until the spec ends.
func follow[T any](namespace string, kind func(informers.SharedInformerFactory) cache.SharedIndexInformer, see func(object T, gone bool)) {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	DeferCleanup(cancel)
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(namespace))
	must(kind(factory).AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { see(obj.(T), false) },
		UpdateFunc: func(_, obj any) { see(obj.(T), false) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			see(obj.(T), true)
		},
	}))
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
}

func followPods(namespace string, see func(pod *corev1.Pod, gone bool)) {
	GinkgoHelper()
	follow(namespace, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Pods().Informer()
	}, see)
}

func followClaims(namespace string, see func(claim *resourcev1.ResourceClaim, gone bool)) {
	GinkgoHelper()
	follow(namespace, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Resource().V1().ResourceClaims().Informer()
	}, see)
}

// claimWatch sums up the allocated devices of a class at every change of a claim of a namespace.
type claimWatch struct {
	mu        sync.Mutex
	allocated map[types.UID]int
	now       int
	highest   int
}

// watchDevices starts to watch the claims of the fixture's class.
func (f *fixture) watchDevices() *claimWatch {
	w := &claimWatch{allocated: map[types.UID]int{}}
	followClaims(f.namespace, func(claim *resourcev1.ResourceClaim, gone bool) {
		devices := 0
		if !gone && claim.Status.Allocation != nil && claim.Spec.Devices.Requests[0].Exactly.DeviceClassName == f.class {
			devices = len(claim.Status.Allocation.Devices.Results)
		}
		w.change(claim.UID, devices)
	})
	return w
}

func (w *claimWatch) change(uid types.UID, devices int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now += devices - w.allocated[uid]
	w.allocated[uid] = devices
	w.highest = max(w.highest, w.now)
}

// most returns the highest sum so far.
func (w *claimWatch) most() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.highest
}

// current returns the current sum.
func (w *claimWatch) current() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// podWatch finds running pods of Volcano with a claim that is not allocated or not reserved for them. A kubelet does not start these
// pods, but kwok does.
type podWatch struct {
	kube   kubernetes.Interface
	cancel context.CancelFunc
	mu     sync.Mutex
	found  []string
	// checked are the pods whose devices have been checked at their start.
	checked map[types.UID]bool
}

func watchPods() *podWatch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &podWatch{kube: kube, cancel: cancel, checked: map[types.UID]bool{}}
	factory := informers.NewSharedInformerFactory(kube, 0)
	must(factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			if before.(*corev1.Pod).Status.Phase != corev1.PodRunning {
				w.check(ctx, after.(*corev1.Pod))
				w.setChecked(after.(*corev1.Pod).UID)
			}
		},
	}))
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return w
}

func (w *podWatch) stop() { w.cancel() }

func (w *podWatch) setChecked(pod types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checked[pod] = true
}

// expectChecked waits until a running pod has been checked. A spec calls it before it changes what the node offers.
func (w *podWatch) expectChecked(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Eventually(func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.checked[pod.UID]
	}).WithContext(ctx).Should(BeTrue(), "pod %s/%s is checked", pod.Namespace, pod.Name)
}

func (w *podWatch) check(ctx context.Context, pod *corev1.Pod) {
	if pod.Status.Phase != corev1.PodRunning || pod.Spec.SchedulerName != "volcano" {
		return
	}
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			w.report("pod %s/%s runs without a claim for %s", pod.Namespace, pod.Name, pod.Spec.ResourceClaims[i].Name)
			continue
		}
		w.checkClaim(ctx, pod, *name)
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		w.checkClaim(ctx, pod, extended.ResourceClaimName)
		return
	}
	w.checkPlugins(ctx, pod)
}

func (w *podWatch) checkClaim(ctx context.Context, pod *corev1.Pod, name string) {
	var claim *resourcev1.ResourceClaim
	restarted := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 1.5, Steps: 12} // specs restart the API server
	err := retry.OnError(restarted, func(err error) bool { return !apierrors.IsNotFound(err) && ctx.Err() == nil }, func() (err error) {
		claim, err = w.kube.ResourceV1().ResourceClaims(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if err == nil && resourceclaim.IsReservedForPod(pod, claim) && claim.Status.Allocation != nil {
		return
	}
	// The pod, and its claim, may have been deleted in the meantime.
	now, getErr := w.kube.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if getErr == nil && now.UID == pod.UID && now.Status.Phase == corev1.PodRunning && now.DeletionTimestamp == nil {
		w.report("pod %s/%s runs, but claim %s is not allocated to it (%v)", pod.Namespace, pod.Name, name, err)
	}
}

// checkPlugins checks a pod without an extended claim: device plugins on its node offer what it requests.
func (w *podWatch) checkPlugins(ctx context.Context, pod *corev1.Pod) {
	for _, container := range pod.Spec.Containers {
		for name, quantity := range container.Resources.Requests {
			if !strings.Contains(string(name), "/") || quantity.IsZero() {
				continue
			}
			node, err := w.kube.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
			if _, listed := node.Status.Allocatable[name]; err == nil && !listed {
				w.report("pod %s/%s runs on node %s, which does not list %s, and has no extended claim", pod.Namespace, pod.Name, node.Name, name)
			}
		}
	}
}

func (w *podWatch) report(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found = append(w.found, fmt.Sprintf(format, args...))
}

func (w *podWatch) violations() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.found
}
