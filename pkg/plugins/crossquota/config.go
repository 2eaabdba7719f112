// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"volcano.sh/volcano/pkg/scheduler/framework"
)

// config holds the plugin's arguments. It is immutable.
type config struct {
	gpuNames []pattern
	// gpuClasses are the DeviceClasses whose devices count as GPUs.
	gpuClasses map[string]bool
	// resources are the controlled resources. All amounts of nodes and pods are in this order.
	resources []resourceConfig
	selector  labels.Selector
	// weight is the highest score. If it is 0, the plugin does not score nodes.
	weight      float64
	preferPlain bool
}

// resourceConfig holds the arguments for one controlled resource.
type resourceConfig struct {
	name corev1.ResourceName
	// keys are the keys of node annotations, in the order of sources.
	keys [len(sources)]string
	// limit is nil if the arguments set none.
	limit *limit
	// weight is the resource's weight in the score.
	weight float64
}

// newConfig reads the arguments. It ignores arguments that are wrong, and returns an error for each.
func newConfig(args framework.Arguments) (*config, []error) {
	r := &argumentReader{args: args, read: map[string]bool{}}
	c := &config{gpuClasses: map[string]bool{}}
	for _, text := range r.list(argGPUResourceNames) {
		p, err := parsePattern(text)
		if err != nil {
			r.report("%s: pattern %q is ignored: %w", argGPUResourceNames, text, err)
			continue
		}
		c.gpuNames = append(c.gpuNames, p)
	}
	for _, class := range r.list(argGPUDeviceClasses) {
		c.gpuClasses[class] = true
	}
	c.resources = r.resources()
	c.selector = r.selector()
	c.weight = r.weight(argPluginWeight, defaultPluginWeight)
	c.preferPlain = r.boolean(argPreferPlain)
	r.reportUnread()
	return c, r.problems
}

// idle reports whether no node can be a GPU node.
func (c *config) idle() bool { return len(c.gpuNames) == 0 && len(c.gpuClasses) == 0 }

// argumentReader reads arguments and collects their errors.
type argumentReader struct {
	args     framework.Arguments
	read     map[string]bool
	problems []error
}

func (r *argumentReader) report(format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("argument "+format, args...))
}

// value returns an argument, or nil if it is not set.
func (r *argumentReader) value(key string) any {
	r.read[key] = true
	return r.args[key]
}

// scalar returns a string or a number as text; false if the argument is not set.
func (r *argumentReader) scalar(key string) (string, bool) {
	switch v := r.value(key).(type) {
	case nil:
		return "", false
	case string:
		return v, true
	case int, int64, uint64:
		return fmt.Sprint(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	default:
		r.report("%s is ignored: it is neither a string nor a number", key)
		return "", false
	}
}

func (r *argumentReader) list(key string) []string {
	text, _ := r.scalar(key)
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return parts
}

func (r *argumentReader) weight(key string, otherwise float64) float64 {
	text, found := r.scalar(key)
	if !found {
		return otherwise
	}
	weight, err := strconv.ParseFloat(text, 64)
	if err != nil || !(weight >= 0 && weight <= maxWeight) { // false for NaN, too
		r.report("%s is %q, which is not a number from 0 to %d: %v is used", key, text, maxWeight, otherwise)
		return otherwise
	}
	return weight
}

func (r *argumentReader) boolean(key string) bool {
	value := r.value(key)
	if yes, ok := value.(bool); ok || value == nil {
		return yes
	}
	yes, err := strconv.ParseBool(fmt.Sprint(value))
	if err != nil {
		r.report("%s is ignored: it is neither true nor false", key)
	}
	return yes
}

func (r *argumentReader) selector() labels.Selector {
	value := r.value(argLabelSelector)
	if value == nil {
		return labels.Everything()
	}
	selector, err := parseSelector(value)
	if err != nil {
		// A quota for all pods would refuse pods that the administrator meant to exempt.
		r.report("%s cannot be read, so the quota applies to no pods until it is corrected: %w", argLabelSelector, err)
		return labels.Nothing()
	}
	return selector
}

func (r *argumentReader) resources() []resourceConfig {
	names := r.list(argQuotaResources)
	if len(names) == 0 {
		names = []string{string(corev1.ResourceCPU)}
	}
	var all []resourceConfig
	for _, text := range names {
		if err := checkLimitable(text); err != nil {
			r.report("%s: %q is ignored: %w", argQuotaResources, text, err)
			continue
		}
		name := corev1.ResourceName(text)
		c := resourceConfig{name: name, weight: r.weight(argWeight+text, defaultWeight(name))}
		for i, source := range sources {
			c.keys[i] = source.annotation + annotationSuffix(name)
			if l := r.limit(name, source); l != nil && c.limit == nil {
				c.limit = l
			}
		}
		all = append(all, c)
	}
	return all
}

func (r *argumentReader) limit(name corev1.ResourceName, s source) *limit {
	key := s.argument + string(name)
	text, found := r.scalar(key)
	if !found {
		return nil
	}
	l, err := s.parse(name, text)
	if err != nil {
		r.problems = append(r.problems, fallsBack("argument", key, text, err))
		return nil
	}
	return &l
}

// reportUnread reports arguments that were not read: they are misspelled, or belong to a resource that
// is not controlled.
func (r *argumentReader) reportUnread() {
	for _, key := range slices.Sorted(maps.Keys(r.args)) {
		if !r.read[key] {
			r.report("%s is ignored: the plugin has no argument of that name, or %s does not list its resource", key, argQuotaResources)
		}
	}
}
