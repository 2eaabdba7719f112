// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// observing returns an observer of a session that can read some pods.
func observing(t *testing.T, pods ...*corev1.Pod) *observer {
	t.Helper()
	indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	for _, pod := range pods {
		if err := indexer.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	return &observer{snapshot: &snapshot.Snapshot{Input: snapshot.Input{Pods: corelisters.NewPodLister(indexer)}}}
}

func TestAPodEndsWhenItsContainersDo(t *testing.T) {
	o := observing(t, newPod("running"), finishes(newPod("finished"), 50, 40))
	for _, key := range []accounting.Key{"uid-finished", "uid-finished/resources"} {
		if end := o.endOf(key, "ns", "finished"); !end.Equal(after(50)) {
			t.Errorf("%s ended at %s", key, end)
		}
	}
	for _, c := range []struct {
		what string
		key  accounting.Key
		name string
	}{
		{"a pod that runs", "uid-running", "running"},
		{"a pod that is not there", "uid-gone", "gone"},
		{"a pod whose name another one has", "another", "finished"},
		{"a claim", "claim", ""},
	} {
		if end := o.endOf(c.key, "ns", c.name); !end.IsZero() {
			t.Errorf("%s ended at %s", c.what, end)
		}
	}
}

func TestASessionTakesWhatEndedBeforeItsSnapshot(t *testing.T) {
	r, _ := recording()
	r.PodDeleted(newPod("before"))
	session := r.Open()
	r.PodDeleted(newPod("meanwhile"))
	for range 2 { // a session that observes again takes nothing that its snapshot has
		session.Observe(nil, nil, true)
	}
	expectEndings(t, r, ending{"uid-meanwhile", begins}, ending{"uid-meanwhile/resources", begins})
}
