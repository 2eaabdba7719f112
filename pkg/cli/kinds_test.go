// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
)

func TestCommandsReadAllKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Form[v1alpha1.Dimension]{
		Write: func(d ledger.Dimension) (v1alpha1.Dimension, error) {
			return v1alpha1.Dimension{Kind: v1alpha1.Kind(d.Kind.Info().Shown), Name: d.Name, Capacity: d.Capacity}, nil
		},
		Read: func(d v1alpha1.Dimension) (ledger.Dimension, error) {
			dimension, note := parse(d)
			if note != "" {
				return dimension, errors.New(note)
			}
			return dimension, nil
		},
	})
	slot := v1alpha1.Dimension{Kind: "Slot", Name: "memory"}
	for _, got := range []string{FormatAmount(slot, resource.MustParse("2Gi")), FormatRounded(slot, 2<<30)} {
		if !strings.Contains(got, `"Slot" is no kind`) {
			t.Errorf("an amount of a kind that only a later scheduler knows is %q", got)
		}
	}
}
