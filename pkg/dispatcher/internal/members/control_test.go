// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	karmadafake "github.com/karmada-io/karmada/pkg/generated/clientset/versioned/fake"
	karmadainformers "github.com/karmada-io/karmada/pkg/generated/informers/externalversions"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

var (
	h20     = ledger.Dimension{Kind: ledger.Card, Name: "H20"}
	anyGPUs = ledger.Dimension{Kind: ledger.DeviceCount, Name: "any"}
)

// control is a control plane with members, all of them fakes.
type control struct {
	*testing.T
	ctx        context.Context
	secrets    *fake.Clientset
	karmada    *karmadafake.Clientset
	members    *Members
	dimensions *ledger.Dimensions
	woken      chan struct{}

	mu sync.Mutex
	// reachable has the API servers by endpoint and token.
	reachable map[string]*fake.Clientset
	notices   []string
}

// newControl returns a control plane of which the dimensions are a card and a class of devices.
func newControl(t *testing.T, secrets ...runtime.Object) *control {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	c := &control{
		T: t, ctx: ctx, secrets: fake.NewClientset(secrets...), karmada: karmadafake.NewSimpleClientset(), dimensions: &ledger.Dimensions{},
		woken: make(chan struct{}, 1), reachable: map[string]*fake.Clientset{},
	}
	c.dimensions.Ordinal(h20)
	c.dimensions.Ordinal(anyGPUs)
	return c.start(cancel)
}

func (c *control) start(cancel context.CancelFunc) *control {
	wake := func() {
		select {
		case c.woken <- struct{}{}:
		default:
		}
	}
	c.members = New(Options{
		Secrets: c.secrets, Connect: c.connect, Changed: wake,
		Notify: func(cluster *clusterv1alpha1.Cluster, _, reason, message string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.notices = append(c.notices, cluster.Name+" "+reason+" "+message)
			wake()
		},
	})
	factory := karmadainformers.NewSharedInformerFactory(c.karmada, 0)
	if _, err := c.members.Start(c.ctx, factory.Cluster().V1alpha1().Clusters()); err != nil {
		c.Fatal(err)
	}
	// A fake clientset loses what is created between the list and the watch of an informer.
	watched := make(chan struct{})
	c.karmada.PrependWatchReactor("clusters", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := c.karmada.Tracker().Watch(action.GetResource(), action.GetNamespace())
		close(watched)
		return true, w, err
	})
	factory.Start(c.ctx.Done())
	select {
	case <-watched:
	case <-c.ctx.Done():
		c.Fatal("clusters are not watched")
	}
	c.Cleanup(func() {
		c.members.Shutdown()
		cancel()
		factory.Shutdown()
	})
	return c
}

func (c *control) connect(config *rest.Config) (kubernetes.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kube := c.reachable[config.Host+" "+config.BearerToken]
	if kube == nil {
		return nil, errors.New("nobody answers")
	}
	return kube, nil
}

// serve makes objects available at an endpoint.
func (c *control) serve(endpoint, token string, objects ...runtime.Object) *fake.Clientset {
	c.mu.Lock()
	defer c.mu.Unlock()
	kube := fake.NewClientset(objects...)
	c.reachable[endpoint+" "+token] = kube
	return kube
}

// eventually waits until a workload that needs so much of a dimension fits or not.
func (c *control) eventually(what string, d ledger.Dimension, count int64, fits bool) {
	c.Helper()
	var refusal *framework.Refusal
	c.until(func() string {
		return fmt.Sprintf("%s: %d of %s must fit: %t, refusal %+v", what, count, d, fits, refusal)
	}, func() bool {
		w := &world{T: c.T, members: c.members, dimensions: c.dimensions, now: start}
		job := w.workload("x", 1)
		w.need(job, d, count)
		refusal = w.fits(job)
		return (refusal == nil) == fits
	})
}

// until waits for a condition, which can only change when something is told.
func (c *control) until(what func() string, holds func() bool) {
	c.Helper()
	for !holds() {
		select {
		case <-c.woken:
		case <-c.ctx.Done():
			c.Fatal(what())
		}
	}
}

// awaitWatch waits until a fake API server is watched for resources. It does not send changes that happen between an
// informer's list and its watch.
func (c *control) awaitWatch(kube *fake.Clientset, resources ...string) {
	c.Helper()
	for _, resource := range resources {
		err := wait.PollUntilContextCancel(c.ctx, time.Millisecond, true, func(context.Context) (bool, error) {
			return slices.ContainsFunc(kube.Actions(), func(a clienttesting.Action) bool { return a.Matches("watch", resource) }), nil
		})
		if err != nil {
			c.Fatalf("%s are not watched: %v", resource, err)
		}
	}
}

func (c *control) told(prefix string) {
	c.Helper()
	c.until(func() string { return fmt.Sprintf("nothing begins with %q in %q", prefix, c.notices) }, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, notice := range c.notices {
			if strings.HasPrefix(notice, prefix) {
				return true
			}
		}
		return false
	})
}

// pushed is a cluster that can be reached.
func pushed(name, endpoint string) *clusterv1alpha1.Cluster {
	c := member(name, 10, 0)
	c.Spec = clusterv1alpha1.ClusterSpec{
		SyncMode: clusterv1alpha1.Push, APIEndpoint: endpoint, InsecureSkipTLSVerification: true,
		SecretRef: &clusterv1alpha1.LocalSecretReference{Namespace: "karmada-cluster", Name: name},
	}
	return c
}

func tokenOf(cluster, token string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-cluster", Name: cluster}, Data: map[string][]byte{"token": []byte(token)}}
}

func (c *control) create(cluster *clusterv1alpha1.Cluster) {
	c.Helper()
	if _, err := c.karmada.ClusterV1alpha1().Clusters().Create(c.ctx, cluster, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
}

func (c *control) update(cluster *clusterv1alpha1.Cluster) {
	c.Helper()
	if _, err := c.karmada.ClusterV1alpha1().Clusters().Update(c.ctx, cluster, metav1.UpdateOptions{}); err != nil {
		c.Fatal(err)
	}
}

func (c *control) must(_ any, err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// live returns a context for changes of objects.
func (c *control) live() (context.Context, metav1.CreateOptions) {
	return c.ctx, metav1.CreateOptions{}
}
