// SPDX-License-Identifier: Apache-2.0

package card

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// scheme is a way to share cards. To support another one, add an entry to schemes.
type scheme struct {
	vendor string
	// resource is a path.Match pattern for the part of a resource name after the vendor. Labels that describe the share
	// contain the same part.
	resource string
	// share is the part of card names after the model. {resource} stands for the matched part of the resource name, {memory} for
	// the card's memory in GiB, and {replicas} for the number of shares of a card. Memory and replicas come from the node's labels.
	share string
}

var schemes = []scheme{
	// NVIDIA's device plugin renames cards that it shares by MPS. A label contains the number of shares.
	{vendor: "nvidia.com", resource: "gpu.shared", share: "mps-{memory}g*1/{replicas}"},
	// With the MIG strategy "mixed", each MIG profile is a separate resource.
	{vendor: "nvidia.com", resource: "mig-*", share: "{resource}-mixed"},
}

// usual lists resources that count as cards even if no node has a label with the model.
var usual = ResourceNames{"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-*", "huawei.com/npu", "huawei.com/Ascend*"}

// schemeOf returns the scheme of a vendor's resource. It returns false if the resource does not stand for shares of cards.
func schemeOf(vendor, name string) (scheme, bool) {
	for _, s := range schemes {
		if matched, _ := path.Match(s.resource, name); matched && s.vendor == vendor {
			return s, true
		}
	}
	return scheme{}, false
}

// cardName returns the card name of a share of a model. The error names the missing label.
func (s scheme) cardName(model, resource string, l labels) (string, error) {
	name := strings.ReplaceAll(s.share, "{resource}", resource)
	for _, number := range []struct {
		placeholder, label string
		value              int64
	}{
		{"{memory}", l.key(memoryLabel), (l.memory + 512) / 1024},
		{"{replicas}", l.key(replicasLabel), l.replicas},
	} {
		if !strings.Contains(name, number.placeholder) {
			continue
		}
		if number.value == 0 {
			return "", fmt.Errorf("it offers %s/%s, but the names of these cards need its label %s: set the label", s.vendor, resource, number.label)
		}
		name = strings.ReplaceAll(name, number.placeholder, fmt.Sprint(number.value))
	}
	return model + "/" + name, nil
}

// ResourceNames is a list of patterns of resource names in the syntax of path.Match. A * matches any characters except
// a slash. Nil selects the rule that [Read] describes.
type ResourceNames []string

// Check returns an error for the first pattern that is malformed or empty.
func (names ResourceNames) Check() error {
	for _, pattern := range names {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("%q is not a pattern of resource names: write for example nvidia.com/gpu or nvidia.com/mig-*", pattern)
		}
	}
	return nil
}

func (names ResourceNames) match(name corev1.ResourceName) bool {
	for _, pattern := range names {
		if matched, _ := path.Match(pattern, string(name)); matched {
			return true
		}
	}
	return false
}
