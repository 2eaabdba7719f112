// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"fmt"
	"testing"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

const benchNodes = 5000

// BenchmarkPlainNodes measures a session in a cluster of plain nodes.
func BenchmarkPlainNodes(b *testing.B) { benchmarkOpen(b, "cpu=96 memory=1Ti") }

// BenchmarkGPUNodes measures a session in a cluster of GPU nodes with ten pods each.
func BenchmarkGPUNodes(b *testing.B) { benchmarkOpen(b, "cpu=96 memory=1Ti nvidia.com/gpu=8") }

func benchmarkOpen(b *testing.B, amounts string) {
	c := newCache()
	c.recorder = &notes{}
	c.configure(gpuArgs(argQuotaResources, "cpu,memory", "quota-percentage.cpu", 50))
	session := &framework.Session{Nodes: map[string]*api.NodeInfo{}}
	for i := range benchNodes {
		node := api.NewNodeInfo(newNode(fmt.Sprint("node-", i), amounts))
		for j := range 10 {
			pod := newPod(fmt.Sprint("pod-", i, "-", j), node.Name, "cpu=1 memory=1Gi")
			if err := node.AddTask(api.NewTaskInfo(pod)); err != nil {
				b.Fatal(err)
			}
		}
		session.Nodes[node.Name] = node
		session.NodeList = append(session.NodeList, node)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.session++
		plugin := &plugin{cache: c, config: c.config, session: session}
		plugin.openAccounts()
		plugin.publish()
		c.forget(session)
	}
}
