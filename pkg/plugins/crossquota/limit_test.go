// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"fmt"
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestQuotas(t *testing.T) {
	for _, c := range []struct {
		text string
		// want is the limit on a node with 8 cores, or -1 if the text is not a quota.
		want amount
	}{
		{"4", 4000}, {"4.5", 4500}, {"4500m", 4500}, {"0", 0}, {"4e0", 4000}, {"0.004k", 4000}, {"+4", 4000}, {"8", 8000},
		{"9", 8000}, {"100000000000000000000000", 8000}, {"1Ei", 8000},
		{"", -1}, {"-1", -1}, {"-0.001", -1}, {"four", -1}, {"4 cores", -1}, {"4Gb", -1}, {" 4", -1}, {"NaN", -1}, {"0x10", -1}, {"50%", -1},
		{"1e99", 8000}, {"1e-99", 0}, {"1E+09", 8000}, {"1e100", -1}, {"1e999999999", -1}, {"1e-999999999", -1}, {"1E999999999", -1}, {"1e+999999999", -1},
		{"4." + strings.Repeat("0", 62), 4000}, {"4." + strings.Repeat("0", 63), -1},
	} {
		l, err := parseQuota("cpu", c.text)
		if (err != nil) != (c.want < 0) {
			t.Errorf("quota %q: error %v", c.text, err)
		} else if err == nil && l.of(8000) != c.want {
			t.Errorf("quota %q is %d, want %d", c.text, l.of(8000), c.want)
		}
	}
}

func TestPercentages(t *testing.T) {
	for _, c := range []struct {
		text string
		of   amount
		want amount // -1 if the text is not a percentage
	}{
		{"0", 8000, 0}, {"100", 8000, 8000}, {"100.000", 8000, 8000}, {"50", 8000, 4000}, {"12.5", 8000, 1000}, {"33.3", 1000, 333},
		{"12.3", 1000, 123}, {"29", 100, 29}, {"0.0001", 8000, 0}, {"99.999", 8000, 7999}, {"100", maxAmount, maxAmount}, {"50", 0, 0},
		{"0.00000000000000000001", maxAmount, 0},
		{"-1", 0, -1}, {"-0.1", 0, -1}, {"100.1", 0, -1}, {"101", 0, -1}, {"1000", 0, -1}, {"", 0, -1}, {"50%", 0, -1}, {"half", 0, -1},
		{"1/2", 0, -1}, {"5e1", 0, -1}, {"NaN", 0, -1}, {"Inf", 0, -1}, {" 50", 0, -1}, {".5", 0, -1}, {"5.", 0, -1},
	} {
		l, err := parsePercentage("cpu", c.text)
		if (err != nil) != (c.want < 0) {
			t.Errorf("percentage %q: error %v", c.text, err)
		} else if err == nil && l.of(c.of) != c.want {
			t.Errorf("%s percent of %d is %d, want %d", c.text, c.of, l.of(c.of), c.want)
		}
	}
}

// Each source of a quota is missing, valid or invalid, in all combinations. Each valid source has a different value.
func TestTheFirstValidQuotaApplies(t *testing.T) {
	keys := []string{"volcano.sh/crossquota-cpu", "volcano.sh/crossquota-percentage-cpu", "quota.cpu", "quota-percentage.cpu"}
	right := []string{"7", "75", "5", "50"}
	amounts := []amount{7000, 6000, 5000, 4000}
	wrong := []string{"seven", "101", "-5", "fifty"}
	const missing, good, bad = 0, 1, 2
	for combination := range 81 {
		node, args, want, problems := newNode("gpu", eightCores), gpuArgs(), amount(8000), 0
		var said []string
		for i := len(keys) - 1; i >= 0; i-- {
			text := ""
			switch combination / int(math.Pow(3, float64(i))) % 3 {
			case missing:
				continue
			case good:
				text, want = right[i], amounts[i]
			case bad:
				text = wrong[i]
				problems++
			}
			said = append(said, keys[i]+"="+text)
			if i < 2 {
				node.Annotations[keys[i]] = text
			} else {
				args[keys[i]] = text
			}
		}
		config, argumentProblems := newConfig(args)
		facts := config.newNodeFacts(node, offersNothing)
		if facts.quotas[0] != want {
			t.Errorf("with %v the quota is %d, want %d", said, facts.quotas[0], want)
		}
		reported := len(argumentProblems)
		if facts.problems != "" {
			reported += len(strings.Split(facts.problems, "; annotation"))
		}
		if reported != problems {
			t.Errorf("with %v %d problems are reported, want %d: %v, %s", said, reported, problems, argumentProblems, facts.problems)
		}
	}
}

func offersNothing(*corev1.Node) bool { return false }

func TestEachResourceHasItsOwnQuota(t *testing.T) {
	config, problems := newConfig(gpuArgs(argQuotaResources, "cpu, memory,example.com/fpga,ephemeral-storage", "quota.cpu", 2.5, "quota-percentage.memory", 25,
		"quota.example.com/fpga", 3, "quota.ephemeral-storage", "1Ti"))
	if problems != nil {
		t.Fatal(problems)
	}
	node := newNode("gpu", eightCores+" example.com/fpga=4", "volcano.sh/crossquota-example.com_fpga", "1", "volcano.sh/crossquota-percentage-memory", "12.5")
	facts := config.newNodeFacts(node, offersNothing)
	if got, want := fmt.Sprint(facts.quotas), fmt.Sprint([]amount{2500, 4 << 30, 1, 0}); got != want {
		t.Errorf("quotas are %s, want %s", got, want)
	}
}

func TestAProblemSaysWhatAppliesInstead(t *testing.T) {
	config, _ := newConfig(gpuArgs())
	facts := config.newNodeFacts(newNode("gpu", eightCores, "volcano.sh/crossquota-cpu", "lots", "volcano.sh/crossquota-percentage-cpu", "150"), offersNothing)
	const want = `annotation volcano.sh/crossquota-percentage-cpu is "150": it is not between 0 and 100; the next source in the order of precedence applies until it is corrected; ` +
		`annotation volcano.sh/crossquota-cpu is "lots": it is not a quantity such as 32, 500m or 64Gi; the next source in the order of precedence applies until it is corrected`
	if facts.problems != want {
		t.Errorf("the problems are\n%s, want\n%s", facts.problems, want)
	}
}

func TestAnInvalidQuantityIsExplained(t *testing.T) {
	for text, want := range map[string]string{
		"1e999999999":             "its exponent has more than two digits",
		strings.Repeat("1", 65):   "it is longer than 64 characters",
		strings.Repeat("x", 1000): "it is longer than 64 characters",
		"lots":                    "it is not a quantity such as 32, 500m or 64Gi",
	} {
		_, err := parseQuota("cpu", text)
		if err == nil || err.Error() != want {
			t.Errorf("the error for %.70q is %v, want %s", text, err, want)
		}
		if message := fallsBack("annotation", "key", text, err).Error(); len(message) > 300 {
			t.Errorf("the message has %d characters", len(message))
		}
	}
}

func FuzzAnnotations(f *testing.F) {
	f.Add("4", "50", "most-allocated")
	f.Add("-4", "101", "")
	f.Add("1e999999999", "1e999999999", "")
	f.Add("-1e-999999999", "1e-999999999", "1e999999999")
	f.Add("9999999999999999999999999E", "0.00000000000000000000000001", "other")
	config, _ := newConfig(gpuArgs(argQuotaResources, "cpu,memory"))
	f.Fuzz(func(t *testing.T, quota, percentage, strategy string) {
		node := newNode("gpu", eightCores, "volcano.sh/crossquota-cpu", quota, "volcano.sh/crossquota-percentage-cpu", percentage,
			"volcano.sh/crossquota-memory", quota, "volcano.sh/crossquota-percentage-memory", percentage)
		facts := config.newNodeFacts(node, offersNothing)
		if facts.quotas[0] < 0 || facts.quotas[0] > 8000 || facts.quotas[1] < 0 || facts.quotas[1] > 32<<30 {
			t.Errorf("quotas are %v of a node with 8 cores and 32Gi", facts.quotas)
		}
		if parsed, unknown := parseStrategy(strategy); unknown != "" && (unknown != strategy || parsed != mostAllocated) {
			t.Errorf("strategy %q is %d, unknown %q", strategy, parsed, unknown)
		}
	})
}
