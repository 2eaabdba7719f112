// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"testing"
	"time"
)

func TestAnInvalidArgumentIsLeftOutAndNamed(t *testing.T) {
	s, invalid := Read(Name, map[string]any{
		CardQuotaRequired: "true", DeviceAccounting: "Matching", BindingTimeout: "-1s", NodeOrderWeight: "1", CardResourceNames: []any{1}, ReclaimGangs: true, GangEvictions: true,
	})
	if len(invalid) != 5 || s.CardQuotaRequired || s.DeviceAccounting != AccountRequested || s.BindingTimeout != DefaultBindingTimeout || s.NodeOrderWeight != 1 || s.CardResources != nil {
		t.Errorf("%+v, invalid: %+v", s, invalid)
	}
	if !s.ReclaimGangs || !s.GangEvictions {
		t.Error("the valid argument beside them is left out, too")
	}
}

func TestValidArguments(t *testing.T) {
	s, invalid := Read(CardName, map[string]any{
		DeviceAccounting: "matching", ReservationTimeout: "30s", NodeOrderWeight: 2, CardResourceNames: "a/b, c/*", "other": 1, DeviceQuotaRequired: nil,
	})
	if len(invalid) > 0 || !s.CapacityCardMode || !s.CardQuotaRequired || s.DeviceAccounting != AccountMatching || s.ReservationTimeout != 30*time.Second || s.NodeOrderWeight != 2 || len(s.CardResources) != 2 {
		t.Errorf("%+v, invalid: %+v", s, invalid)
	}
}
