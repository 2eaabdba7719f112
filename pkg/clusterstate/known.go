// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/devicequota/devicequota/pkg/card"
)

// maxListed limits the names in a message.
const maxListed = 20

// names are the known names of one kind in a state.
type names map[string]bool

// refuse returns an error if a name is unknown. It accepts any name if no name is known, because the state may lack this kind.
func (n names) refuse(what, name, advice string) error {
	if n[name] || len(n) == 0 {
		return nil
	}
	return fmt.Errorf("there is no %s %s%s; there are %s", what, name, advice, listed(slices.Sorted(maps.Keys(n))))
}

// listed returns the first names of a list.
func listed(all []string) string {
	if more := len(all) - maxListed; more > 0 {
		return fmt.Sprintf("%s, and %d more", strings.Join(all[:maxListed], ", "), more)
	}
	return strings.Join(all, ", ")
}

func (n names) addKeys(object *Object, fields ...string) {
	content, _, _ := unstructured.NestedFieldNoCopy(object.Object, fields...)
	keys, _ := content.(map[string]any)
	for key := range keys {
		n[key] = true
	}
}

var sections = []string{"capability", "deserved", "guarantee"}

// classes returns the DeviceClasses that exist or have a quota.
func (s *State) classes() names {
	known := names{}
	for i := range s.Items {
		switch o := &s.Items[i]; o.GetKind() {
		case "DeviceClass":
			known[o.GetName()] = true
		case queueKind:
			for _, section := range sections {
				known.addKeys(o, "spec", "dra", section)
			}
		}
	}
	return known
}

// capacities returns the capacities of all devices. Quotas may name them with or without the domain of the driver.
func (s *State) capacities() names {
	known := names{}
	for i := range s.Items {
		o := &s.Items[i]
		if o.GetKind() != "ResourceSlice" {
			continue
		}
		driver, _, _ := unstructured.NestedString(o.Object, "spec", "driver")
		devices, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "devices")
		all, _ := devices.([]any)
		for _, device := range all {
			content, _ := device.(map[string]any)
			capacity, _ := content["capacity"].(map[string]any)
			for name := range capacity {
				_, bare, qualified := strings.Cut(name, "/")
				if known[name] = true; qualified {
					known[bare] = true
				} else {
					known[driver+"/"+name] = true
				}
			}
		}
	}
	return known
}

// resources returns the resources that nodes have or queues limit.
func (s *State) resources() names {
	known := names{}
	for i := range s.Items {
		switch o := &s.Items[i]; o.GetKind() {
		case "Node":
			known.addKeys(o, "status", "allocatable")
		case queueKind:
			known.addKeys(o, "spec", "capability")
			known.addKeys(o, "spec", "deserved")
			known.addKeys(o, "spec", "guarantee", "resource")
		}
	}
	return known
}

// cards returns the cards that nodes offer or queues limit.
func (s *State) cards() names {
	known := names{}
	for i := range s.Items {
		switch o := &s.Items[i]; o.GetKind() {
		case "Node":
			var node corev1.Node
			if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &node) != nil {
				continue
			}
			for _, resources := range []card.ResourceNames{nil, {"*/*"}} { // the configuration may decide which of them are cards
				for _, offer := range card.Read(&node, resources).Offers {
					known[offer.Card] = true
				}
			}
		case queueKind:
			for _, section := range sections {
				var quota map[string]any
				_ = json.Unmarshal([]byte(o.GetAnnotations()[cardAnnotations[section]]), &quota)
				for name := range quota {
					known[name] = true
				}
			}
		}
	}
	return known
}
