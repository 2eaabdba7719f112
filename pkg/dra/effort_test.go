// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// TestALongSearchTakesNothingFromOtherNodes: nodes are looked at at the same time.
func TestALongSearchTakesNothingFromOtherNodes(t *testing.T) {
	effort := &Effort{}
	long, short := effort.Node(), effort.Node()
	long.begin()
	short.begin()
	for long.spend(1) == nil {
	}
	if err := short.spend(effortOfNode); err != nil {
		t.Errorf("a node that was looked at after a long search began: %v", err)
	}
	idle := effort.Node()
	idle.begin()
	idle.end()
	if err := long.spend(effortOfNode); err != nil {
		t.Errorf("what a node did not need is left to others: %v", err)
	}
	if err := long.spend(1); err == nil {
		t.Error("the bound does not hold")
	}
}

// TestEffortIsSharedByNodes: each node adds some, and a search that the bound ended is not an answer of "no".
func TestEffortIsSharedByNodes(t *testing.T) {
	var requests []resourceapi.DeviceRequest
	for i := range 31 {
		var alternatives []resourceapi.DeviceRequest
		for j := range 8 {
			alternatives = append(alternatives, exactly(fmt.Sprint("a", j), "gpu", 1))
		}
		requests = append(requests, firstAvailable(fmt.Sprint("r", i), alternatives...))
	}
	allocator, catalog := sizes(strings.Repeat("80 ", 31)).allocator(nil)
	r, effort := &room{catalog: catalog, most: 1}, &Effort{}
	for range 10 {
		_, err := allocator.Pick(t.Context(), onNode("n1"), []*resourceapi.ResourceClaim{claim(requests...)}, r.quota(), effort.Node())
		if unfinished := new(UnfinishedError); !errors.As(err, &unfinished) || unfinished.Requests != 248 {
			t.Errorf("the error is %v", err)
		}
	}
	if r.asked > (effortOfPod+10*effortOfNode)/248 {
		t.Errorf("%d sets were tried", r.asked)
	}
}

// TestASearchThatEndsEarlyKnowsWhatItHad, so that its caller can tell whether it would get further with what is available now.
func TestASearchThatEndsEarlyKnowsWhatItHad(t *testing.T) {
	effort := &Effort{}
	fresh := effort.Available()
	alone := effort.Node()
	alone.begin()
	if alone.spend(fresh-1) != nil || alone.Had() != 0 {
		t.Errorf("it had %d before it needed more", alone.Had())
	}
	if alone.spend(2) == nil || alone.Had() != fresh || alone.Used() != fresh-1 {
		t.Errorf("it had %d and used %d, want %d and %d", alone.Had(), alone.Used(), fresh, fresh-1)
	}
	alone.end()
	late := effort.Node()
	late.begin()
	if late.spend(fresh) == nil || late.Had() != effortOfNode+1 || late.Used() != 0 {
		t.Errorf("another node had %d and used %d, want %d and 0", late.Had(), late.Used(), effortOfNode+1)
	}
	late.end()
	before := effort.Available()
	if effort.Skip(); effort.Available() != before+effortOfNode {
		t.Errorf("a node that is skipped leaves %d, want %d", effort.Available()-before, effortOfNode)
	}
	effort.stop()
	if effort.Available() != 0 || !errors.Is(effort.Node().spend(1), errEnded) {
		t.Error("there is effort after the time is up")
	}
}
