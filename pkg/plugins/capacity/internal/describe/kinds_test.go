// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"testing"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
)

func TestTheVisibilityAPIHasAllKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Form[v1alpha1.Dimension]{
		Write: func(d ledger.Dimension) (v1alpha1.Dimension, error) { return Dimension(d), nil },
		Read: func(d v1alpha1.Dimension) (ledger.Dimension, error) {
			return ledger.ParseKey(ledger.Key{Kind: string(d.Kind), Name: d.Name, Capacity: d.Capacity})
		},
	})
	for kind, want := range map[ledger.Kind]v1alpha1.Kind{
		ledger.Resource: v1alpha1.Resource, ledger.Card: v1alpha1.Card, ledger.DeviceCount: v1alpha1.Device, ledger.DeviceCapacity: v1alpha1.DeviceCapacity,
	} {
		if got := Dimension(ledger.Dimension{Kind: kind}).Kind; got != want {
			t.Errorf("the API calls %s %s, want %s", kind, got, want)
		}
	}
}
