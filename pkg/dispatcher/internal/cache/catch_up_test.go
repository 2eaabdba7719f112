// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metadatafake "k8s.io/client-go/metadata/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	queuelisters "github.com/devicequota/devicequota/pkg/client/listers/scheduling/v1beta1"
)

// TestWhoTakesOverKnowsTheLimits checks that a new leader knows the limits that the one before knew.
func TestWhoTakesOverKnowsTheLimits(t *testing.T) {
	queue := func(version string) *schedulingv1beta1.Queue {
		return &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "team", ResourceVersion: version}}
	}
	for name, c := range map[string]struct {
		shown *schedulingv1beta1.Queue
		want  string
	}{
		"an older version is shown": {queue("4"), "version 5 of Queue team has not been read"},
		"the version is shown":      {queue("5"), ""},
		"a later one is shown":      {queue("6"), ""},
		"none is shown":             {nil, "version 5 of Queue team has not been read"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake(t)
			if _, err := fake.clients.Queues.SchedulingV1beta1().Queues().Create(t.Context(), queue("5"), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			fake.clients.Metadata.(*metadatafake.FakeMetadataClient).PrependReactor("list", "resourcebindings", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, &metav1.List{}, nil
			})
			shown := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
			fake.queues = queuelisters.NewQueueLister(shown)
			if c.shown != nil {
				if err := shown.Add(c.shown); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*catchUpPoll)
			defer cancel()
			if got := errorText(fake.CatchUp(ctx)); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("got error %q, want %q", got, c.want)
			}
		})
	}
}
