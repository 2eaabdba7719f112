// SPDX-License-Identifier: Apache-2.0

package cards

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// cluster is an API server with nodes, and a cache that watches it.
type cluster struct {
	*testing.T
	kube     *fake.Clientset
	cache    *Cache
	recorder *record.FakeRecorder
	reporter *report.Reporter
}

func newCluster(t *testing.T, nodes ...*corev1.Node) *cluster {
	c := &cluster{T: t, kube: fake.NewClientset(), cache: NewCache(), recorder: record.NewFakeRecorder(10)}
	c.reporter = report.NewReporter(c.recorder)
	for _, n := range nodes {
		must(t, c.kube.Tracker().Add(n))
	}
	watching := make(chan struct{})
	begun := sync.OnceFunc(func() { close(watching) })
	c.kube.PrependWatchReactor("nodes", func(action clienttesting.Action) (bool, watch.Interface, error) {
		defer begun()
		changes, err := c.kube.Tracker().Watch(action.GetResource(), action.GetNamespace())
		return true, changes, err
	})
	ctx, cancel := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(c.kube, 0)
	c.cache.Start(factory.Core().V1().Nodes())
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	<-watching
	for _, n := range nodes {
		c.expectChanged(n.Name)
	}
	return c
}

// expectChanged waits until a node counts as changed.
func (c *cluster) expectChanged(node string) {
	c.Helper()
	err := wait.PollUntilContextTimeout(c.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return c.cache.Pending(node), nil
	})
	if err != nil {
		c.Fatalf("node %s does not count as changed: %v", node, err)
	}
}

func (c *cluster) update(n *corev1.Node) {
	c.Helper()
	_, err := c.kube.CoreV1().Nodes().Update(c.Context(), n, metav1.UpdateOptions{})
	must(c, err)
}

// text lists the cards of the fleet with their numbers.
func (c *cluster) text() string {
	var words []string
	for name, total := range c.cache.Fleet.Totals {
		words = append(words, fmt.Sprintf("%s=%s", name, total))
	}
	return strings.Join(words, " ")
}

func TestRefreshFollowsTheNodes(t *testing.T) {
	c := newCluster(t, node("a", "A", "nvidia.com/gpu=8"), node("b", "B", "nvidia.com/gpu=4"))
	for _, step := range []struct {
		name string
		// changed is the node that the step changes.
		changed string
		do      func()
		want    string
	}{
		{"at the start", "a", func() {}, "A=8 B=4"},
		{"a label changes", "a", func() { c.update(node("a", "C", "nvidia.com/gpu=8")) }, "B=4 C=8"},
		{"what is allocatable changes", "b", func() { c.update(node("b", "B", "nvidia.com/gpu=3")) }, "B=3 C=8"},
		{"a node joins", "d", func() {
			_, err := c.kube.CoreV1().Nodes().Create(t.Context(), node("d", "B", "nvidia.com/gpu=1"), metav1.CreateOptions{})
			must(t, err)
		}, "B=4 C=8"},
		{"a node is removed", "a", func() {
			must(t, c.kube.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}))
		}, "B=4"},
	} {
		step.do()
		c.expectChanged(step.changed)
		c.cache.Refresh(nil, c.reporter)
		if c.text() != step.want || c.cache.Pending(step.changed) {
			t.Errorf("%s: the cards are %q, want %q; the node still counts as changed: %t", step.name, c.text(), step.want, c.cache.Pending(step.changed))
		}
	}
}

func TestRefreshReadsChangedNodesOnly(t *testing.T) {
	c := newCluster(t, node("a", "A", "nvidia.com/gpu=8"), node("b", "B", "nvidia.com/gpu=4"))
	c.cache.Refresh(nil, c.reporter)
	heartbeat := node("a", "A", "nvidia.com/gpu=8")
	heartbeat.Annotations = map[string]string{"heartbeat": "1"}
	c.update(heartbeat)
	c.update(node("b", "B", "nvidia.com/gpu=3"))
	c.expectChanged("b") // events come in the order of the changes
	if c.cache.Pending("a") {
		t.Error("a node counts as changed although neither its labels nor its resources have changed")
	}
	edition := c.cache.Fleet.Generation()
	c.cache.Refresh(nil, c.reporter)
	if c.text() != "A=8 B=3" || c.cache.Fleet.Generation() != edition {
		t.Errorf("the cards are %q; pods are counted anew: %t", c.text(), c.cache.Fleet.Generation() != edition)
	}
}

func TestOtherResourceNamesReadAllNodesAnew(t *testing.T) {
	c := newCluster(t, node("a", "A", "nvidia.com/gpu=8 example.com/card=2"))
	for _, step := range []struct {
		names card.ResourceNames
		want  string
	}{{nil, "A=8"}, {card.ResourceNames{"example.com/card"}, "A=2"}, {card.ResourceNames{"example.com/card"}, "A=2"}, {nil, "A=8"}} {
		if c.cache.Refresh(step.names, c.reporter); c.text() != step.want {
			t.Errorf("with %v the cards are %q, want %q", step.names, c.text(), step.want)
		}
	}
}

func TestInvalidLabelsAreReportedOnce(t *testing.T) {
	invalid := func(memory string) *corev1.Node {
		n := node("a", "A", "nvidia.com/gpu=8")
		n.Labels["nvidia.com/gpu.memory"] = memory
		return n
	}
	const problem = `Warning CardsNotRead The node's cards cannot be counted: its label nvidia.com/gpu.memory is "80GB": write a whole number of MiB`
	c := newCluster(t, invalid("80GB"))
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"at the start", func() {}, problem},
		{"something else changes", func() {
			n := invalid("80GB")
			n.Labels["other"] = "label"
			c.update(n)
		}, ""},
		{"the label is corrected", func() { c.update(invalid("81559")) }, ""},
		{"and invalid once more", func() { c.update(invalid("80GB")) }, problem},
		{"the node is removed", func() {
			must(t, c.kube.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}))
		}, ""},
		{"and joins again", func() {
			_, err := c.kube.CoreV1().Nodes().Create(t.Context(), invalid("80GB"), metav1.CreateOptions{})
			must(t, err)
		}, problem},
	} {
		step.do()
		c.expectChanged("a")
		c.cache.Refresh(nil, c.reporter)
		var got string
		select {
		case got = <-c.recorder.Events:
		default:
		}
		if !strings.HasPrefix(got, step.want) || step.want == "" && got != "" || len(c.recorder.Events) > 0 {
			t.Errorf("%s: event %q, want %q, and %d more", step.name, got, step.want, len(c.recorder.Events))
		}
	}
}

// The lister may show DRA's offers on a node as if the node had cards.
func TestWhatDRAServesIsNoCard(t *testing.T) {
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpus"}, Spec: resourceapi.DeviceClassSpec{ExtendedResourceName: ptr.To("nvidia.com/gpu")}}
	slice := &resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{
		Driver: "gpu", NodeName: ptr.To("n1"), Pool: resourceapi.ResourcePool{Name: "n1", ResourceSliceCount: 1}, Devices: []resourceapi.Device{{Name: "a"}},
	}}
	offers := dra.NewOffers(dra.NewCatalog([]*resourceapi.DeviceClass{class}, []*resourceapi.ResourceSlice{slice}), dra.NewMatcher(cel.NewCache(1, cel.Features{})), nil)
	shown := dra.ShowOffers(node("n1", "H100", ""), offers)
	if quantity := shown.Status.Allocatable["nvidia.com/gpu"]; quantity.Value() != 1 {
		t.Fatalf("the node lists %s, want 1", quantity.String())
	}
	c := newCluster(t, shown)
	c.cache.Refresh(nil, c.reporter)
	if offers := c.cache.Fleet.Node("n1").Offers; len(offers) > 0 {
		t.Errorf("the node has the cards %v, want none", offers)
	}

	c.update(node("n1", "H100", "nvidia.com/gpu=1"))
	c.expectChanged("n1")
	c.cache.Refresh(nil, c.reporter)
	if c.text() != "H100=1" {
		t.Errorf("a device plugin lists as many as DRA served, and the cards are %q, want H100=1", c.text())
	}
}

// fiveThousand has five thousand nodes of five models, with eight cards and four shares each.
func fiveThousand(b *testing.B, reporter *report.Reporter) (*Cache, []*corev1.Node) {
	b.Helper()
	cache, indexer := NewCache(), toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	nodes := make([]*corev1.Node, 5_000)
	for i := range nodes {
		n := node(fmt.Sprint("n", i+1), fmt.Sprint("model-", i%5), "cpu=0 memory=0 pods=50 nvidia.com/gpu=8 nvidia.com/gpu.shared=4")
		n.Labels["nvidia.com/gpu.memory"], n.Labels["nvidia.com/gpu.replicas"] = "81559", "2"
		must(b, indexer.Add(n))
		nodes[i] = n
	}
	cache.lister = corelisters.NewNodeLister(indexer)
	cache.markAllChanged()
	cache.Refresh(nil, reporter)
	return cache, nodes
}

// BenchmarkCardDiscovery measures a session in which all these nodes have changed since the last session.
func BenchmarkCardDiscovery(b *testing.B) {
	reporter := report.NewReporter(&record.FakeRecorder{})
	cache, nodes := fiveThousand(b, reporter)
	for _, changed := range []int{5_000, 10, 0} {
		b.Run(fmt.Sprintf("nodes=5000/changed=%d", changed), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, node := range nodes[:changed] {
					cache.markChanged(node.Name)
				}
				cache.Refresh(nil, reporter)
			}
		})
	}
}

// TestNothingIsTakenTwice: an informer marks nodes while a session refreshes the fleet. A map that both have ends the scheduler.
func TestNothingIsTakenTwice(t *testing.T) {
	c := NewCache()
	taken := c.takeChanged()
	c.markChanged("a")
	if len(taken) > 0 {
		t.Errorf("a session has %v, which the informer writes", taken)
	}
	if taken := c.takeChanged(); len(taken) != 1 {
		t.Errorf("the next session has %v, want node a", taken)
	}
}
