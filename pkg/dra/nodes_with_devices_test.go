// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

// modelsIn returns a slice with one device per model.
func modelsIn(change func(*resourceapi.ResourceSliceSpec), models ...string) *resourceapi.ResourceSlice {
	slice := poolSlice("pool", 1, 1, len(models))
	for i, model := range models {
		slice.Spec.Devices[i].Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"model": {StringValue: ptr.To(model)}}
	}
	change(&slice.Spec)
	return slice
}

func ofNode(name string) func(*resourceapi.ResourceSliceSpec) {
	return func(spec *resourceapi.ResourceSliceSpec) { spec.NodeName = ptr.To(name) }
}

func ofZone(name string) func(*resourceapi.ResourceSliceSpec) {
	return func(spec *resourceapi.ResourceSliceSpec) { spec.NodeSelector = inZone(name) }
}

func ofAll(spec *resourceapi.ResourceSliceSpec) { spec.AllNodes = ptr.To(true) }

func newNodesWithDevices() *NodesWithDevices {
	return NewNodesWithDevices(cel.NewCache(10, cel.Features{}))
}

func TestNodesThatCanReachDevicesOfClasses(t *testing.T) {
	perDevice := func(spec *resourceapi.ResourceSliceSpec) {
		spec.PerDeviceNodeSelection = ptr.To(true)
		spec.Devices[0].NodeName = ptr.To("n2") // an a100
		spec.Devices[1].NodeName = ptr.To("n1")
		spec.Devices[2].NodeSelector = inZone("b")
	}
	h100 := class("h100", ofModel("h100"))
	halfPublished := func(spec *resourceapi.ResourceSliceSpec) {
		ofNode("n1")(spec)
		spec.Pool.ResourceSliceCount = 2
	}
	newer := modelsIn(ofNode("n1"), "h100")
	newer.Spec.Devices[0].Attributes["new"] = resourceapi.DeviceAttribute{}
	for name, c := range map[string]struct {
		class *resourceapi.DeviceClass
		slice *resourceapi.ResourceSlice
		want  string // n1 is in zone a, n2 in zone b
	}{
		"one of its devices is in the class":         {h100, modelsIn(ofNode("n1"), "a100", "h100"), "n1"},
		"no device is in the class":                  {h100, modelsIn(ofNode("n1"), "a100"), ""},
		"a class without selectors has all devices":  {class("any"), modelsIn(ofNode("n2"), "a100"), "n2"},
		"a selector that does not compile":           {class("h100", `device.`), modelsIn(ofNode("n1"), "h100"), ""},
		"nodes that a selector matches":              {class("any"), modelsIn(ofZone("a"), "h100"), "n1"},
		"all nodes":                                  {class("any"), modelsIn(ofAll, "h100"), "n1 n2"},
		"each device on a node of its own":           {h100, modelsIn(perDevice, "a100", "h100", "h100"), "n1 n2"},
		"a node with a device of another class only": {h100, modelsIn(perDevice, "a100", "h100", "a100"), "n1"},
		"a pool that is still being published":       {h100, modelsIn(halfPublished, "h100"), "n1"},
		"an attribute that only a newer API knows":   {h100, newer, "n1"},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := newNodesWithDevices()
			nodes.Update([]*resourceapi.DeviceClass{c.class}, []*resourceapi.ResourceSlice{c.slice})
			var got []string
			for node, in := range map[string]string{"n1": "a", "n2": "b"} {
				if nodes.Has(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{"zone": in}}}) {
					got = append(got, node)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("nodes %q have such devices, want %q", got, c.want)
			}
		})
	}
}

func TestAnUpdateSaysWhetherOtherNodesHaveDevices(t *testing.T) {
	of := func(changes ...func(*resourceapi.ResourceSliceSpec)) []*resourceapi.ResourceSlice {
		var all []*resourceapi.ResourceSlice
		for _, change := range changes {
			all = append(all, modelsIn(change, "h100"))
		}
		return all
	}
	every := []*resourceapi.DeviceClass{class("any")}
	for name, c := range map[string]struct {
		before, after []*resourceapi.ResourceSlice
		changed       bool
	}{
		"the same node":                    {of(ofNode("n1")), of(ofNode("n1")), false},
		"another node":                     {of(ofNode("n1")), of(ofNode("n2")), true},
		"the same selector, parsed again":  {of(ofZone("a"), ofNode("n1")), of(ofNode("n1"), ofZone("a")), false},
		"the same selector in two slices":  {of(ofZone("a")), of(ofZone("a"), ofZone("a")), false},
		"another selector":                 {of(ofZone("a")), of(ofZone("b")), true},
		"one selector more":                {of(ofZone("a")), of(ofZone("a"), ofZone("b")), true},
		"a node besides the same selector": {of(ofZone("a")), of(ofZone("a"), ofNode("n1")), true},
		"all nodes":                        {of(ofNode("n1")), of(ofNode("n1"), ofAll), true},
		"no slices":                        {of(), of(), false},
		"no slices any more":               {of(ofNode("n1")), of(), true},
	} {
		nodes := newNodesWithDevices()
		nodes.Update(every, c.before)
		if got := nodes.Update(every, c.after); got != c.changed {
			t.Errorf("%s: changed: %t, want %t", name, got, c.changed)
		}
	}
	nodes, slices := newNodesWithDevices(), of(ofNode("n1"))
	nodes.Update(every, slices)
	if !nodes.Update([]*resourceapi.DeviceClass{class("any", ofModel("a100"))}, slices) || nodes.Has(node("n1", "v1.34.1", nil)) {
		t.Error("a class has other selectors, and its nodes stay the same")
	}
}
