// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"strings"
	"testing"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

// offering has class h100, which offers nvidia.com/gpu. Its devices are cards H100.
func offering() *dra.Catalog {
	var classes []*resourceapi.DeviceClass
	for class := range catalog().Classes {
		object, _ := catalog().Class(class)
		if class == "h100" {
			object.Spec.ExtendedResourceName = ptr.To(string(gpu))
		}
		classes = append(classes, object)
	}
	return dra.NewCatalog(classes, []*resourceapi.ResourceSlice{{Spec: resourceapi.ResourceSliceSpec{
		Driver: "driver", NodeName: ptr.To("n1"), Pool: resourceapi.ResourcePool{Name: "n1", ResourceSliceCount: 1},
	}}})
}

// world is a fixture in which device plugins, DRA, or both serve nvidia.com/gpu.
func world(t *testing.T, plugins, devices bool) *fixture {
	f := newFixture(t)
	f.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.Resource, Name: string(gpu)})
	f.serve(plugins, devices)
	return f
}

// serve begins a round in which device plugins, DRA, or both serve nvidia.com/gpu.
func (f *fixture) serve(plugins, devices bool) {
	published := offering()
	serving := Serving{ByPlugins: map[corev1.ResourceName]bool{gpu: plugins}, Class: func(name corev1.ResourceName) string {
		class, _ := published.Extended(name)
		return class
	}}
	if devices {
		serving.ByDevices = [][]corev1.ResourceName{{gpu}}
	}
	f.Configure(Options{}, serving)
	f.books, _ = ledger.New(f.Dimensions, nil, []ledger.QueueSpec{{Name: "q"}})
	f.Begin(f.reader, published)
}

// extendedClaim returns the claim for extended resources of a pod, which class h100 offers.
func (f *fixture) extendedClaim(p *corev1.Pod, names ...corev1.ResourceName) *resourceapi.ResourceClaim {
	f.Helper()
	claim, err := dra.ExtendedClaim(p, names, func(corev1.ResourceName) string { return "h100" })
	if err != nil {
		f.Fatal(err)
	}
	return claim
}

// needs returns what a job needs.
func (f *fixture) needs(group Group, pods JobPods) Needs {
	f.Helper()
	needs, err := f.JobNeeds(f.books, group, pods, true)
	if err != nil {
		f.Fatal(err)
	}
	return needs
}

// ofThree is the group of a job without pods that needs three of the pods from a template.
func ofThree(replicas int32, template corev1.PodTemplateSpec) Group {
	three := job(3, batchv1alpha1.TaskSpec{Name: "t", Replicas: replicas, Template: template})
	return Group{MinMember: 3, Job: func() (*batchv1alpha1.Job, error) { return three, nil }, Priority: priority}
}

// requesting adds a pod that requests a number of nvidia.com/gpu, and settles it.
func (f *fixture) requesting(p *corev1.Pod, placed bool) *Pod {
	f.Helper()
	quantity := p.Spec.Containers[0].Resources.Requests[gpu]
	pod, err := f.Add(p, Values{Scalars: map[corev1.ResourceName]float64{gpu: float64(quantity.MilliValue())}}, scalarsOf(p))
	if err != nil {
		f.Fatal(err)
	}
	f.Refresh(pod)
	return f.Settle(pod, placed)
}

// ways formats the demand of a pod for each way to get its extended resources.
func (f *fixture) ways(pod *Pod) string {
	variants := pod.Alternatives()
	if variants == nil {
		variants = []*Pod{pod}
	}
	var all []string
	for _, v := range variants {
		var sum ledger.Amounts
		for _, part := range v.Demand {
			sum = Sum(sum, part.Amounts())
		}
		words := []string{text(f.Dimensions, sum)}
		if v.Cards != nil {
			words = append(words, v.Cards.text())
		}
		if v.Err != nil {
			words = append(words, "error: "+v.Err.Error())
		}
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, " or ")
}

func TestWhoServesAnExtendedResourceDecidesWhatAPodIsCharged(t *testing.T) {
	for _, c := range []struct {
		name             string
		cards            string
		plugins, devices bool
		want             string
	}{
		{name: "device plugins", plugins: true, want: "nvidia.com/gpu:2 names= nvidia.com/gpu:2:A|B"},
		{name: "DRA", devices: true, want: "H100:2 h100:2 nvidia.com/gpu:2"},
		{name: "both", plugins: true, devices: true, want: "H100:2 h100:2 nvidia.com/gpu:2 or nvidia.com/gpu:2 names= nvidia.com/gpu:2:A|B"},
		{name: "nobody: it waits for devices", want: "H100:2 h100:2 nvidia.com/gpu:2"},
		{name: "a card of DRA or a card of device plugins", cards: "H100|B", plugins: true, devices: true, want: "H100:2 h100:2 nvidia.com/gpu:2 or nvidia.com/gpu:2 names=H100|B nvidia.com/gpu:2:B"},
		{name: "a card that the class is not", cards: "A", devices: true, want: "H100:2 h100:2 nvidia.com/gpu:2 error: " +
			"it names card A, but devices of DeviceClass h100, which offers nvidia.com/gpu, are H100: correct the annotation volcano.sh/card.name of the pod or of the class"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := world(t, c.plugins, c.devices)
			if got := f.ways(f.requesting(object("p", c.cards, "nvidia.com/gpu=2"), false)); got != c.want {
				t.Errorf("the pod comes to\n%s, want\n%s", got, c.want)
			}
		})
	}
}

func TestAPodCountsAsWhatItsNodeServes(t *testing.T) {
	f := world(t, true, true)
	p := object("p", "", "nvidia.com/gpu=2")
	pod := f.requesting(p, false)
	if len(pod.Alternatives()) != 2 || f.Known(p) != pod {
		t.Fatalf("the pod has %d alternatives", len(pod.Alternatives()))
	}
	for _, served := range [][]corev1.ResourceName{{gpu}, nil, {"example.com/other", gpu}} {
		placed := f.Place(pod, served)
		if f.Known(p) != placed || len(placed.Served()) != min(len(served), 1) || pod.Alternatives() != nil {
			t.Errorf("on a node where DRA serves %v, the pod counts as one where it serves %v", served, placed.Served())
		}
		if f.Unplace(placed); f.Known(p) != pod {
			t.Error("a pod that is not placed after all does not count as before")
		}
	}
	if f.Place(pod, nil); f.On(pod, []corev1.ResourceName{gpu}) {
		t.Error("a pod with a node can be had on another node")
	}
	pod.Charge(3, true)
	if known := f.Known(p); known.Queue != 3 || !known.InLedger {
		t.Error("a variant does not belong to the queue of its pod")
	}
}

// On reports whether a pod has its own variant for nodes where DRA serves these resources.
func (f *fixture) On(pod *Pod, served []corev1.ResourceName) bool {
	v := pod.On(served)
	return v != nil && len(v.Served()) > 0
}

func TestAPodWithANodeCountsAsItsClaimSays(t *testing.T) {
	f := world(t, true, true)
	p := object("p", "", "nvidia.com/gpu=2")
	claim := f.extendedClaim(p, gpu)
	if got := f.ways(f.requesting(p, true)); got != "nvidia.com/gpu:2 names= nvidia.com/gpu:2:A|B" {
		t.Errorf("without a claim, a device plugin gave it cards: it comes to %s", got)
	}
	claim.Name, claim.UID = "p-extended-resources-x", "made"
	given(claim, 2, "p")
	f.reader.claims[claim.Name] = claim
	f.begin()
	f.Counter.Reset()
	f.serve(true, true)
	pod := f.requesting(p, true)
	if got := f.ways(pod); got != "H100:2 h100:2 nvidia.com/gpu:2" || pod.Claims[0].Object != claim {
		t.Errorf("with a claim, it comes to %s", got)
	}
}

// TestAClaimOfAnOfferingClassCountsForTheResource checks that a claim cannot bypass the quota of nvidia.com/gpu.
func TestAClaimOfAnOfferingClassCountsForTheResource(t *testing.T) {
	f := world(t, true, true)
	f.reader.claims["plain"] = claim("plain", exactly("h100", 3))
	p := pod("plain")
	p.Spec.Containers = cardPod("").Containers
	if got := f.ways(f.requesting(p, false)); got != "H100:3 h100:3 nvidia.com/gpu:3" {
		t.Errorf("a claim comes to %s", got)
	}
}

func TestAJobCountsEachWayOnce(t *testing.T) {
	for _, c := range []struct {
		name             string
		plugins, devices bool
		cards            string
		// want is common to all ways. choices is the choices of the pods.
		want, choices string
	}{
		{name: "device plugins", plugins: true, cards: "A", want: "A:6"},
		{name: "DRA", devices: true, want: "H100:6 h100:6"},
		{name: "both", plugins: true, devices: true, cards: "H100|B", choices: "3 of H100:2 h100:2 or B:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := world(t, c.plugins, c.devices)
			template := corev1.PodTemplateSpec{Spec: *cardPod("nvidia.com/gpu=2")}
			if c.cards != "" {
				template.Annotations = map[string]string{card.NameAnnotation: c.cards}
			}
			f.expectNeeds("before the pods exist", f.needs(ofThree(4, template), JobPods{}), c.want, c.choices)
			var pods []JobPod
			for _, name := range []string{"a", "b", "c", "d"} {
				p := object(name, c.cards, "nvidia.com/gpu=2")
				pods = append(pods, JobPod{Pod: f.requesting(p, false)})
			}
			sum, errs := OfJobPods(f.books, pods, 3)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			f.expectNeeds("with pods", f.needs(Group{MinMember: 3, Pods: 4}, sum), c.want, c.choices)
		})
	}
}

func (f *fixture) expectNeeds(when string, needs Needs, want, choices string) {
	f.Helper()
	var all []string
	for _, choice := range needs.Choices {
		var ways []string
		for _, a := range choice.Alternatives {
			ways = append(ways, text(f.Dimensions, a))
		}
		all = append(all, strings.Join([]string{ledger.Units(choice.Pods).String(), "of", strings.Join(ways, " or ")}, " "))
	}
	if got := text(f.Dimensions, needs.Amounts); got != want || strings.Join(all, "; ") != choices {
		f.Errorf("%s: the job needs %q and %q, want %q and %q", when, got, all, want, choices)
	}
}

func TestSetsOfServing(t *testing.T) {
	other := corev1.ResourceName("example.com/nic")
	for _, c := range []struct {
		name      string
		plugins   []corev1.ResourceName
		byDevices [][]corev1.ResourceName
		asked     []corev1.ResourceName
		want      string
	}{
		{"nobody serves", nil, nil, []corev1.ResourceName{gpu}, "nvidia.com/gpu,"},
		{"only plugins", []corev1.ResourceName{gpu}, nil, []corev1.ResourceName{gpu}, ""},
		{"DRA first", []corev1.ResourceName{gpu}, [][]corev1.ResourceName{{gpu}}, []corev1.ResourceName{gpu}, "nvidia.com/gpu,;"},
		{"one by DRA, one by a plugin", []corev1.ResourceName{other}, [][]corev1.ResourceName{{gpu}}, []corev1.ResourceName{other, gpu}, "nvidia.com/gpu,"},
		{"all ways", []corev1.ResourceName{gpu, other}, [][]corev1.ResourceName{{gpu}, {other, gpu}}, []corev1.ResourceName{other, gpu}, "example.com/nic,nvidia.com/gpu,;nvidia.com/gpu,;"},
		{"what the pod does not request does not matter", nil, [][]corev1.ResourceName{{other, gpu}, {gpu}}, []corev1.ResourceName{gpu}, "nvidia.com/gpu,"},
	} {
		s := Serving{ByPlugins: map[corev1.ResourceName]bool{}, ByDevices: c.byDevices}
		for _, name := range c.plugins {
			s.ByPlugins[name] = true
		}
		var keys []string
		for _, set := range s.sets(c.asked) {
			keys = append(keys, keyOf(set))
		}
		if got := strings.Join(keys, ";"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
