// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		name           corev1.ResourceName
		quantity       string
		least, most    amount
		human          string
		ofMostInMetric float64
	}{
		{"cpu", "0", 0, 0, "0 cores", 0},
		{"cpu", "1", 1000, 1000, "1 core", 1},
		{"cpu", "1500m", 1500, 1500, "1.5 cores", 1.5},
		{"cpu", "1500500u", 1501, 1500, "1.5 cores", 1.5},
		{"cpu", "0.1", 100, 100, "0.1 cores", 0.1},
		{"cpu", "2e3", 2_000_000, 2_000_000, "2000 cores", 2000},
		{"cpu", "-1", 0, 0, "0 cores", 0},
		{"cpu", "9E", maxAmount, maxAmount, "4503599627370.496 cores", 4503599627370.496},
		{"memory", "0", 0, 0, "0 bytes", 0},
		{"memory", "1023", 1023, 1023, "1023 bytes", 1023},
		{"memory", "1Ki", 1024, 1024, "1 KiB", 1024},
		{"memory", "1536Mi", 1536 << 20, 1536 << 20, "1.5 GiB", 1536 << 20},
		{"memory", "100M", 1e8, 1e8, "100 MB", 1e8},
		{"memory", "64Gi", 64 << 30, 64 << 30, "64 GiB", 64 << 30},
		{"memory", "68719476735", 64<<30 - 1, 64<<30 - 1, "68719476735 bytes", 64<<30 - 1},
		{"memory", "1500m", 2, 1, "1 byte", 1},
		{"ephemeral-storage", "2Ti", 2 << 40, 2 << 40, "2 TiB", 2 << 40},
		{"hugepages-1Gi", "4Gi", 4 << 30, 4 << 30, "4 GiB", 4 << 30},
		{"memory", "99999999999E", maxAmount, maxAmount, "4096 TiB", 1 << 52},
		{"example.com/fpga", "3", 3, 3, "3", 3},
		{"cpu", "1e99", maxAmount, maxAmount, "4503599627370.496 cores", 4503599627370.496},
		{"memory", "1e999999999", maxAmount, maxAmount, "4096 TiB", 1 << 52},
		{"memory", "4503599627370495", maxAmount - 1, maxAmount - 1, "4503599627370495 bytes", 1<<52 - 1},
		{"memory", "4503599627370496", maxAmount, maxAmount, "4096 TiB", 1 << 52},
	} {
		q := resource.MustParse(c.quantity)
		if got := atLeast(c.name, q); got != c.least {
			t.Errorf("a request for %s of %s is %d, want %d", c.quantity, c.name, got, c.least)
		}
		most := atMost(c.name, q)
		if most != c.most {
			t.Errorf("a limit of %s of %s is %d, want %d", c.quantity, c.name, most, c.most)
		}
		if got := most.human(c.name); got != c.human {
			t.Errorf("%s of %s reads %q, want %q", c.quantity, c.name, got, c.human)
		}
		if got := most.base(c.name); got != c.ofMostInMetric {
			t.Errorf("%s of %s is %v in metrics, want %v", c.quantity, c.name, got, c.ofMostInMetric)
		}
	}
}

func FuzzAmount(f *testing.F) {
	f.Add("1", int64(1))
	f.Add("64Gi", int64(64<<30-1))
	f.Add("1e-3", int64(999))
	f.Fuzz(func(t *testing.T, text string, other int64) {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return
		}
		for _, name := range []corev1.ResourceName{"cpu", "memory", "example.com/fpga"} {
			least, most := atLeast(name, q), atMost(name, q)
			if most < 0 || most > least || least > maxAmount || least-most > 1 {
				t.Errorf("%s of %s: at least %d, at most %d", text, name, least, most)
			}
			if another := amount(max(other, -other, 0)) % maxAmount; another != most && another.human(name) == most.human(name) {
				t.Errorf("%d and %d of %s both read %q", another, most, name, most.human(name))
			}
		}
	})
}
