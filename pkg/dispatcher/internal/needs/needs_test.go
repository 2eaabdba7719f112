// SPDX-License-Identifier: Apache-2.0

package needs_test

import (
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func offers(resource string) func(*resourceapi.DeviceClass) {
	return func(c *resourceapi.DeviceClass) { c.Spec.ExtendedResourceName = &resource }
}

func isCard(name string) func(*resourceapi.DeviceClass) {
	return func(c *resourceapi.DeviceClass) { c.Annotations["volcano.sh/card.name"] = name }
}

var declared = map[string]string{"volcano.sh/max-devices": "4"}

func TestWhatAWorkloadNeeds(t *testing.T) {
	nvidia, both := cards(`{"NVIDIA-H20": 8, "NVIDIA-H800": 8}`), cards(`{"NVIDIA-H20": 8, "Ascend-910B": 8, "X100": 8}`)
	shares := cards(`{"NVIDIA-H20": 8, "NVIDIA-H20/mps-96g*1/2": 8, "NVIDIA-H20/mig-1g.18gb-mixed": 7, "NVIDIA-H20/mig-2g.36gb-mixed": 3}`)
	for name, c := range map[string]struct {
		world []option
		job   *workload.Template
		want  string
	}{
		"a pod counts with what it requests":                       {nil, job(pods(2, requests("cpu=1", "memory=1Gi"))), "cpu=2 memory=2GiB pods=2"},
		"tasks add up":                                             {nil, job(pods(2, requests("cpu=1")), pods(1, requests("cpu=500m"))), "cpu=2.5 pods=3"},
		"limits are requests":                                      {nil, job(pods(1, onlyLimits("cpu=3"))), "cpu=3 pods=1"},
		"an init container counts alone":                           {nil, job(pods(1, requests("cpu=1"), initContainer("cpu=3"))), "cpu=3 pods=1"},
		"a sidecar counts beside the pod":                          {nil, job(pods(1, requests("cpu=1"), sidecar("cpu=3"))), "cpu=4 pods=1"},
		"overhead counts":                                          {nil, job(pods(1, requests("cpu=1"), overhead("cpu=1"))), "cpu=2 pods=1"},
		"the pod's own requests count":                             {nil, job(pods(1, requests("cpu=1"), ofPod("cpu=3", ""))), "cpu=3 pods=1"},
		"the pod's own limits are requests":                        {nil, job(pods(1, ofPod("", "cpu=3,memory=1Gi"))), "cpu=3 memory=1GiB pods=1"},
		"a pod's limit is no request if containers request":        {nil, job(pods(1, requests("cpu=1"), ofPod("", "cpu=3"))), "cpu=1 pods=1"},
		"a pod may not hide its containers":                        {nil, job(pods(1, requests("cpu=3", "memory=1Gi"), overhead("cpu=1"), ofPod("cpu=1m", ""))), "cpu=4 memory=1GiB pods=1"},
		"negative requests of a task do not lower those of others": {nil, job(pods(4, requests("cpu=1")), pods(4, requests("cpu=-1", "memory=-1Gi"))), "cpu=4 pods=8"},
		"no quota lists the resource":                              {nil, job(pods(1, requests("example.com/fpga=1"))), "pods=1"},
		"a quota lists the resource":                               {[]option{limits("example.com/fpga=8")}, job(pods(3, requests("example.com/fpga=2"))), "example.com/fpga=6 pods=3"},

		"a named card counts":                      {[]option{nvidia}, job(pods(2, requests("nvidia.com/gpu=2"), naming("NVIDIA-H20"))), "NVIDIA-H20=4 pods=2"},
		"a limit on cards is a request":            {[]option{nvidia}, job(pods(1, onlyLimits("nvidia.com/gpu=2"), naming("NVIDIA-H20"))), "NVIDIA-H20=2 pods=1"},
		"each alternative counts":                  {[]option{nvidia}, job(pods(2, requests("nvidia.com/gpu=2"), naming("NVIDIA-H20|NVIDIA-H800"))), "NVIDIA-H20=4 NVIDIA-H800=4 pods=2"},
		"without a name each card counts":          {[]option{nvidia}, job(pods(1, requests("nvidia.com/gpu=2"))), "NVIDIA-H20=2 NVIDIA-H800=2 pods=1"},
		"the vendor tells cards apart":             {[]option{both}, job(pods(1, requests("huawei.com/Ascend910=2"))), "Ascend-910B=2 X100=2 pods=1"},
		"a card of another resource does not help": {[]option{shares}, job(pods(1, requests("nvidia.com/gpu=1"), naming("NVIDIA-H20/mps-96g*1/2"))), "NVIDIA-H20=1 pods=1"},
		"shares by MPS":                            {[]option{shares}, job(pods(1, requests("nvidia.com/gpu.shared=1"))), "NVIDIA-H20/mps-96g*1/2=1 pods=1"},
		"shares by MIG":                            {[]option{shares}, job(pods(1, requests("nvidia.com/mig-1g.18gb=1"))), "NVIDIA-H20/mig-1g.18gb-mixed=1 pods=1"},
		"no queue lists cards":                     {nil, job(pods(1, requests("nvidia.com/gpu=1"), naming("NVIDIA-H20"))), "pods=1"},
		"a resource that only members know":        {[]option{both}, job(pods(1, requests("example.com/tpu=2"), naming("X100"))), "X100=2 pods=1"},
		"more cards than can be counted":           {[]option{nvidia}, job(pods(5, requests("nvidia.com/gpu=8")), pods(20, requests("nvidia.com/gpu=9223372036854775807"), sidecar("nvidia.com/gpu=9223372036854775807"))), "error: it requests <9223372036854775807> of nvidia.com/gpu, which is more than can be counted: request less"},
		"more cores than can be counted":           {nil, job(pods(1, requests("cpu=4Ei"))), "error: it requests <4Ei> of cpu, which is more than can be counted: request less"},
		"more cores of pods than can be counted":   {nil, job(pods(1, ofPod("cpu=1e999999999", ""))), "error: it requests <1e999999999> of cpu, which is more than can be counted: request less"},
		"a PodGroup reserves more than that":       {nil, &workload.Template{Kind: "PodGroup", Reserve: list("cpu=1e999999999")}, "error: it requests <1e999999999> of cpu, which is more than can be counted: request less"},
		"a malformed name":                         {[]option{nvidia}, job(pods(1, naming("A||B"))), `error: its annotation volcano.sh/card.name is wrong at character 2: "" is not a card name`},

		"a claim template counts for each pod": {[]option{class("h100"), claimTemplate("t", nil, exactly("h100", 2))}, job(pods(3, fromTemplate("t"))), "h100=6 pods=3"},
		"a named claim counts once":            {[]option{class("h100"), namedClaim("c", exactly("h100", 2))}, job(pods(3, sharing("c")), pods(1, sharing("c"))), "h100=2 pods=4"},
		"the largest alternative counts":       {[]option{class("a"), class("b"), claimTemplate("t", nil, firstAvailable(exactly("a", 1), exactly("a", 3), exactly("b", 2)))}, job(pods(2, fromTemplate("t"))), "a=6 b=4 pods=2"},
		"admin access is free":                 {[]option{class("h100"), claimTemplate("t", nil, adminAccess(allOf("h100")))}, job(pods(1, fromTemplate("t"))), "pods=1"},
		"all devices, with a bound":            {[]option{class("h100"), claimTemplate("t", declared, allOf("h100"))}, job(pods(2, fromTemplate("t"))), "h100=8 pods=2"},
		"all devices among alternatives":       {[]option{class("a"), class("b"), claimTemplate("t", declared, firstAvailable(allOf("a"), exactly("b", 1)))}, job(pods(1, fromTemplate("t"))), "a=4 b=1 pods=1"},
		"all devices, without a bound":         {[]option{class("h100"), claimTemplate("t", nil, allOf("h100"))}, job(pods(1, fromTemplate("t"))), "error: ResourceClaimTemplate ns/t: request gpu: it asks for all devices, and nobody knows here how many a member cluster has: write the most that a pod may get into the annotation volcano.sh/max-devices"},
		"a bound that is no number":            {[]option{class("h100"), claimTemplate("t", map[string]string{"volcano.sh/max-devices": "many"}, allOf("h100"))}, job(pods(1, fromTemplate("t"))), `error: ResourceClaimTemplate ns/t: request gpu: the annotation volcano.sh/max-devices is "many"`},
		"a class that is a card":               {[]option{class("h100", isCard("NVIDIA-H100")), claimTemplate("t", nil, exactly("h100", 2))}, job(pods(1, fromTemplate("t"))), "NVIDIA-H100=2 h100=2 pods=1"},
		"capacity that is named":               {[]option{class("h100"), capacity("h100", "memory", "80Gi"), claimTemplate("t", nil, withMemory(exactly("h100", 2), "memory", "10Gi"))}, job(pods(2, fromTemplate("t"))), "h100/memory=40GiB h100=4 pods=2"},
		"capacity with the domain of a driver": {[]option{class("h100"), capacity("h100", "memory", "80Gi"), claimTemplate("t", nil, withMemory(exactly("h100", 1), "gpu.example.com/memory", "10Gi"))}, job(pods(1, fromTemplate("t"))), "h100/memory=10GiB h100=1 pods=1"},
		"capacity that is not named":           {[]option{class("h100"), capacity("h100", "memory", "80Gi"), claimTemplate("t", nil, exactly("h100", 1))}, job(pods(1, fromTemplate("t"))), "h100=1 pods=1 without h100/memory"},
		"an extended resource of a class":      {[]option{class("h100", offers("example.com/h100"))}, job(pods(2, requests("example.com/h100=2"), initContainer("example.com/h100=1"))), "example.com/h100=4 h100=4 pods=2"},
		"the extended resource of any class":   {[]option{class("h100")}, job(pods(1, requests("deviceclass.resource.kubernetes.io/h100=2"))), "h100=2 pods=1"},
		"an extended resource that is a card":  {[]option{nvidia, class("h20", offers("nvidia.com/gpu"), isCard("NVIDIA-H20"))}, job(pods(1, requests("nvidia.com/gpu=2"))), "NVIDIA-H20=2 h20=2 nvidia.com/gpu=2 pods=1"},
		"a template that does not exist":       {nil, job(pods(1, fromTemplate("t"))), "error: ResourceClaimTemplate ns/t does not exist"},
		"a claim that does not exist":          {nil, job(pods(1, sharing("c"))), "error: ResourceClaim ns/c does not exist"},
		"a class that does not exist":          {[]option{claimTemplate("t", nil, exactly("h100", 1))}, job(pods(1, fromTemplate("t"))), "error: ResourceClaimTemplate ns/t: DeviceClass h100 does not exist"},
		"more devices than can be counted":     {[]option{class("h100"), claimTemplate("t", nil, exactly("h100", 1<<62))}, job(pods(1<<62, fromTemplate("t"))), "error: amount overflows the ledger"},

		"a PodGroup reserves":                 {nil, &workload.Template{Kind: "PodGroup", Reserve: list("cpu=4", "memory=1Gi")}, "cpu=4 memory=1GiB"},
		"a PodGroup asks for cards":           {[]option{nvidia}, &workload.Template{Kind: "PodGroup", CardRequest: `{"NVIDIA-H20|NVIDIA-H800": 3, "NVIDIA-H20": 1}`}, "NVIDIA-H20=4 NVIDIA-H800=3"},
		"a PodGroup with a malformed request": {nil, &workload.Template{Kind: "PodGroup", Namespace: "ns", Name: "g", CardRequest: `[]`}, "error: its annotation volcano.sh/card.request is wrong at character 1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := newWorld(c.world...).all(t, c.job)
			if is := got == c.want || strings.HasPrefix(c.want, "error") && strings.HasPrefix(got, c.want); !is {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestNeedsFollowTheSpread(t *testing.T) {
	one := job(workload.PodSet{Count: 4, Minimum: 2, Template: pods(1, requests("cpu=1")).Template})
	w := newWorld(class("h100"), namedClaim("c", exactly("h100", 2)))
	for name, c := range map[string]struct {
		spread       framework.Spread
		minimum, all string
	}{
		"one cluster":                           {framework.Spread{Copies: 1}, "cpu=2 pods=2", "cpu=4 pods=4"},
		"each of three gets the whole":          {framework.Spread{Copies: 3}, "cpu=6 pods=6", "cpu=12 pods=12"},
		"nobody knows how many":                 {framework.Spread{}, "cpu=2 pods=2", "cpu=4 pods=4"},
		"divided":                               {framework.Spread{Copies: 1, Divided: true}, "cpu=2 pods=2", "cpu=4 pods=4"},
		"divided, and clusters still have more": {framework.Spread{Copies: 1, Replicas: 7, Divided: true}, "cpu=2 pods=2", "cpu=7 pods=7"},
	} {
		t.Run(name, func(t *testing.T) {
			counter, n, err := w.counted(t, one, c.spread)
			if err != nil {
				t.Fatal(err)
			}
			for what, pair := range map[string][2]string{
				"minimum": {text(counter, n.Minimum), c.minimum}, "all": {text(counter, n.All), c.all},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s: got %s, want %s", what, pair[0], pair[1])
				}
			}
		})
	}
	counter, n, err := w.counted(t, job(pods(3, sharing("c"))), framework.Spread{Copies: 2})
	if got := text(counter, n.All); err != nil || got != "h100=4 pods=6" {
		t.Errorf("a named claim counts once for each copy: %s, %v", got, err)
	}
	counter, n, err = w.counted(t, job(pods(3, sharing("c"))), framework.Spread{Copies: 1, Divided: true, Clusters: 3})
	if got := text(counter, n.All); err != nil || got != "h100=6 pods=3" {
		t.Errorf("a named claim counts in each cluster among which replicas are divided: %s, %v", got, err)
	}
	counter, n, err = w.counted(t, job(pods(0, requests("cpu=1"))), framework.Spread{Copies: 1, Replicas: 3})
	if got := text(counter, n.All); err != nil || got != "cpu=3 pods=3" {
		t.Errorf("what was scaled to zero, and clusters have or may get, counts: %s, %v", got, err)
	}
	counter, n, err = w.counted(t, job(pods(0, requests("cpu=1"))), framework.Spread{Copies: 1})
	if got := text(counter, n.All); err != nil || got != "" {
		t.Errorf("what was scaled to zero counts: %s, %v", got, err)
	}
	surging := job(pods(10, requests("cpu=1"))) // 8 replicas with a surge of 4 in each cluster, of which 2 are not charged
	surging.Surge, surging.Surged = 4, 2
	for clusters, want := range map[int64]string{1: "cpu=10 pods=10", 3: "cpu=18 pods=18"} {
		counter, n, err := w.counted(t, surging, framework.Spread{Copies: 1, Divided: true, Clusters: clusters})
		if got := text(counter, n.All); err != nil || got != want {
			t.Errorf("a surge in each of %d clusters: %s, %v, want %s", clusters, got, err, want)
		}
	}
}

func TestCardsThatNoQueueListsAreNoAmounts(t *testing.T) {
	for name, c := range map[string]struct {
		world []option
		job   *workload.Template
		want  string
	}{
		"a name":              {[]option{cards(`{"NVIDIA-H20": 1}`)}, job(pods(2, requests("nvidia.com/gpu=3"), naming("NVIDIA-H20|NVIDIA-B200"))), "NVIDIA-B200=6"},
		"no listed card fits": {[]option{cards(`{"Ascend-910B": 1}`)}, job(pods(1, requests("nvidia.com/gpu=3"))), "nvidia.com/gpu=3"},
		"a request":           {[]option{cards(`{"NVIDIA-H20": 1}`)}, &workload.Template{CardRequest: `{"NVIDIA-B200": 2}`}, "NVIDIA-B200=2"},
		"all are listed":      {[]option{cards(`{"NVIDIA-H20": 1}`)}, job(pods(1, requests("nvidia.com/gpu=3"))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			counter, n, err := newWorld(c.world...).counted(t, c.job, framework.Spread{Copies: 1})
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, a := range n.Unlisted {
				words = append(words, a.Dimension.String()+"="+a.Amount.String())
			}
			if got := strings.Join(words, " "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			for o := range ledger.Ordinal(counter.Dimensions().Len()) {
				if d := counter.Dimensions().Dimension(o); d.Name == "NVIDIA-B200" {
					t.Errorf("the name that a user wrote is dimension %d", o)
				}
			}
		})
	}
}

func TestANoticeSaysWhatCountsInstead(t *testing.T) {
	fallback := job(pods(1))
	fallback.Fallback, fallback.Kind = true, "Rocket"
	for name, c := range map[string]struct {
		job  *workload.Template
		want string
	}{
		"nothing":         {job(pods(1, requests("cpu=1"))), ""},
		"an unknown kind": {fallback, "kind Rocket is not known: what Karmada found in it counts"},
		"no named card":   {job(pods(1, requests("nvidia.com/gpu=1")), pods(1, requests("nvidia.com/gpu=1"))), "pods that request nvidia.com/gpu name no card, so that each of NVIDIA-H20, NVIDIA-H800 counts: name the card in annotation volcano.sh/card.name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, n, err := newWorld(cards(`{"NVIDIA-H20": 8, "NVIDIA-H800": 8}`)).counted(t, c.job, framework.Spread{Copies: 1})
			if err != nil || n.Notice != c.want {
				t.Errorf("got %q (%v), want %q", n.Notice, err, c.want)
			}
		})
	}
}
