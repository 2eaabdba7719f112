// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"strings"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/devicequota/devicequota/pkg/demand"
)

const bindingTimeout = time.Minute

// newConditionsFixture has devices with binding conditions.
func newConditionsFixture(t *testing.T, has cluster) *fixture {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRADeviceBindingConditions, true)
	has.conditions = true
	return newFixture(t, has)
}

// waiting is what PreBind of a pod has reported and returned.
type waiting struct {
	told   chan string
	failed chan string
	done   chan error
}

// startPreBind runs PreBind of a pod in the background, and returns once it waits.
func (f *fixture) startPreBind(pod *demand.Pod) *waiting {
	f.Helper()
	w := &waiting{told: make(chan string, 1), failed: make(chan string, 1), done: make(chan error, 1)}
	claims, err := f.session.ClaimsToBind(pod)
	f.try(err)
	f.eventually("the pod is known", func() bool { return f.cache.conditions.Knows(pod.Object) })
	go func() {
		_, err := f.cache.PreBind(f.Context(), pod.Object, claims, "root/q", ConditionWait{
			Timeout: bindingTimeout, Waiting: func(missing string) { w.told <- missing }, Failed: func(why string) { w.failed <- why },
		})
		w.done <- err
	}()
	<-w.told
	return w
}

// says makes the driver write a condition of the first device of a claim.
func (f *fixture) says(claim, condition string) {
	f.Helper()
	now := f.claim(claim)
	device := now.Status.Allocation.Devices.Results[0]
	now.Status.Devices = []resourceapi.AllocatedDeviceStatus{{
		Driver: device.Driver, Pool: device.Pool, Device: device.Device, Conditions: []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue}},
	}}
	_, err := f.kube.ResourceV1().ResourceClaims("ns").UpdateStatus(f.Context(), now, metav1.UpdateOptions{})
	f.try(err)
}

func TestAPodWaitsForItsDevicesWhileItHoldsThem(t *testing.T) {
	f := newConditionsFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{claim("p-gpu", exactly("h100", 1))}})
	pod := f.pod("p", "q", "p-gpu")
	f.place(pod, "n1")
	w := f.startPreBind(pod)
	if now := f.claim("p-gpu"); devicesOf(now) != "n1/h100-0" || len(now.Status.ReservedFor) != 1 || now.Status.Allocation.AllocationTimestamp == nil {
		t.Errorf("while the pod waits, the claim has %q since %v, reserved for %v", devicesOf(now), now.Status.Allocation, now.Status.ReservedFor)
	}
	if f.open(); f.free("n1", "h100") != 0 {
		t.Error("the next session hands out the device that the pod waits for")
	}
	f.says("p-gpu", "Ready")
	f.try(<-w.done)
	if devicesOf(f.claim("p-gpu")) != "n1/h100-0" {
		t.Error("the device is lost")
	}
}

func TestADeviceThatFailsIsGivenBackAndPickedLast(t *testing.T) {
	for _, c := range []struct {
		name, claim string
		end         func(*fixture, string)
	}{
		{"a claim that was made for the pod", "p-gpu", func(f *fixture, claim string) { f.says(claim, "Broken") }},
		{"a claim that pods name", "c", func(f *fixture, claim string) { f.says(claim, "Broken") }},
		{"a device that is not ready in time", "p-gpu", func(f *fixture, _ string) {
			f.eventually("the clock is waited for", f.clock.HasWaiters)
			f.clock.Step(bindingTimeout)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newConditionsFixture(t, cluster{devices: map[string]string{"n1": "h100 h100", "n2": "h100"}, claims: []*resourceapi.ResourceClaim{
				claim(c.claim, exactly("h100", 1)), claim("o-gpu", exactly("h100", 1)),
			}})
			pod := f.pod("p", "q", c.claim)
			f.place(pod, "n1")
			w := f.startPreBind(pod)
			c.end(f, c.claim)
			if err := <-w.done; err == nil || err.Error() != <-w.failed {
				t.Errorf("PreBind returns %v", err)
			}
			if now := f.claim(c.claim); now.Status.Allocation != nil || len(now.Status.ReservedFor)+len(now.Status.Devices) > 0 {
				t.Fatalf("the claim still has %v", now.Status)
			}
			f.eventually("the reader knows", func() bool {
				now, err := f.cache.Claim("ns", c.claim)
				return err == nil && now.Status.Allocation == nil
			})
			f.open()
			pod = f.pod("p", "q", c.claim)
			f.place(pod, "n1")
			if got := f.pending(c.claim); got != "n1/h100-1" {
				t.Errorf("the claim gets %s, want the device that did not fail", got)
			}
			other := f.preFilter(f.pod("o", "q", "o-gpu"))
			for _, node := range []string{"n1", "n2"} {
				if refusal := f.session.Filter(other, f.node(node)); refusal != nil {
					t.Fatal(refusal.Message)
				}
			}
			if s := f.session; !s.Scores() || s.Score(other, "n1") >= 0 || s.Score(other, "n2") != 0 {
				t.Errorf("the node with the failed device scores %v, the other one %v", s.Score(other, "n1"), s.Score(other, "n2"))
			}
		})
	}
}

// TestSharersOfAFailedDevice: each pod gives up its reservation, and the last one also the devices.
func TestSharersOfAFailedDevice(t *testing.T) {
	f := newConditionsFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1))}})
	a, b := f.pod("a", "q", "c"), f.pod("b", "q", "c")
	f.place(a, "n1")
	f.place(b, "n1")
	first, second := f.startPreBind(a), f.startPreBind(b)
	f.says("c", "Broken")
	for _, w := range []*waiting{first, second} {
		if err := <-w.done; err == nil {
			t.Error("a pod with a broken device is bound")
		}
	}
	if now := f.claim("c"); now.Status.Allocation != nil || len(now.Status.ReservedFor) > 0 {
		t.Errorf("the claim has %q and is reserved for %v", devicesOf(now), now.Status.ReservedFor)
	}
}

func TestARestartGoesOnToWait(t *testing.T) {
	f := newConditionsFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{claim("p-gpu", exactly("h100", 1))}})
	pod := f.pod("p", "q", "p-gpu")
	f.place(pod, "n1")
	w := f.startPreBind(pod)
	f.cancel()
	if err := <-w.done; err == nil || !strings.Contains(err.Error(), "the scheduler stops") {
		t.Errorf("PreBind returns %v", err)
	}
	left := f.claim("p-gpu")
	if devicesOf(left) != "n1/h100-0" || len(left.Status.ReservedFor) != 1 {
		t.Fatalf("a stopped scheduler leaves %v", left.Status)
	}
	left.ResourceVersion = "1" // the versions of another API server
	next := newConditionsFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{left}})
	pod = next.pod("p", "q", "p-gpu")
	next.place(pod, "n1")
	w = next.startPreBind(pod)
	next.says("p-gpu", "Ready")
	next.try(<-w.done)
	if since := next.claim("p-gpu").Status.Allocation.AllocationTimestamp; !since.Equal(left.Status.Allocation.AllocationTimestamp) {
		t.Errorf("the time of the allocation is %v, and was %v", since, left.Status.Allocation.AllocationTimestamp)
	}
}

// TestAfterARestartADeviceThatFailedIsTakenBack, even if it failed while no scheduler ran.
func TestAfterARestartADeviceThatFailedIsTakenBack(t *testing.T) {
	allocated := func(change func(*resourceapi.ResourceClaim), pods ...string) *resourceapi.ResourceClaim {
		c := usedBy(on("n1", claim("c", exactly("h100", 1)), "h100-0"), pods...)
		device := &c.Status.Allocation.Devices.Results[0]
		device.BindingConditions, device.BindingFailureConditions = []string{"Ready"}, []string{"Broken"}
		c.Status.Allocation.AllocationTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
		change(c)
		return c
	}
	broken := func(c *resourceapi.ResourceClaim) {
		c.Status.Devices = []resourceapi.AllocatedDeviceStatus{{Driver: "driver", Pool: "n1", Device: "h100-0", Conditions: []metav1.Condition{{Type: "Broken", Status: metav1.ConditionTrue}}}}
	}
	late := func(c *resourceapi.ResourceClaim) {
		c.Status.Allocation.AllocationTimestamp = &metav1.Time{Time: time.Unix(1000, 0).Add(-bindingTimeout)}
	}
	for _, c := range []struct {
		name, want string
		claim      *resourceapi.ResourceClaim
		kept       bool
	}{
		{name: "it failed", claim: allocated(broken, "p"), want: "condition Broken of device driver/n1/h100-0 says that the device cannot be used"},
		{name: "its time is up", claim: allocated(late, "p"), want: "condition Ready of device driver/n1/h100-0 is not true <1m0s> after the allocation"},
		{name: "another pod uses it", claim: allocated(broken, "p", "other"), want: "delete the pods that use it", kept: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newConditionsFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{c.claim}})
			_, refusal := f.session.PreFilter(f.pod("p", "q", "c"), "p", f.held(), nil)
			if !strings.Contains(messageOf(refusal), c.want) {
				t.Errorf("PreFilter says %q, want %q", messageOf(refusal), c.want)
			}
			f.try(f.cache.background.Wait())
			if kept := f.claim("c").Status.Allocation != nil; kept != c.kept {
				t.Errorf("the claim keeps its device: %t, want %t", kept, c.kept)
			}
		})
	}
}
