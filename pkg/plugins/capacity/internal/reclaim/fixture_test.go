// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// queue is a queue whose limits are words such as cpu=2.
type queue struct {
	name, parent                    string
	capability, deserved, guarantee string
}

// fixture has a tree of queues.
type fixture struct {
	*testing.T
	counter *demand.Counter
	books   *ledger.Ledger
}

func newFixture(t *testing.T, queues ...queue) *fixture {
	f := &fixture{T: t, counter: demand.NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false })}
	var specs []ledger.QueueSpec
	for _, q := range queues {
		specs = append(specs, ledger.QueueSpec{
			Name: q.name, Parent: q.parent,
			Capability: f.amounts(q.capability), Deserved: f.amounts(q.deserved), Guarantee: f.amounts(q.guarantee),
		})
	}
	f.books, _ = ledger.New(f.counter.Dimensions, nil, specs)
	f.counter.Begin(nil, nil)
	return f
}

// amounts parses words such as cpu=2.
func (f *fixture) amounts(words string) ledger.Amounts {
	var amounts ledger.Amounts
	for word := range strings.FieldsSeq(words) {
		name, number, _ := strings.Cut(word, "=")
		dimension := ledger.Dimension{Kind: ledger.Resource, Name: name}
		quantity := resource.MustParse(number)
		amounts = append(amounts, ledger.Entry{Dimension: f.counter.Dimensions.Ordinal(dimension), Amount: ledger.Units(quantity.Value())})
	}
	return amounts
}

// pod makes a pod that requests resources.
func (f *fixture) pod(name, queue, requests string) *demand.Pod {
	f.Helper()
	list, values := corev1.ResourceList{}, demand.Values{Scalars: map[corev1.ResourceName]float64{"pods": 1}}
	scalars := map[corev1.ResourceName]float64{}
	for word := range strings.FieldsSeq(requests) {
		resourceName, number, _ := strings.Cut(word, "=")
		quantity := resource.MustParse(number)
		scalars[corev1.ResourceName(resourceName)] = float64(quantity.MilliValue())
		switch list[corev1.ResourceName(resourceName)] = quantity; resourceName {
		case "cpu":
			values.MilliCPU = float64(quantity.MilliValue())
		case "memory":
			values.Memory = float64(quantity.Value())
		}
	}
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list}}}},
	}
	pod, err := f.counter.Add(object, values, scalars)
	if err != nil {
		f.Fatal(err)
	}
	f.counter.Refresh(pod)
	if pod.Queue, pod.InLedger = f.books.Queue(queue); !pod.InLedger {
		f.Fatalf("no queue %s", queue)
	}
	return pod
}

// candidate makes a running pod.
func (f *fixture) candidate(name, queue, requests string) Candidate {
	f.Helper()
	pod := f.pod(name, queue, requests)
	if err := f.books.Charge(pod.Queue, ledger.Holder(name), pod.Demand); err != nil {
		f.Fatal(err)
	}
	return Candidate{Pod: pod, Holder: ledger.Holder(name)}
}

// reclaimer makes a pod that asks for resources.
func (f *fixture) reclaimer(queue, requests string) *Reclaimer {
	f.Helper()
	pod := f.pod("p", queue, requests)
	return &Reclaimer{Ledger: f.books, Pod: pod, Queue: pod.Queue}
}
