// SPDX-License-Identifier: Apache-2.0

package cards

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// fiveThousand has five thousand nodes of five models, with eight cards and four shares each.
func fiveThousand(b *testing.B, reporter *report.Reporter) (*Cache, []*corev1.Node) {
	b.Helper()
	cache, indexer := NewCache(), toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	nodes := make([]*corev1.Node, 5_000)
	for i := range nodes {
		n := node(fmt.Sprint("n", i+1), fmt.Sprint("model-", i%5), "cpu=0 memory=0 pods=50 nvidia.com/gpu=8 nvidia.com/gpu.shared=4")
		n.Labels["nvidia.com/gpu.memory"], n.Labels["nvidia.com/gpu.replicas"] = "81559", "2"
		if err := indexer.Add(n); err != nil {
			b.Fatal(err)
		}
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
