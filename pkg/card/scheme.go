package card

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// scheme is a way in which a vendor shares cards. To add one, add an entry to schemes.
type scheme struct {
	vendor string
	// resource is a pattern, as path.Match has it, of what follows the vendor in resource names,
	// and in labels that describe the share.
	resource string
	// share is what follows the model in card names. {resource} is the name that matched;
	// {memory} is the card's memory in GiB and {replicas} the number of shares of a card, both as the
	// node's labels have them.
	share string
}

var schemes = []scheme{
	// NVIDIA's device plugin renames what it shares by MPS. Its labels say how many share a card.
	{vendor: "nvidia.com", resource: "gpu.shared", share: "mps-{memory}g*1/{replicas}"},
	// With the strategy "mixed" every MIG profile is a resource of its own.
	{vendor: "nvidia.com", resource: "mig-*", share: "{resource}-mixed"},
}

// usual are resources that are taken for cards even where no node's labels say which cards they are.
var usual = ResourceNames{"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-*", "huawei.com/npu", "huawei.com/Ascend*"}

// schemeOf returns how a vendor shares what is under a name; false if the name is no share.
func schemeOf(vendor, name string) (scheme, bool) {
	for _, s := range schemes {
		if matched, _ := path.Match(s.resource, name); matched && s.vendor == vendor {
			return s, true
		}
	}
	return scheme{}, false
}

// cardName is the name of a share of a model. The error says which label is missing.
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
			return "", fmt.Errorf("it offers %s/%s, but nobody can tell the name of such cards without its label %s", s.vendor, resource, number.label)
		}
		name = strings.ReplaceAll(name, number.placeholder, fmt.Sprint(number.value))
	}
	return model + "/" + name, nil
}

// ResourceNames are patterns of resource names, as path.Match has them: a * stands for anything but
// a slash. Nil is the rule of [Read].
type ResourceNames []string

// Check returns an error for the first pattern that is none.
func (names ResourceNames) Check() error {
	for _, pattern := range names {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("%q is no pattern of resource names: write for example nvidia.com/gpu or nvidia.com/mig-*", pattern)
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
