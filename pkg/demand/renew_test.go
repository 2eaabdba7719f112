// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestRenewKeepsWhatIsRemembered(t *testing.T) {
	f := newFixture(t)
	p := object("p", "A", "nvidia.com/gpu=1")
	f.assign(f.count(p), "a")
	for i := range 100 {
		f.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: fmt.Sprint("gone-", i)})
	}
	f.Renew()
	if n := f.Dimensions.Len(); n > 10 {
		t.Errorf("there are still %d dimensions", n)
	}
	if f.Known(p) != nil || f.Assigned() != 1 {
		t.Errorf("the pod is not counted anew, or its cards are forgotten: %d are remembered", f.Assigned())
	}
	f.rename("C")
	f.begin()
	f.expectCards("the pod keeps its card", f.count(p), "A:1")
	f.Renew()
	f.Fleet.Remove("a")
	f.begin()
	f.expectCards("and when its node is gone", f.count(p), "A:1")
	f.Renew()
	f.begin()
	f.expectCards("and when all is renewed once more", f.count(p), "A:1")
	f.Forget(func(*corev1.Pod) bool { return false })
}
