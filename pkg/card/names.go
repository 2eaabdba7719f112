// SPDX-License-Identifier: Apache-2.0

package card

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// brands maps first words of card models to the vendors of these cards.
var brands = map[string]string{
	"nvidia": "nvidia.com", "tesla": "nvidia.com", "geforce": "nvidia.com", "quadro": "nvidia.com", "rtx": "nvidia.com",
	"huawei": "huawei.com", "ascend": "huawei.com", "amd": "amd.com", "intel": "intel.com",
}

// wholeKinds lists the kinds of resources that stand for whole cards of any vendor.
var wholeKinds = []string{"gpu", "npu"}

// LooksLikeCards reports whether a resource has a usual name of cards. It is for programs that do not know the nodes.
func LooksLikeCards(resource corev1.ResourceName) bool {
	_, kind, _ := strings.Cut(string(resource), "/")
	return usual.match(resource) || slices.Contains(wholeKinds, kind)
}

// MayBe reports whether a resource may stand for a card, judged by the two names alone. It is for programs that do not
// know the nodes. A share stands only for shares of its kind, and any other resource only for whole cards. A model
// without the name of a vendor may belong to any vendor.
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

// vendorOf returns the vendor of a model, or an empty string if the name does not reveal it.
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

// names reports whether share, the part of a card name after the model, may belong to a resource.
func (s scheme) names(resource, share string) bool {
	pattern := strings.ReplaceAll(s.share, "{resource}", resource)
	matched, _ := regexp.MatchString("^"+aNumber.ReplaceAllString(regexp.QuoteMeta(pattern), "[0-9]+")+"$", share)
	return matched
}
