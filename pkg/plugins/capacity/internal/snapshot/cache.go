// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Cache is the state that outlives sessions. Sessions run one after the other, so it needs no lock.
type Cache struct {
	*demand.Counter

	// payers has, for each claim charged when the last session closed, the paying queue and its ancestors.
	payers map[types.UID][]string
	// strays has the pods that may belong to no job.
	strays strays
	// before is the ledger of the last session, nil in the first session.
	before     *ledger.Ledger
	mistakes   keptMistakes
	notedNeeds notedNeeds
	review     dimensionReview
	lists      lists
	catchUp    catchUp
	// failed has the pods whose binding failed.
	failed *flowcontrol.Backoff
}

// lists is memory that is reused for every job.
type lists struct {
	minimum, elastic, missing ledger.Amounts
}

// NewCache returns a cache that counts cards of a fleet.
func NewCache(fleet *card.Fleet) *Cache {
	return &Cache{Counter: demand.NewCounter(fleet, ignored), payers: map[types.UID][]string{}, notedNeeds: notedNeeds{}, failed: newFailedBindings()}
}

// ignored reports whether a Volcano plugin that allocates devices itself excludes a resource from all accounts.
func ignored(name corev1.ResourceName) bool {
	found := false
	api.IgnoredDevicesList.Range(func(_ int, device string) bool {
		found = device == string(name)
		return !found
	})
	return found
}
