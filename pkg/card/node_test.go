// SPDX-License-Identifier: Apache-2.0

package card

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// node returns a node with labels and allocatable resources, given as "name=value" words.
func node(labels, allocatable string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: words(labels)}}
	n.Status.Allocatable = corev1.ResourceList{}
	for name, value := range words(allocatable) {
		n.Status.Allocatable[corev1.ResourceName(name)] = resource.MustParse(value)
	}
	return n
}

func words(text string) map[string]string {
	all := map[string]string{}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		all[name] = value
	}
	return all
}

func (n Node) text() string {
	var all []string
	for _, o := range n.Offers {
		all = append(all, fmt.Sprintf("%s=%d(%s)", o.Card, o.Count, o.Resource))
	}
	return strings.Join(all, " ")
}

func TestRead(t *testing.T) {
	const h20 = "nvidia.com/gpu.product=NVIDIA-H20 nvidia.com/gpu.count=8 nvidia.com/gpu.memory=97871 "
	for _, c := range []struct {
		name, labels, allocatable string
		names                     ResourceNames
		want, wantProblem         string
	}{
		{name: "a node without labels has no cards", allocatable: "cpu=8 nvidia.com/gpu=8"},
		{name: "whole cards", labels: h20, allocatable: "cpu=8 nvidia.com/gpu=8", want: "NVIDIA-H20=8(nvidia.com/gpu)"},
		{name: "zero allocatable cards", labels: h20, allocatable: "nvidia.com/gpu=0", want: "NVIDIA-H20=0(nvidia.com/gpu)"},
		{name: "shares by MPS are named by memory, rounded, and replicas", labels: h20 + "nvidia.com/gpu.replicas=2", allocatable: "nvidia.com/gpu.shared=16",
			want: "NVIDIA-H20/mps-96g*1/2=16(nvidia.com/gpu.shared)"},
		{name: "memory is rounded to the nearest", labels: "nvidia.com/gpu.product=A nvidia.com/gpu.memory=81407 nvidia.com/gpu.replicas=4", allocatable: "nvidia.com/gpu.shared=4",
			want: "A/mps-79g*1/4=4(nvidia.com/gpu.shared)"},
		{name: "MIG profiles", labels: h20 + "nvidia.com/mig-1g.18gb.product=NVIDIA-H20-MIG-1g.18gb nvidia.com/mig-1g.18gb.count=7", allocatable: "nvidia.com/mig-1g.18gb=7 nvidia.com/mig-3g.71gb=2",
			want: "NVIDIA-H20/mig-1g.18gb-mixed=7(nvidia.com/mig-1g.18gb) NVIDIA-H20/mig-3g.71gb-mixed=2(nvidia.com/mig-3g.71gb)"},
		{name: "whole cards, MPS and MIG on one node", labels: h20 + "nvidia.com/gpu.replicas=2", allocatable: "nvidia.com/gpu=4 nvidia.com/gpu.shared=4 nvidia.com/mig-1g.18gb=7",
			want: "NVIDIA-H20=4(nvidia.com/gpu) NVIDIA-H20/mps-96g*1/2=4(nvidia.com/gpu.shared) NVIDIA-H20/mig-1g.18gb-mixed=7(nvidia.com/mig-1g.18gb)"},
		{name: "other resources of a vendor are not cards", labels: h20, allocatable: "nvidia.com/gpu=8 nvidia.com/rdma_shared_device_a=63 nvidia.com/hostdev=8 nvidia.com/ib=8 example.com/gpu=2",
			want: "NVIDIA-H20=8(nvidia.com/gpu)"},
		{name: "a resource that is named after the model", labels: "huawei.com/npu.product=Ascend-910B huawei.com/npu.count=8", allocatable: "huawei.com/Ascend910=8 huawei.com/Ascend310P=1 huawei.com/roce=8",
			want: "Ascend-910B=8(huawei.com/Ascend910)"},
		{name: "the longest name of several that the model begins with", labels: "huawei.com/npu.product=Ascend-910B3", allocatable: "huawei.com/Ascend910=8 huawei.com/Ascend910B=8",
			want: "Ascend-910B3=8(huawei.com/Ascend910B)"},
		{name: "a resource that is named after the kind goes first", labels: "huawei.com/npu.product=Ascend-910B", allocatable: "huawei.com/npu=8 huawei.com/Ascend910=8", want: "Ascend-910B=8(huawei.com/npu)"},
		{name: "only resources that match the given names", labels: h20 + "nvidia.com/gpu.replicas=2", allocatable: "nvidia.com/gpu=4 nvidia.com/gpu.shared=4 nvidia.com/mig-1g.18gb=7 example.com/accelerator-x=3",
			names: ResourceNames{"nvidia.com/mig-*", "example.com/*"},
			want:  "NVIDIA-H20=3(example.com/accelerator-x) NVIDIA-H20/mig-1g.18gb-mixed=7(nvidia.com/mig-1g.18gb)"},
		{name: "two models", labels: h20 + "huawei.com/npu.product=Ascend-910B", allocatable: "nvidia.com/gpu=8",
			wantProblem: "it has two card models, Ascend-910B (label huawei.com/npu.product) and NVIDIA-H20 (label nvidia.com/gpu.product): remove one of the labels"},
		{name: "invalid memory affects shares only", labels: "nvidia.com/gpu.product=A nvidia.com/gpu.memory=80GB nvidia.com/gpu.replicas=2", allocatable: "nvidia.com/gpu=4 nvidia.com/gpu.shared=8",
			want: "A=4(nvidia.com/gpu)", wantProblem: `its label nvidia.com/gpu.memory is "80GB": write a whole number of MiB, such as 81559`},
		{name: "zero replicas", labels: h20 + "nvidia.com/gpu.replicas=0", allocatable: "nvidia.com/gpu=1 nvidia.com/gpu.shared=8",
			want: "NVIDIA-H20=1(nvidia.com/gpu)", wantProblem: `its label nvidia.com/gpu.replicas is "0": write a whole number of shares of a card, such as 2`},
		{name: "shares without the label that names them", labels: "nvidia.com/gpu.product=A nvidia.com/gpu.memory=81559", allocatable: "nvidia.com/gpu.shared=8",
			wantProblem: "it offers nvidia.com/gpu.shared, but the names of these cards need its label nvidia.com/gpu.replicas: set the label"},
		{name: "an invalid count", labels: "nvidia.com/gpu.product=A nvidia.com/gpu.count=many", allocatable: "nvidia.com/gpu=8",
			want: "A=8(nvidia.com/gpu)", wantProblem: `its label nvidia.com/gpu.count is "many": write a whole number of cards, such as 8`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Read(node(c.labels, c.allocatable), c.names)
			if got.text() != c.want {
				t.Errorf("got  %s\nwant %s", got.text(), c.want)
			}
			if problem := strings.Join(got.Problems, "\n"); !strings.HasPrefix(problem, c.wantProblem) || c.wantProblem == "" && problem != "" {
				t.Errorf("problem %q, want %q", problem, c.wantProblem)
			}
		})
	}
}

func randomNode(random *rand.Rand) *corev1.Node {
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	var labels, allocatable []string
	for range random.IntN(7) {
		labels = append(labels, pick("nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "huawei.com/npu", "amd.com/gpu")+
			pick(".product=A", ".product=Ascend-910B", ".memory=40960", ".memory=x", ".replicas=2", ".replicas=0", ".count=8"))
		allocatable = append(allocatable, pick("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/rdma", "nvidia.com/a",
			"huawei.com/npu", "huawei.com/Ascend910", "amd.com/gpu", "cpu")+fmt.Sprint("=", random.IntN(9)))
	}
	return node(strings.Join(labels, " "), strings.Join(allocatable, " "))
}

// TestNothingIsCountedTwice checks random nodes. Each resource is at most one card, with its exact amount. The fleet's
// totals are the sums over all nodes.
func TestNothingIsCountedTwice(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var fleet Fleet
	nodes := map[string]Node{}
	for range 5_000 {
		object := randomNode(random)
		read := Read(object, nil)
		seen := map[corev1.ResourceName]bool{}
		whole := 0
		for _, o := range read.Offers {
			if offered := object.Status.Allocatable[o.Resource]; seen[o.Resource] || offered.Value() != o.Count {
				t.Fatalf("labels %v, resources %v: %s", object.Labels, object.Status.Allocatable, read.text())
			}
			if seen[o.Resource] = true; o.Card == read.Model {
				whole++
			}
		}
		if whole > 1 {
			t.Fatalf("labels %v, resources %v: two resources are whole cards: %s", object.Labels, object.Status.Allocatable, read.text())
		}
		name := fmt.Sprint("n", random.IntN(20))
		if random.IntN(4) == 0 {
			fleet.Remove(name)
			delete(nodes, name)
		} else {
			fleet.Set(name, read)
			nodes[name] = read
		}
		want := map[string]int64{}
		for _, n := range nodes {
			for _, o := range n.Offers {
				want[o.Card] += o.Count
			}
		}
		got := map[string]int64{}
		for card, total := range fleet.Totals {
			got[card] = total.Int64()
		}
		if !maps.Equal(got, want) {
			t.Fatalf("the fleet has %v, want %v", got, want)
		}
	}
}

func TestFleet(t *testing.T) {
	var f Fleet
	if f.Node("a") != nil || f.IsCard("amd.com/gpu") || !f.IsCard("nvidia.com/gpu") || len(f.Names()) != 0 {
		t.Error("an empty fleet has cards")
	}
	a := Read(node("nvidia.com/gpu.product=A", "nvidia.com/gpu=8"), nil)
	f.Remove("a")
	f.Set("a", a)
	generation := f.Generation()
	f.Set("a", a)
	f.Set("a2", a)
	f.Set("a", Read(node("nvidia.com/gpu.product=A", "nvidia.com/gpu=4"), nil))
	if f.Generation() != generation {
		t.Error("another amount of the same card changes the generation")
	}
	f.Set("b", Read(node("nvidia.com/gpu.product=B", "nvidia.com/gpu=8"), nil))
	f.Set("labelled", Read(node("nvidia.com/gpu.product=C", ""), nil))
	if f.Generation() == generation || !slices.Equal(f.CardsOf("nvidia.com/gpu"), []string{"A", "B"}) || !slices.Equal(f.ResourcesOf("B"), []corev1.ResourceName{"nvidia.com/gpu"}) {
		t.Errorf("cards are %v, B is %v", f.CardsOf("nvidia.com/gpu"), f.ResourcesOf("B"))
	}
	if !f.Known("C") || f.Known("D") || !f.Known("A") {
		t.Error("a model must be known as soon as a node has it")
	}
	f.Set("amd", Read(node("amd.com/gpu.product=M", "amd.com/gpu=8"), nil))
	generation = f.Generation()
	f.Set("amd", Read(node("amd.com/gpu.product=M", "amd.com/gpu=7"), nil))
	if f.Generation() != generation || !f.IsCard("amd.com/gpu") {
		t.Error("another amount on the only node of a model changes the generation")
	}
	f.Set("amd", Read(node("", "amd.com/gpu=7"), nil))
	if f.Generation() == generation || !f.IsCard("amd.com/gpu") || len(f.CardsOf("amd.com/gpu")) != 0 {
		t.Error("without its label the resource must still be a card, of no known model")
	}
	if f.Given = (ResourceNames{"example.com/*"}); f.IsCard("amd.com/gpu") || !f.IsCard("example.com/x") {
		t.Error("only given names must be cards")
	}
	f.Given = nil
	generation = f.Generation()
	f.Remove("b")
	if f.Generation() == generation || f.Known("B") || !slices.Equal(f.CardsOf("nvidia.com/gpu"), []string{"A"}) {
		t.Errorf("after the removal of the only node with B: %v", f.CardsOf("nvidia.com/gpu"))
	}
}
