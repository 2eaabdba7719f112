// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/problems"
)

func TestProblemsAreReportedOnceAndCounted(t *testing.T) {
	const queue = " involvedObject{kind=Queue,apiVersion=scheduling.volcano.sh/v1beta1}"
	f := newFixture(t)
	f.queue("q")
	for _, session := range []struct {
		name  string
		add   func(problems.Problems)
		event []string
		count float64
	}{
		{"a problem", func(ps problems.Problems) { ps.Misplaced("q", "one") }, []string{"Warning QueueMisplaced The queue takes no pods: one" + queue}, 1},
		{"the same", func(ps problems.Problems) { ps.Misplaced("q", "one") }, nil, 1},
		{"another one", func(ps problems.Problems) { ps.Misplaced("q", "two") }, []string{"Warning QueueMisplaced The queue takes no pods: two" + queue}, 1},
		{"a queue that the session lacks has no event", func(ps problems.Problems) { ps.Misplaced("q", "two"); ps.Misplaced("gone", "one") }, nil, 2},
		{"none", func(problems.Problems) {}, nil, 0},
		{"the problem is back", func(ps problems.Problems) { ps.Misplaced("q", "two") }, []string{"Warning QueueMisplaced The queue takes no pods: two" + queue}, 1},
	} {
		found := problems.Problems{}
		session.add(found)
		f.Problems(found, f.queues)
		f.expectEvents(session.name, session.event...)
		expectSeries(t, session.name, "volcano_queue_problems", "reason=QueueMisplaced", session.count)
	}
}

func TestClassesThatOverlapAreNoProblemWhereDevicesCountForAll(t *testing.T) {
	f := newFixture(t)
	f.queue("q")
	found := problems.Problems{}
	found.ClassesOverlap("q", []string{problems.Overlap{Class: "h100", Others: []string{"gpu"}}.String()}, true)
	f.Problems(found, f.queues)
	f.expectEvents("told", "Normal ClassesOverlap The queue limits classes whose devices other classes have as well: devices of class h100 belong to gpu, too. "+
		"A device counts for each class that it matches and that some queue limits involvedObject{kind=Queue,apiVersion=scheduling.volcano.sh/v1beta1}")
	expectSeries(t, "told", "volcano_queue_problems", "reason=ClassesOverlap", 0.0)
	f.Problems(found, f.queues)
	f.expectEvents("told again")
}

func TestANodeIsToldItsProblemsOnce(t *testing.T) {
	const one = "Warning CardsNotRead The node's cards cannot be counted: one involvedObject{kind=Node,apiVersion=v1}"
	const both = "Warning CardsNotRead The node's cards cannot be counted: one; two involvedObject{kind=Node,apiVersion=v1}"
	f := newFixture(t)
	node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for _, step := range []struct {
		name     string
		problems []string
		gone     bool
		event    []string
	}{
		{name: "a problem", problems: []string{"one"}, event: []string{one}},
		{name: "the same", problems: []string{"one"}},
		{name: "one more", problems: []string{"one", "two"}, event: []string{both}},
		{name: "none"},
		{name: "the problem is back", problems: []string{"one"}, event: []string{one}},
		{name: "after the node was gone", problems: []string{"one"}, gone: true, event: []string{one}},
	} {
		if step.gone {
			f.ForgetNode("n")
		}
		f.Node(node, step.problems)
		f.expectEvents(step.name, step.event...)
	}
}

func TestTheConfigurationIsLoggedWhenItChanges(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	klog.SetLogger(logger)
	t.Cleanup(klog.ClearLogger)
	log := logger.GetSink().(ktesting.Underlier).GetBuffer()
	f, seen := newFixture(t), 0
	without, tiers := problems.ReclaimFault{Kind: problems.NoReclaimAction}, problems.ReclaimFault{Kind: problems.VictimsInOtherTier, Others: "gang", Plugin: "capacity"}
	for _, cycle := range []struct {
		name  string
		fault problems.ReclaimFault
		idle  bool
		want  string
	}{
		{name: "nothing is wrong"},
		{name: "a fault", fault: without, want: without.String()},
		{name: "the same fault", fault: without},
		{name: "another one", fault: tiers, want: tiers.String()},
		{name: "it is corrected"},
		{name: "it is back", fault: tiers, want: tiers.String()},
		{name: "no queue deserves anything", idle: true, want: "no queue deserves anything"},
		{name: "nor in the next cycle", idle: true},
		{name: "a queue deserves something"},
		{name: "and no queue again", idle: true},
	} {
		f.LogReclaim(cycle.fault, cycle.idle)
		said := log.String()[seen:]
		seen += len(said)
		if (cycle.want == "") != (said == "") || !strings.Contains(said, cycle.want) {
			t.Errorf("%s: the log says %q, want %q", cycle.name, said, cycle.want)
		}
	}
}

func TestAContestedExtendedResourceIsReportedOnceOnEachClassThatDoesNotOfferIt(t *testing.T) {
	offering := func(name string, created int64, resource string) *resourceapi.DeviceClass {
		return &resourceapi.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(created, 0)},
			Spec:       resourceapi.DeviceClassSpec{ExtendedResourceName: ptr.To(resource)},
		}
	}
	old, recent, twin := offering("old", 1, "example.com/gpu"), offering("recent", 9, "example.com/gpu"), offering("twin", 9, "example.com/gpu")
	alone := offering("alone", 1, "example.com/nic")
	catalog := func(classes ...*resourceapi.DeviceClass) *dra.Catalog { return dra.NewCatalog(classes, nil) }
	const (
		class = " involvedObject{kind=DeviceClass,apiVersion=resource.k8s.io/v1}"
		newer = "Warning ExtendedResourceContested The extended resource example.com/gpu is offered by DeviceClass recent, which is newer, and not by DeviceClass old: " +
			"pods that request example.com/gpu get devices of DeviceClass recent: remove spec.extendedResourceName from one of the classes, or change it" + class
		byName = "Warning ExtendedResourceContested The extended resource example.com/gpu is offered by DeviceClass recent, which is equally old and comes first by name, and not by DeviceClass twin: " +
			"pods that request example.com/gpu get devices of DeviceClass recent: remove spec.extendedResourceName from one of the classes, or change it" + class
	)
	f := newFixture(t)
	for _, step := range []struct {
		name    string
		catalog *dra.Catalog
		want    []string
	}{
		{"before anything is read", nil, nil},
		{"names of their own", catalog(old, alone), nil},
		{"a newer class", catalog(old, recent, alone), []string{newer}},
		{"still the same", catalog(old, recent, alone), nil},
		{"one more that is equally old", catalog(old, recent, twin), []string{byName}},
		{"the winner is gone", catalog(old, alone), nil},
		{"and comes back", catalog(old, recent), []string{newer}},
	} {
		f.ContestedResources(step.catalog.Contested())
		f.expectEvents(step.name, step.want...)
	}
}

func TestAConflictIsReportedOnceOnEachClaim(t *testing.T) {
	const told = "Warning DeviceAllocatedTwice The device driver/pool/gpu-0 is allocated to ResourceClaims ns/a and ns/b at the same time: " +
		"let only one scheduler allocate the devices of a node, and delete the pods of all but one of the claims involvedObject{kind=ResourceClaim,apiVersion=resource.k8s.io/v1}"
	f := newFixture(t)
	conflict := dra.Conflict{Device: dra.DeviceID{Driver: "driver", Pool: "pool", Device: "gpu-0"}}
	for _, name := range []string{"a", "b"} {
		conflict.Claims = append(conflict.Claims, &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}})
	}
	for _, step := range []struct {
		name      string
		conflicts []dra.Conflict
		events    []string
	}{
		{"at first", nil, nil},
		{"a new conflict", []dra.Conflict{conflict}, []string{told, told}},
		{"the same conflict", []dra.Conflict{conflict}, nil},
		{"once it is over", nil, nil},
		{"the same conflict again", []dra.Conflict{conflict}, []string{told, told}},
	} {
		f.DeviceConflicts(step.conflicts)
		if got := testutil.ToFloat64(devicesAllocatedTwice); got != float64(len(step.conflicts)) {
			t.Errorf("%s: the metric is %v", step.name, got)
		}
		f.expectEvents(step.name, step.events...)
	}
}

func TestQuotaFieldServed(t *testing.T) {
	QuotaFieldServed(false)
	expectSeries(t, "the CRD lacks the field", "volcano_queue_quota_field_served", "", 0)
	QuotaFieldServed(true)
	expectSeries(t, "the CRD has the field", "volcano_queue_quota_field_served", "", 1)
}

func TestQuotaRestored(t *testing.T) {
	f := newFixture(t)
	QuotaRestored(f.Recorder, &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q"}})
	f.expectEvents("a queue", "Normal QuotaRestored The scheduler restored the queue's spec.dra, which was lost while the Queue CRD in the cluster did not have the field involvedObject{kind=Queue,apiVersion=scheduling.volcano.sh/v1beta1}")
}
