// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"
	"errors"
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/klog/v2"
)

// compiledClass is a DeviceClass with compiled selectors.
type compiledClass struct {
	name        string
	expressions []string
	selectors   []cel.CompilationResult
	// err says why the selectors cannot be evaluated. The class then matches no device, and no device can be allocated through it.
	err error
}

// compile compiles the selectors of a class. compiledClass keeps the compiled selectors, because the cache is smaller than the
// possible number of classes in a cluster.
func compile(class *resourceapi.DeviceClass, celCache *cel.Cache) *compiledClass {
	c := &compiledClass{name: class.Name, expressions: expressionsOf(class.Spec.Selectors)}
	for i, selector := range class.Spec.Selectors {
		if selector.CEL == nil {
			c.err = fmt.Errorf("selector #%d is of a kind that this scheduler does not know", i)
			return c
		}
		compiled := celCache.GetOrCompile(selector.CEL.Expression)
		if compiled.Error != nil {
			c.err = errors.New(compiled.Error.Error())
			return c
		}
		c.selectors = append(c.selectors, compiled)
	}
	return c
}

// expressionsOf returns the expressions of selectors. The expression of an unknown kind of selector is empty.
func expressionsOf(selectors []resourceapi.DeviceSelector) []string {
	expressions := make([]string, len(selectors))
	for i, selector := range selectors {
		if selector.CEL != nil {
			expressions[i] = selector.CEL.Expression
		}
	}
	return expressions
}

// is reports whether compiling the class would give the same result.
func (c *compiledClass) is(class *resourceapi.DeviceClass) bool {
	return c.name == class.Name && slices.Equal(c.expressions, expressionsOf(class.Spec.Selectors))
}

// matches reports whether all selectors of the class hold for a device. A class without selectors matches every device, like in Kubernetes'
// allocator. If a selector cannot be evaluated, the device does not match, because the allocator would fail and never hand out the device.
func (c *compiledClass) matches(driver string, device *resourceapi.Device) bool {
	if c.err != nil {
		return false
	}
	for i := range c.selectors {
		holds, _, err := c.selectors[i].DeviceMatches(context.Background(), described(driver, device))
		if err != nil {
			klog.V(5).InfoS("A selector of a DeviceClass fails for a device, which the class does not match therefore", "class", c.name, "selector", i, "driver", driver, "device", device.Name, "reason", err.Error())
		}
		if err != nil || !holds {
			return false
		}
	}
	return true
}

// described returns a device in the form that selectors evaluate.
func described(driver string, device *resourceapi.Device) cel.Device {
	return cel.Device{Driver: driver, AllowMultipleAllocations: device.AllowMultipleAllocations, Attributes: device.Attributes, Capacity: device.Capacity}
}
