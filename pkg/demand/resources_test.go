// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// startsWith reports whether an error starts with a text, or both are missing.
func startsWith(err error, text string) bool {
	if err == nil || text == "" {
		return err == nil && text == ""
	}
	return strings.HasPrefix(err.Error(), text)
}

func resourceList(words string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for word := range strings.FieldsSeq(words) {
		name, number, _ := strings.Cut(word, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(number)
	}
	return list
}

// newResources ignores example.com/ignored. Class h100 offers example.com/gpu, and its implicit name.
func newResources() (*ledger.Dimensions, *Resources) {
	dimensions := &ledger.Dimensions{}
	r := NewResources(dimensions, func(name corev1.ResourceName) bool { return name == "example.com/ignored" })
	r.reclassify(func(name corev1.ResourceName) string {
		return map[corev1.ResourceName]string{"example.com/gpu": "h100", "deviceclass.resource.kubernetes.io/h100": "h100"}[name]
	})
	return dimensions, r
}

func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		name      string
		values    Values
		basicOnly bool
		want      string
		wantErr   string
	}{
		{name: "nothing"},
		{name: "cpu in thousandths, memory in bytes", values: Values{MilliCPU: 1500, Memory: 1 << 30}, want: "cpu:1.5 memory:1GiB"},
		{name: "pods in pieces, other resources in thousandths", values: Values{Scalars: map[corev1.ResourceName]float64{"pods": 3, "nvidia.com/gpu": 2000}}, want: "nvidia.com/gpu:2 pods:3"},
		{name: "cpu and memory of zero are not set, a scalar of zero is none", values: Values{Scalars: map[corev1.ResourceName]float64{"nvidia.com/gpu": 0}}, want: "nvidia.com/gpu:0"},
		{name: "a scalar below zero is none", values: Values{MilliCPU: -1, Scalars: map[corev1.ResourceName]float64{"nvidia.com/gpu": -1}}, want: "nvidia.com/gpu:0"},
		{name: "the implicit name of a class is left out", values: Values{MilliCPU: 1000, Scalars: map[corev1.ResourceName]float64{"example.com/gpu": 2000, "deviceclass.resource.kubernetes.io/h100": 2000}}, want: "cpu:1 example.com/gpu:2"},
		{
			name: "only cpu, memory and pods", basicOnly: true, want: "cpu:1 pods:1",
			values: Values{MilliCPU: 1000, Scalars: map[corev1.ResourceName]float64{"pods": 1, "nvidia.com/gpu": 2000}},
		},
		{name: "an amount that is out of range", values: Values{MilliCPU: math.Inf(1), Memory: 1}, want: "memory:1", wantErr: "cpu: +Inf: amount overflows the ledger"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dimensions, r := newResources()
			r.basicOnly = c.basicOnly
			got, err := r.Amounts(c.values)
			if text(dimensions, got) != c.want || !startsWith(err, c.wantErr) {
				t.Errorf("got %q (%v), want %q, %s", text(dimensions, got), err, c.want, c.wantErr)
			}
			if err != nil && !errors.Is(err, ledger.ErrOverflow) {
				t.Errorf("%v is not ErrOverflow", err)
			}
			if !slices.IsSortedFunc(got, func(a, b ledger.Entry) int { return int(a.Dimension - b.Dimension) }) {
				t.Errorf("the amounts are not in the order of their dimensions: %v", got)
			}
		})
	}
}

func TestList(t *testing.T) {
	for _, c := range []struct {
		name, list string
		// before is the number of devices of class h100 already in the list.
		before    int64
		basicOnly bool
		want      string
	}{
		{name: "nothing"},
		{name: "cpu, memory, and scalars", list: "cpu=1500m memory=1Gi nvidia.com/gpu=2 pods=3 ephemeral-storage=1Gi", want: "cpu:1.5 ephemeral-storage:1GiB memory:1GiB nvidia.com/gpu:2 pods:3"},
		{name: "cpu of zero is not set, a scalar of zero is none", list: "cpu=0 memory=0 nvidia.com/gpu=0", want: "nvidia.com/gpu:0"},
		{name: "a scalar below zero is none", list: "nvidia.com/gpu=-1", want: "nvidia.com/gpu:0"},
		{name: "numbers that mean no limit", list: "cpu=10P memory=10E nvidia.com/gpu=9223372036854775807 ephemeral-storage=8Ei",
			want: "cpu:10000000000000000 ephemeral-storage:9223372036854775807 memory:9536743164062.5MiB nvidia.com/gpu:9223372036854775807"},
		{name: "numbers of objects do not count", list: "count/pods=5 services=3"},
		{name: "what is ignored does not count", list: "example.com/ignored=5"},
		{name: "a resource that a class offers is a resource, because device plugins may serve it, too", list: "example.com/gpu=2", want: "example.com/gpu:2"},
		{name: "the implicit name of a class counts as its devices", list: "deviceclass.resource.kubernetes.io/h100=2", want: "h100:2"},
		{name: "the smaller number holds if the devices are listed, too", list: "deviceclass.resource.kubernetes.io/h100=2", before: 5, want: "h100:2"},
		{name: "the smaller number holds, whichever it is", list: "deviceclass.resource.kubernetes.io/h100=7", before: 5, want: "h100:5"},
		{name: "only cpu and memory", list: "cpu=1 memory=1Gi pods=3 nvidia.com/gpu=2", basicOnly: true, want: "cpu:1 memory:1GiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dimensions, r := newResources()
			r.basicOnly = c.basicOnly
			var before ledger.Amounts
			if c.before > 0 {
				before = ledger.Amounts{{Dimension: r.devices("h100"), Amount: ledger.Units(c.before)}}
			}
			if got := text(dimensions, r.List(resourceList(c.list), before)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestListAgreesWithAmounts checks that administrators and pods get the same amounts for the same text.
func TestListAgreesWithAmounts(t *testing.T) {
	dimensions, r := newResources()
	written := text(dimensions, r.List(resourceList("cpu=1500m memory=3Gi pods=4 nvidia.com/gpu=2 hugepages-2Mi=64Mi ephemeral-storage=5Gi"), nil))
	requested, err := r.Amounts(Values{MilliCPU: 1500, Memory: 3 << 30, Scalars: map[corev1.ResourceName]float64{
		"pods": 4, "nvidia.com/gpu": 2_000, "hugepages-2Mi": 64 << 20 * 1_000, "ephemeral-storage": 5 << 30 * 1_000,
	}})
	if got := text(dimensions, requested); got != written || err != nil {
		t.Errorf("requested are %q (%v), written %q", got, err, written)
	}
}

func TestValuesAreTheInverseOfAmounts(t *testing.T) {
	_, r := newResources()
	values := Values{MilliCPU: 1500, Memory: 3 << 30, Scalars: map[corev1.ResourceName]float64{"pods": 4, "nvidia.com/gpu": 2_000}}
	amounts, err := r.Amounts(values)
	if err != nil {
		t.Fatal(err)
	}
	var inOrder []ledger.Amount
	for _, o := range r.Ordinals() {
		inOrder = append(inOrder, amounts.Of(o))
	}
	got := r.Values(inOrder)
	if got.MilliCPU != values.MilliCPU || got.Memory != values.Memory || len(got.Scalars) != 2 || got.Scalars["pods"] != 4 || got.Scalars["nvidia.com/gpu"] != 2_000 {
		t.Errorf("got %+v, want %+v", got, values)
	}
}

func TestWithoutCPUMemory(t *testing.T) {
	dimensions, r := newResources()
	all := r.List(resourceList("cpu=1 memory=1Gi pods=3"), nil)
	if got := text(dimensions, r.WithoutCPUMemory(all)); got != "pods:3" || len(all) != 3 {
		t.Errorf("got %q, and the list has %d entries", got, len(all))
	}
}

// TestTheSameRequestGivesTheSameError matters because a different text in each session would be a new event.
func TestTheSameRequestGivesTheSameError(t *testing.T) {
	r := NewResources(&ledger.Dimensions{}, func(corev1.ResourceName) bool { return false })
	texts := map[string]bool{}
	for range 50 {
		_, err := r.Requested(Values{Scalars: map[corev1.ResourceName]float64{"example.com/a": 1000, "example.com/b": 1000, "example.com/c": 1000}})
		texts[err.Error()] = true
	}
	if len(texts) != 1 {
		t.Errorf("there are %d texts: %v", len(texts), texts)
	}
}

// TestFewOfManyUnknownResourcesAreNamed matters because a pod may request thousands, and each session formats the message.
func TestFewOfManyUnknownResourcesAreNamed(t *testing.T) {
	f := newFixture(t)
	f.Configure(Options{}, Serving{})
	values := Values{MilliCPU: 1000, Scalars: map[corev1.ResourceName]float64{}}
	for i := range 3000 {
		values.Scalars[corev1.ResourceName(fmt.Sprintf("example.com/made-up-%04d", i))] = 1000
	}
	_, err := f.Resources.Requested(values)
	var unknown UnknownResourceError
	if !errors.As(err, &unknown) || unknown.Resource != "example.com/made-up-0000" {
		t.Fatalf("the first error is %v", unknown)
	}
	lines := strings.Split(err.Error(), "\n")
	if want := "and 2992 more resources that no node offers"; len(lines) != maxUnknown+1 || lines[maxUnknown] != want {
		t.Errorf("there are %d lines, the last is %q, want %q", len(lines), lines[len(lines)-1], want)
	}
}
