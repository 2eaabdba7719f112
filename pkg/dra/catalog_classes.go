// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/card"
)

// addClasses follows KEP-5004. If several classes offer the same extended resource, the newest class wins. Of equally old
// classes, the first by name wins.
func (c *Catalog) addClasses(classes []*resourceapi.DeviceClass) {
	ordered := slices.SortedFunc(slices.Values(classes), func(a, b *resourceapi.DeviceClass) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for _, class := range ordered {
		c.classes[class.Name] = class
		if name := class.Annotations[card.NameAnnotation]; name != "" {
			c.cards[class.Name] = name
		}
		c.extended[corev1.ResourceName(resourceapi.ResourceDeviceClassPrefix+class.Name)] = class.Name
		if class.Spec.ExtendedResourceName == nil {
			continue
		}
		name := corev1.ResourceName(*class.Spec.ExtendedResourceName)
		c.explicit[name] = true
		if winner, taken := c.extended[name]; taken {
			c.contested = append(c.contested, Contested{Resource: name, Class: class, Winner: c.classes[winner]})
		} else {
			c.extended[name] = class.Name
		}
	}
}

// Class returns the DeviceClass with this name. It returns false if there is none.
func (c *Catalog) Class(name string) (*resourceapi.DeviceClass, bool) {
	if c == nil {
		return nil, false
	}
	class, found := c.classes[name]
	return class, found
}

// Classes calls yield for the name of every DeviceClass.
func (c *Catalog) Classes(yield func(string) bool) {
	if c != nil {
		maps.Keys(c.classes)(yield)
	}
}

// Card returns the card name of a class's devices. It is empty if the class has no such annotation.
func (c *Catalog) Card(class string) string {
	if c == nil {
		return ""
	}
	return c.cards[class]
}

// HasCard reports whether a class has devices with this card name.
func (c *Catalog) HasCard(card string) bool {
	for _, name := range c.Cards {
		if name == card {
			return true
		}
	}
	return false
}

// Cards calls yield for each class that names a card.
func (c *Catalog) Cards(yield func(class, card string) bool) {
	if c != nil {
		maps.All(c.cards)(yield)
	}
}

// SameNames reports whether two catalogs have the same card names and extended resources for all classes. It returns false if
// either catalog is nil.
func (c *Catalog) SameNames(other *Catalog) bool {
	return c != nil && other != nil && maps.Equal(c.cards, other.cards) && maps.Equal(c.extended, other.extended)
}

// Extended returns the class that offers an extended resource (KEP-5004). It returns false if there is none.
func (c *Catalog) Extended(name corev1.ResourceName) (string, bool) {
	if c == nil {
		return "", false
	}
	class, found := c.extended[name]
	return class, found
}

// Offers returns the extended resource that a class offers by its spec.extendedResourceName. It is empty if there is none, or if
// another class wins the same resource.
func (c *Catalog) Offers(class string) corev1.ResourceName {
	object, found := c.Class(class)
	if !found || object.Spec.ExtendedResourceName == nil {
		return ""
	}
	name := corev1.ResourceName(*object.Spec.ExtendedResourceName)
	if c.extended[name] != class {
		return ""
	}
	return name
}

// OffersAny reports whether any class, and therefore any extended resource, exists.
func (c *Catalog) OffersAny() bool { return c != nil && len(c.extended) > 0 }

// Contested is a class that does not offer its extended resource, because another class does.
type Contested struct {
	Resource      corev1.ResourceName
	Class, Winner *resourceapi.DeviceClass
}

// String says which class offers the resource, and why.
func (c Contested) String() string {
	why := "is newer"
	if c.Class.CreationTimestamp.Equal(&c.Winner.CreationTimestamp) {
		why = "is equally old and comes first by name"
	}
	return fmt.Sprintf("extended resource %s is offered by DeviceClass %s, which %s, and not by DeviceClass %s", c.Resource, c.Winner.Name, why, c.Class.Name)
}

// Contested returns the classes whose extended resource another class offers.
func (c *Catalog) Contested() []Contested {
	if c == nil {
		return nil
	}
	return c.contested
}
