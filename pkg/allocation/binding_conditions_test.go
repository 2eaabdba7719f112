// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	clienttesting "k8s.io/client-go/testing"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/devicequota/devicequota/pkg/dra"
)

// waiting is a pod with a claim whose device has binding conditions.
type waiting struct {
	*fixture
	clock      *clocktesting.FakeClock
	conditions *BindingConditions
	pod        *corev1.Pod
	told       []string
	done       chan error
	cancel     context.CancelFunc
}

const timeout = time.Minute

// newWaiting starts to wait, unless change makes waiting unnecessary.
func newWaiting(t *testing.T, change ...func(*resourceapi.ResourceClaim)) *waiting {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRADeviceBindingConditions, true)
	w := &waiting{clock: clocktesting.NewFakeClock(time.Unix(1000, 0)), pod: pod("p"), done: make(chan error, 1)}
	reserved := usedBy("c", "fabric", "p")
	reserved.Status.Allocation.AllocationTimestamp = &metav1.Time{Time: w.clock.Now()}
	device := &reserved.Status.Allocation.Devices.Results[0]
	device.BindingConditions, device.BindingFailureConditions = []string{"Ready"}, []string{"Broken"}
	for _, c := range change {
		c(reserved)
	}
	w.fixture = newFixture(t, reserved)
	w.countVersions()
	factory := informers.NewSharedInformerFactory(w.kube, 0)
	pods := factory.Core().V1().Pods()
	var err error
	if w.conditions, err = NewBindingConditions(w.reader, pods, w.clock); err != nil {
		t.Fatal(err)
	}
	if err := w.kube.Tracker().Add(w.pod); err != nil {
		t.Fatal(err)
	}
	before := watches(w.kube, "pods")
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	w.eventually("pods are watched", func() bool { return watches(w.kube, "pods") > before })
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() {
		w.done <- w.conditions.Wait(ctx, w.pod, []*resourceapi.ResourceClaim{reserved}, timeout, func(missing string) { w.told = append(w.told, missing) })
	}()
	t.Cleanup(cancel)
	return w
}

// countVersions gives every change of a claim a new version, like an API server.
func (f *fixture) countVersions() {
	version := 1
	f.kube.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		claim := action.(clienttesting.UpdateAction).GetObject().(*resourceapi.ResourceClaim)
		version++
		claim.ResourceVersion = strconv.Itoa(version)
		return true, claim, f.kube.Tracker().Update(action.GetResource(), claim, action.GetNamespace())
	})
}

// waits returns once Wait is waiting for the clock or an event.
func (w *waiting) waits() {
	w.Helper()
	w.eventually("Wait waits", w.clock.HasWaiters)
}

// change changes the claim like its driver.
func (w *waiting) change(change func(*resourceapi.ResourceClaim)) {
	w.Helper()
	now := w.claim("c")
	change(now)
	if _, err := w.kube.ResourceV1().ResourceClaims("ns").Update(w.Context(), now, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// says adds a condition to the status of the claim's device.
func says(name string, status metav1.ConditionStatus) func(*resourceapi.ResourceClaim) {
	return func(c *resourceapi.ResourceClaim) {
		c.Status.Devices = []resourceapi.AllocatedDeviceStatus{{Driver: "driver", Pool: "pool", Device: "fabric", Conditions: []metav1.Condition{
			{Type: name, Status: status, Reason: "Fabric", Message: "port 7"},
		}}}
	}
}

// expect waits for the end of Wait. An empty text means no error.
func (w *waiting) expect(want string) error {
	w.Helper()
	select {
	case err := <-w.done:
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			w.Errorf("Wait returns %v, want %q", err, want)
		}
		return err
	case <-time.After(time.Minute):
		w.Fatal("Wait does not return")
		return nil
	}
}

func TestAPodIsBoundWhenItsDevicesAreReady(t *testing.T) {
	w := newWaiting(t)
	w.waits()
	w.change(says("Ready", metav1.ConditionFalse))
	w.change(says("Ready", metav1.ConditionTrue))
	_ = w.expect("")
	if want := "condition Ready of device driver/pool/fabric"; len(w.told) != 1 || w.told[0] != want {
		t.Errorf("told %q, want %q once", w.told, want)
	}
	if w.conditions.Failed() != nil || len(w.reader.waiters.waiting) > 0 {
		t.Errorf("failed devices %v, %d still waited for", w.conditions.Failed(), len(w.reader.waiters.waiting))
	}
}

func TestNobodyWaits(t *testing.T) {
	for name, change := range map[string]func(*resourceapi.ResourceClaim){
		"for devices that are ready":             says("Ready", metav1.ConditionTrue),
		"for devices without binding conditions": func(c *resourceapi.ResourceClaim) { c.Status.Allocation.Devices.Results[0].BindingConditions = nil },
		"for devices that were ready in time, later on": func(c *resourceapi.ResourceClaim) {
			says("Ready", metav1.ConditionTrue)(c)
			c.Status.Allocation.AllocationTimestamp = &metav1.Time{}
		},
		"for devices that were ready without a timestamp": func(c *resourceapi.ResourceClaim) {
			says("Ready", metav1.ConditionTrue)(c)
			c.Status.Allocation.AllocationTimestamp = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaiting(t, change)
			if _ = w.expect(""); len(w.told) > 0 {
				t.Errorf("told %q", w.told)
			}
		})
	}
}

func TestAWaitEndsAtOnce(t *testing.T) {
	for _, c := range []struct {
		name, want string
		end        func(*waiting)
		failed     bool
	}{
		{
			name: "when the driver says that the device failed", failed: true,
			end:  func(w *waiting) { w.change(says("Broken", metav1.ConditionTrue)) },
			want: "ResourceClaim ns/c: condition Broken of device driver/pool/fabric (Fabric: port 7) says that the device cannot be used: see the log of its driver",
		},
		{
			name: "when the time is up", failed: true,
			end:  func(w *waiting) { w.clock.Step(timeout) },
			want: "ResourceClaim ns/c: condition Ready of device driver/pool/fabric is not true <1m0s> after the allocation: see why its driver does not get the device ready in time",
		},
		{
			name: "when the claim is being deleted",
			end: func(w *waiting) {
				w.change(func(c *resourceapi.ResourceClaim) {
					c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: w.clock.Now()}, []string{resourceapi.Finalizer}
				})
			},
			want: "ResourceClaim ns/c was deleted while the pod waited for its devices",
		},
		{
			name: "when the claim is gone",
			end:  func(w *waiting) { w.deleteClaim("c") },
			want: "ResourceClaim ns/c was deleted while the pod waited for its devices",
		},
		{
			name: "when somebody takes the devices away",
			end: func(w *waiting) {
				w.change(func(c *resourceapi.ResourceClaim) { c.Status = resourceapi.ResourceClaimStatus{} })
			},
			want: "ResourceClaim ns/c was deallocated while the pod waited for its devices",
		},
		{
			name: "when the pod is deleted",
			end: func(w *waiting) {
				if err := w.kube.CoreV1().Pods("ns").Delete(w.Context(), "p", metav1.DeleteOptions{}); err != nil {
					w.Fatal(err)
				}
			},
			want: "the pod was deleted while it waited for its devices",
		},
		{name: "when the scheduler stops", end: func(w *waiting) { w.cancel() }, want: "context canceled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWaiting(t)
			w.waits()
			c.end(w)
			err := w.expect(c.want)
			var failure *NotReadyError
			if errors.As(err, &failure) != c.failed {
				t.Errorf("%v says that a device failed: %t, want %t", err, !c.failed, c.failed)
			}
		})
	}
}

// TestARestartDoesNotGiveMoreTime checks that the next scheduler uses the timestamp of the allocation.
func TestARestartDoesNotGiveMoreTime(t *testing.T) {
	w := newWaiting(t, func(c *resourceapi.ResourceClaim) {
		c.Status.Allocation.AllocationTimestamp = &metav1.Time{Time: time.Unix(1000, 0).Add(-timeout + time.Second)}
	})
	w.waits()
	w.clock.Step(time.Second)
	_ = w.expect("is not true <1m0s> after the allocation")
}

// TestAnAllocationWithoutATime uses an allocation of a scheduler without the feature.
func TestAnAllocationWithoutATime(t *testing.T) {
	w := newWaiting(t, func(c *resourceapi.ResourceClaim) { c.Status.Allocation.AllocationTimestamp = nil })
	w.waits()
	w.clock.Step(timeout)
	_ = w.expect("is not true <1m0s> after the allocation")
}

func TestAFailedDeviceIsRememberedForAWhile(t *testing.T) {
	w := newWaiting(t)
	w.waits()
	w.change(says("Broken", metav1.ConditionTrue))
	var failure *NotReadyError
	if !errors.As(w.expect("Broken"), &failure) {
		t.FailNow()
	}
	w.conditions.GiveUp(failure)
	if id := (dra.DeviceID{Driver: "driver", Pool: "pool", Device: "fabric"}); !w.conditions.Failed()[id] {
		t.Errorf("failed devices: %v", w.conditions.Failed())
	}
	w.clock.Step(spareFor)
	if w.conditions.Failed() != nil {
		t.Errorf("failed devices after a while: %v", w.conditions.Failed())
	}
}

func TestTheTimeOfAnAllocation(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		t.Run("with the feature gate "+strconv.FormatBool(enabled), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRADeviceBindingConditions, enabled)
			f := newFixture(t, claim("c"))
			f.countVersions()
			clock := clocktesting.NewFakeClock(time.Unix(5000, 0))
			f.writer = NewWriter(f.kube, f.reader, f.pending, clock)
			wanted := given(claim("c"), "gpu-0")
			f.pending.Add(wanted, "a")
			for range 2 { // the second time is like a restart
				f.reserve(pod("a"), wanted)
				written := f.claim("c").Status.Allocation.AllocationTimestamp
				if (written != nil) != enabled || enabled && !written.Time.Equal(time.Unix(5000, 0)) {
					t.Errorf("the allocation has the time %v", written)
				}
				clock.Step(time.Hour)
			}
		})
	}
}
