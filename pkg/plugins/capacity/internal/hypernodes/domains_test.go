// SPDX-License-Identifier: Apache-2.0

package hypernodes

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"volcano.sh/apis/pkg/apis/scheduling"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// racks is a session with a zone of the racks a and b, and with a rack that has no members. The others have two nodes each: a0 and a1, b0 and b1.
func racks() *framework.Session {
	ssn := &framework.Session{
		HyperNodesReadyToSchedule: true, HyperNodes: api.HyperNodeInfoMap{}, HyperNodeTierNameMap: api.HyperNodeTierNameMap{"rack": 1, "zone": 2},
		RealNodesSet: map[string]sets.Set[string]{"a": sets.New("a0", "a1"), "b": sets.New("b0", "b1"), "zone": sets.New("a0", "a1", "b0", "b1")},
	}
	for name, tier := range map[string]int{"a": 1, "b": 1, "empty": 1, "zone": 2} {
		object := &topologyv1alpha1.HyperNode{}
		object.Name, object.Spec.Tier = name, tier
		ssn.HyperNodes[name] = api.NewHyperNodeInfo(object)
	}
	ssn.HyperNodes["a"].Parent, ssn.HyperNodes["b"].Parent = "zone", "zone"
	return ssn
}

func jobWith(topology *scheduling.NetworkTopologySpec) *api.JobInfo {
	return &api.JobInfo{
		PodGroup: &api.PodGroup{PodGroup: scheduling.PodGroup{Spec: scheduling.PodGroupSpec{NetworkTopology: topology}}},
		SubJobs:  map[api.SubJobID]*api.SubJobInfo{"default": {}},
	}
}

func TestDomains(t *testing.T) {
	hard := func(tier *int, name string) *scheduling.NetworkTopologySpec {
		return &scheduling.NetworkTopologySpec{Mode: scheduling.HardNetworkTopologyMode, HighestTierAllowed: tier, HighestTierName: name}
	}
	for name, test := range map[string]struct {
		topology *scheduling.NetworkTopologySpec
		used     string
		want     string
	}{
		"no topology":                          {nil, "", "all"},
		"a soft one":                           {&scheduling.NetworkTopologySpec{Mode: scheduling.SoftNetworkTopologyMode, HighestTierAllowed: ptr.To(1)}, "", "all"},
		"one without a tier":                   {hard(nil, ""), "", "all"},
		"one rack":                             {hard(ptr.To(1), ""), "", "a b"},
		"the zone":                             {hard(ptr.To(2), ""), "", "a b zone"},
		"one rack by name":                     {hard(nil, "rack"), "", "a b"},
		"a name that no tier has":              {hard(nil, "row"), "", "unknown"},
		"a tier below all":                     {hard(ptr.To(0), ""), "", ""},
		"one rack, and pods run in one":        {hard(ptr.To(1), ""), "b", "b"},
		"the zone, and pods run in a rack":     {hard(ptr.To(2), ""), "b", "b zone"},
		"one rack, and pods run in both racks": {hard(ptr.To(1), ""), "zone", ""},
	} {
		t.Run(name, func(t *testing.T) {
			ssn, job := racks(), jobWith(test.topology)
			job.AllocatedHyperNode = test.used
			if got := namesOf(ssn, job); got != test.want {
				t.Errorf("got the domains %q, want %q", got, test.want)
			}
		})
	}
	waits := jobWith(hard(ptr.To(2), ""))
	waits.TaskStatusIndex = map[api.TaskStatus]api.TasksMap{api.Pipelined: {"pod": {TransactionContext: api.TransactionContext{NodeName: "b1"}}}}
	if got := namesOf(racks(), waits); got != "b zone" {
		t.Errorf("a job one of whose pods waits for others to leave rack b has the domains %q", got)
	}
	ssn := racks()
	ssn.HyperNodesReadyToSchedule = false
	if Known(ssn, jobWith(hard(ptr.To(1), ""))) || !Known(ssn, jobWith(nil)) {
		t.Error("while HyperNodes are being read, only jobs without a topology have known domains")
	}
	parts := jobWith(hard(ptr.To(2), ""))
	parts.PodGroup.Spec.SubGroupPolicy = []scheduling.SubGroupPolicySpec{{NetworkTopology: hard(ptr.To(1), "")}}
	if !Known(racks(), parts) {
		t.Error("groups with topologies of their own have domains")
	}
	parts.PodGroup.Spec.SubGroupPolicy[0].NetworkTopology = hard(nil, "row")
	if Known(racks(), parts) {
		t.Error("a group names a tier that no HyperNode has")
	}
}

func namesOf(ssn *framework.Session, job *api.JobInfo) string {
	if !Known(ssn, job) {
		return "unknown"
	}
	var names []string
	for _, domain := range Domains(ssn, job) {
		if domain.Nodes == nil {
			return "all"
		}
		names = append(names, domain.Name)
	}
	return strings.Join(names, " ")
}

// TestGroupsSettleApart: each group is in one rack, within the zone of the job. A group without nodes may still be anywhere.
func TestGroupsSettleApart(t *testing.T) {
	hard := func(tier int) *scheduling.NetworkTopologySpec {
		return &scheduling.NetworkTopologySpec{Mode: scheduling.HardNetworkTopologyMode, HighestTierAllowed: ptr.To(tier)}
	}
	for name, test := range map[string]struct {
		nodes map[string]string // of pods, by group
		want  map[string]string // HyperNodes of groups, nil if no HyperNodes have the nodes
	}{
		"two racks":        {map[string]string{"first": "a0 a1", "second": "b0"}, map[string]string{"first": "a", "second": "b", "": "zone"}},
		"one rack":         {map[string]string{"first": "a0", "second": "a1"}, map[string]string{"first": "a", "second": "a", "": "a"}},
		"a group waits":    {map[string]string{"first": "b0"}, map[string]string{"first": "b", "second": "", "": "b"}},
		"a group is split": {map[string]string{"first": "a0 b0", "second": "a1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			job := jobWith(hard(2))
			job.UID, job.SubJobs, job.TaskToSubJob = "job", map[api.SubJobID]*api.SubJobInfo{}, map[api.TaskID]api.SubJobID{}
			job.PodGroup.Spec.SubGroupPolicy = []scheduling.SubGroupPolicySpec{{Name: "part", NetworkTopology: hard(1)}}
			var pods []*api.TaskInfo
			for _, group := range []string{"first", "second"} {
				id := api.SubJobID(group)
				job.SubJobs[id] = &api.SubJobInfo{UID: id, GID: "job/part"}
				for _, node := range strings.Fields(test.nodes[group]) {
					pods = append(pods, &api.TaskInfo{UID: api.TaskID(node), TransactionContext: api.TransactionContext{NodeName: node}})
					job.TaskToSubJob[api.TaskID(node)] = id
				}
			}
			if got := Settle(racks(), job, pods); got != (test.want != nil) {
				t.Fatalf("the pods settle: %t", got)
			}
			got := map[string]string{"": job.AllocatedHyperNode, "first": job.SubJobs["first"].AllocatedHyperNode, "second": job.SubJobs["second"].AllocatedHyperNode}
			if test.want != nil && !maps.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestWidestLeavesOutPartsOfOthers(t *testing.T) {
	highest := func(tier int) *api.JobInfo {
		return jobWith(&scheduling.NetworkTopologySpec{Mode: scheduling.HardNetworkTopologyMode, HighestTierAllowed: ptr.To(tier)})
	}
	for tier, want := range map[int]string{1: "a b", 2: "zone"} {
		var got []string
		for _, domain := range Widest(racks(), Domains(racks(), highest(tier))) {
			got = append(got, domain.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("up to tier %d: got %q, want %q", tier, got, want)
		}
	}
}

// TestAGroupMayBeWhereOnlyItsMinimumHasRoom: Volcano's plugin leaves out HyperNodes without room for all pods of a group.
func TestAGroupMayBeWhereOnlyItsMinimumHasRoom(t *testing.T) {
	ssn, job := racks(), jobWith(nil)
	job.UID, job.PodGroup.Spec.SubGroupPolicy = "job", []scheduling.SubGroupPolicySpec{{Name: "part", NetworkTopology: &scheduling.NetworkTopologySpec{Mode: scheduling.HardNetworkTopologyMode, HighestTierAllowed: ptr.To(2)}}}
	ssn.Jobs = map[api.JobID]*api.JobInfo{"job": job}
	for within, want := range map[string]string{"zone": "a b/zone/", "b": "b/"} {
		got := ""
		for _, tier := range tiersOf(ssn, &api.SubJobInfo{Job: "job", GID: "job/part"}, ssn.HyperNodes[within]) {
			var names []string
			for _, hyperNode := range tier {
				names = append(names, hyperNode.Name)
			}
			got += strings.Join(names, " ") + "/"
		}
		if got != want {
			t.Errorf("within %s: got %q, want %q", within, got, want)
		}
	}
}

func TestSettle(t *testing.T) {
	highest := &scheduling.NetworkTopologySpec{Mode: scheduling.HardNetworkTopologyMode, HighestTierAllowed: ptr.To(1)}
	for name, test := range map[string]struct {
		topology *scheduling.NetworkTopologySpec
		nodes    []string
		fits     bool
		want     string
	}{
		"a rack has all nodes":       {highest, []string{"b0", "b1", "b0"}, true, "b"},
		"no rack has all nodes":      {highest, []string{"a0", "b1"}, false, ""},
		"a job without topology":     {nil, []string{"a0", "b1"}, true, ""},
		"a node of no HyperNode":     {highest, []string{"c0"}, false, ""},
		"the smallest that has them": {&scheduling.NetworkTopologySpec{Mode: scheduling.HardNetworkTopologyMode, HighestTierAllowed: ptr.To(2)}, []string{"a1"}, true, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			job := jobWith(test.topology)
			var pods []*api.TaskInfo
			for _, node := range test.nodes {
				pods = append(pods, &api.TaskInfo{TransactionContext: api.TransactionContext{NodeName: node}})
			}
			if got := Settle(racks(), job, pods); got != test.fits || job.AllocatedHyperNode != test.want || job.SubJobs["default"].AllocatedHyperNode != test.want {
				t.Errorf("got %t, HyperNode %q of the job and %q of its pods; want %t, %q", got, job.AllocatedHyperNode, job.SubJobs["default"].AllocatedHyperNode, test.fits, test.want)
			}
		})
	}
}
