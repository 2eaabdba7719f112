// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"strings"
	"testing"
)

func TestThePageSaysWhereDevicesAndCardsAre(t *testing.T) {
	const why = "no node has as many free"
	s := newFakeScheduler(t)
	s.publish(map[string][]any{"workloads": {object{
		"namespace": "research", "name": "trainer", "uid": "1", "queue": "llm", "phase": "Inqueue", "waits": object{"message": why}}}})
	s.mu.Lock()
	s.explanation = object{
		"subject": object{"kind": "PodGroup", "namespace": "research", "name": "trainer"}, "state": "Waiting", "cause": object{"message": why},
		"supplies": []any{
			object{"kind": "Device", "name": h100, "asked": 4, "free": 12, "total": 24, "nodes": 3, "nodesWithEnough": 1, "morePlaces": 2, "places": []any{
				object{"node": "gpu-node-2", "free": 8, "total": 8}, object{"pool": "fabric.example.com/rack", "free": 2, "total": 4, "shared": 1, "tainted": 1}}},
			object{"kind": "Device", "name": "nvidia-a100", "asked": 1, "free": 0, "total": 8, "nodes": 1},
			object{"kind": "Card", "name": "NVIDIA-H200", "free": 0, "total": 0},
		},
	}
	s.mu.Unlock()
	b := open(t, s.url, desktopWidth, desktopHeight)
	b.show("waiting")
	b.waitFor("the explanation", fmt.Sprintf(`(() => {
		document.querySelector('#view td button')?.click();
		return document.getElementById('explanation').textContent.includes(%q);
	})()`, why))
	const list = `[...document.querySelectorAll('#explanation h2')].find((title) => title.textContent === 'Devices and cards').nextElementSibling.innerText`
	want := []string{
		h100 + ": 12 of 24 free; a pod asks for 4, and 1 of 3 nodes have as many free",
		"gpu-node-2: 8 of 8 free", "pool fabric.example.com/rack: 2 of 4 free, 1 shared, 1 tainted", "and 2 more",
		"nvidia-a100: 0 of 8 free; a pod asks for 1, and 0 of 1 nodes have as many free",
		"NVIDIA-H200: 0 of 0 free",
	}
	if got := script[string](b, list); got != strings.Join(want, "\n") {
		t.Errorf("the page says\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
