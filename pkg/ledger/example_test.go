// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// exampleLedger returns a tree: a root with eight devices, and two teams. One team is guaranteed two devices.
func exampleLedger() (*ledger.Ledger, ledger.Ordinal) {
	var dimensions ledger.Dimensions
	h100 := dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: "nvidia-h100"})
	l, _ := ledger.New(&dimensions, nil, []ledger.QueueSpec{
		{Name: "root", Capability: ledger.Amounts{{Dimension: h100, Amount: ledger.Units(8)}}},
		{Name: "research", Parent: "root"},
		{Name: "serving", Parent: "root", Guarantee: ledger.Amounts{{Dimension: h100, Amount: ledger.Units(2)}}},
	})
	return l, h100
}

// A demand must fit the queue and each of its ancestors.
func Example() {
	l, h100 := exampleLedger()
	research, _ := l.Queue("research")
	part := ledger.NewPart(ledger.Amounts{{Dimension: h100, Amount: ledger.Units(7)}})

	refusal, err := l.Fits(research, ledger.Demand{part})
	fmt.Println(refusal, err)
	// Output:
	// Queue <research> has insufficient <nvidia-h100> quota: requested <7>, total would be <7>, but capability is <8>, of which <2> is guaranteed to others; this does not fit even when the queue is empty: ask for less, or for more quota <nil>
}

// A claim that two pods share is charged once, to the queue of the first pod. This holds even after that pod has left.
func ExampleLedger_Charge() {
	l, h100 := exampleLedger()
	research, _ := l.Queue("research")
	serving, _ := l.Queue("serving")
	claim := ledger.NewPart(ledger.Amounts{{Dimension: h100, Amount: ledger.Units(4)}})

	_ = l.Charge(research, "pod-1", ledger.Demand{claim})
	_ = l.Charge(serving, "pod-2", ledger.Demand{claim})
	fmt.Print(l.Describe(claim))

	_ = l.Release(claim, "pod-1")
	fmt.Print(l.Describe(claim))
	// Output:
	// queue root
	//   nvidia-h100: capability 8, limit 8; allocated 4
	//   queue research
	//     nvidia-h100: limit 6; allocated 4
	//   queue serving
	//     nvidia-h100: limit 8, deserved 2, guarantee 2
	// part 1: nvidia-h100 4; paid by pod-1 in research; also held by pod-2
	// queue root
	//   nvidia-h100: capability 8, limit 8; allocated 4
	//   queue research
	//     nvidia-h100: limit 6; allocated 4
	//   queue serving
	//     nvidia-h100: limit 8, deserved 2, guarantee 2
	// part 1: nvidia-h100 4; paid by pod-2 in research
}

// A view shows what fits if a victim is evicted.
func ExampleLedger_View() {
	l, h100 := exampleLedger()
	research, _ := l.Queue("research")
	victim := ledger.NewPart(ledger.Amounts{{Dimension: h100, Amount: ledger.Units(5)}})
	preemptor := ledger.NewPart(ledger.Amounts{{Dimension: h100, Amount: ledger.Units(6)}})
	_ = l.Charge(research, "victim", ledger.Demand{victim})

	view := l.View()
	_ = view.Release(victim, "victim")
	refusal, _ := view.Fits(research, ledger.Demand{preemptor})
	fmt.Println("without the victim it fits:", refusal == nil)

	refusal, _ = l.Fits(research, ledger.Demand{preemptor})
	fmt.Println("with the victim it fits:", refusal == nil)
	// Output:
	// without the victim it fits: true
	// with the victim it fits: false
}
