// SPDX-License-Identifier: Apache-2.0

package card

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// brands are words that names of card models begin with, and the vendors of these cards.
var brands = map[string]string{
	"nvidia": "nvidia.com", "tesla": "nvidia.com", "geforce": "nvidia.com", "quadro": "nvidia.com", "rtx": "nvidia.com",
	"huawei": "huawei.com", "ascend": "huawei.com", "amd": "amd.com", "intel": "intel.com",
}

// wholeKinds are kinds of resources that stand for whole cards, whatever the vendor.
var wholeKinds = []string{"gpu", "npu"}

// LooksLikeCards reports whether the name of a resource is usual for cards. It is for programs that know no nodes.
func LooksLikeCards(resource corev1.ResourceName) bool {
	_, kind, _ := strings.Cut(string(resource), "/")
	return usual.match(resource) || slices.Contains(wholeKinds, kind)
}

// MayBe reports whether a resource may stand for a card, as far as the two names tell. It is for programs that know no
// nodes. A share stands only for the shares of its kind, and any other resource only for whole cards. A model whose name
// tells no vendor may be of any vendor.
func MayBe(resource corev1.ResourceName, card string) bool {
	model, share, shared := strings.Cut(card, "/")
	vendor, kind, ok := strings.Cut(string(resource), "/")
	if of := vendorOf(model); !ok || of != "" && of != vendor {
		return false
	}
	s, isShare := schemeOf(vendor, kind)
	if !isShare {
		return !shared
	}
	return shared && s.names(kind, share)
}

// vendorOf returns the vendor of a model, empty if the name does not tell.
func vendorOf(model string) string {
	name := plain(model)
	for brand, vendor := range brands {
		if strings.HasPrefix(name, brand) {
			return vendor
		}
	}
	return ""
}

var aNumber = regexp.MustCompile(`\\\{(memory|replicas)\\\}`)

// names reports whether the part of a card name after the model may be that of a resource.
func (s scheme) names(resource, share string) bool {
	pattern := strings.ReplaceAll(s.share, "{resource}", resource)
	matched, _ := regexp.MatchString("^"+aNumber.ReplaceAllString(regexp.QuoteMeta(pattern), "[0-9]+")+"$", share)
	return matched
}
