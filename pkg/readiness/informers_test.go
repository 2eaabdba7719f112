// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

var nodes = schema.GroupResource{Group: "example.com", Resource: "nodes"}

// source is an informer whose state a test sets.
type source struct {
	cache.SharedInformer
	synced  bool
	version string
}

func (s *source) HasSynced() bool                 { return s.synced }
func (s *source) LastSyncResourceVersion() string { return s.version }
func (s *source) SetWatchErrorHandlerWithContext(cache.WatchErrorHandlerWithContext) error {
	return nil
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	forbidden := fmt.Errorf("failed to list: %w", apierrors.NewForbidden(nodes, "", errors.New(`User "volcano-scheduler" cannot list resource "nodes"`)))
	for _, c := range []struct {
		name    string
		synced  bool
		failure error
		// read is the version that the informer reads after the failure. passes is the time until then.
		read   string
		passes time.Duration
		want   string
	}{
		{name: "has read everything", synced: true},
		{name: "has just started", want: "still being read: nodes.example.com"},
		{
			name: "lacks a permission", failure: forbidden,
			want: `nodes.example.com cannot be read: nodes.example.com is forbidden: User "volcano-scheduler" cannot list resource "nodes": allow it in the scheduler's ClusterRole (volcano-scheduler, or devicequota-scheduler of the Helm chart), as in config/rbac/scheduler.yaml`,
		},
		{name: "fails otherwise", failure: errors.New("no route"), want: "nodes.example.com cannot be read: no route"},
		{name: "fails after it has read everything", synced: true, failure: errors.New("no route"), want: "nodes.example.com cannot be read: no route"},
		{name: "reads again", synced: true, failure: forbidden, read: "8"},
		{name: "is silent for so long that the failure has ended", synced: true, failure: forbidden, passes: failureLasts},
		{name: "has to list again because its version is too old", synced: true, failure: apierrors.NewResourceExpired("too old")},
		{name: "lost its connection", synced: true, failure: io.EOF},
	} {
		clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
		all, source := NewInformers(clock), &source{synced: c.synced, version: "7"}
		if err := all.Add(nodes, source); err != nil {
			t.Fatal(err)
		}
		if c.failure != nil {
			all.failed(all.all[0], source.version, c.failure)
		}
		if c.read != "" {
			source.version = c.read
		}
		clock.SetTime(clock.Now().Add(c.passes))
		got := ""
		if err := all.Err(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("an informer that %s: %q, want %q", c.name, got, c.want)
		}
		if fails := strings.Contains(c.want, "cannot be read"); all.someFail() != fails {
			t.Errorf("an informer that %s fails: %t, want %t", c.name, !fails, fails)
		}
	}
}

func TestAnInformerRecoversWhenItsPermissionIsGranted(t *testing.T) {
	kube, allowed := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}), &atomic.Bool{}
	kube.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if allowed.Load() {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(nodes, "", errors.New("cannot list"))
	})
	factory := informers.NewSharedInformerFactory(kube, 0)
	all := NewInformers(clock.RealClock{})
	if err := all.Add(nodes, factory.Core().V1().Nodes().Informer()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	eventually(t, "the failure is known", func() bool {
		err := all.Err()
		return err != nil && err.Error() == "nodes.example.com cannot be read: nodes.example.com is forbidden: cannot list: allow it in the scheduler's ClusterRole (volcano-scheduler, or devicequota-scheduler of the Helm chart), as in config/rbac/scheduler.yaml"
	})
	allowed.Store(true)
	eventually(t, "the nodes are read", func() bool { return all.Err() == nil })
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return condition(), nil }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
