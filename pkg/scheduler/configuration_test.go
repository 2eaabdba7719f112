// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	_ "volcano.sh/volcano/pkg/scheduler/actions" // registers the actions of the configurations
)

const (
	onlyAllocate = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"
	withBackfill = "actions: allocate, backfill\ntiers:\n- plugins:\n  - name: gang\nmetrics:\n  interval: 7s\n"
	invalid      = "actions: allocate, levitate\n"
	wrong        = "actions: allocate, backfill\ntiers:\n- plugins:\n  - name: gang\n  - name: gong\n"
)

// newFile returns a configuration file with a text, or without a file if the text is empty.
func newFile(t *testing.T, text string, required bool) *configurationFile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	write(t, path, text)
	f, err := newConfigurationFile(path, required)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if text == "" {
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheConfigurationThatIsUsedIsTheLastValidOne(t *testing.T) {
	byDefault := []string{"enqueue", "allocate", "backfill"}
	for _, c := range []struct {
		name, first, next string
		want              []string
	}{
		{"no file", "", "", byDefault},
		{"an invalid file", invalid, "", byDefault},
		{"a valid file", onlyAllocate, "", []string{"allocate"}},
		{"a valid file after none", "", onlyAllocate, []string{"allocate"}},
		{"an invalid file after a valid one", onlyAllocate, invalid, []string{"allocate"}},
		{"a valid file after a valid one", onlyAllocate, withBackfill, []string{"allocate", "backfill"}},
		{"a file with a mistake that upstream ignores, when the scheduler starts", wrong, "", []string{"allocate", "backfill"}},
		{"the same file after a valid one", onlyAllocate, wrong, []string{"allocate"}},
	} {
		f := newFile(t, c.first, false)
		for range 2 {
			if err := f.load(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			write(t, f.path, c.next)
		}
		if got := f.get().actionNames(); !slices.Equal(got, c.want) {
			t.Errorf("%s: the actions are %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAConfigurationThatIsRequiredMustBeValid(t *testing.T) {
	for name, f := range map[string]*configurationFile{
		"no file": newFile(t, "", true), "an invalid file": newFile(t, invalid, true), "no path": {required: true},
	} {
		if f.load() == nil {
			t.Errorf("%s is used", name)
		}
	}
	for _, valid := range []string{onlyAllocate, wrong} {
		if err := newFile(t, valid, true).load(); err != nil {
			t.Errorf("%s: %v", valid, err)
		}
	}
}

func TestAMistakeInAFileThatIsRequiredStopsNothingUntilItIsCorrected(t *testing.T) {
	f := newFile(t, onlyAllocate, true)
	for _, step := range []struct {
		name  string
		text  string
		want  []string
		valid float64
	}{
		{"at first", onlyAllocate, []string{"allocate"}, 1},
		{"no YAML", "actions: [", []string{"allocate"}, 0},
		{"an empty file", " ", []string{"allocate"}, 0},
		{"an unknown action", invalid, []string{"allocate"}, 0},
		{"corrected", withBackfill, []string{"allocate", "backfill"}, 1},
		{"an unknown plugin", onlyAllocate + "  - name: gong\n", []string{"allocate", "backfill"}, 0},
		{"an invalid argument", onlyAllocate + "  - name: capacity\n    arguments: {deviceAccounting: Matching}\n", []string{"allocate", "backfill"}, 0},
		{"an argument that ends upstream's process", onlyAllocate + "  - name: predicates\n    arguments: {volumebinding.weight: heavy}\n", []string{"allocate", "backfill"}, 0},
		{"corrected again", onlyAllocate, []string{"allocate"}, 1},
		{"no file", "", []string{"allocate"}, 0},
	} {
		if step.text == "" {
			if err := os.Remove(f.path); err != nil {
				t.Fatal(err)
			}
		}
		write(t, f.path, step.text)
		if err := f.load(); err != nil {
			t.Errorf("%s: the scheduler ends: %v", step.name, err)
		}
		if got := f.get().actionNames(); !slices.Equal(got, step.want) {
			t.Errorf("%s: the actions are %v, want %v", step.name, got, step.want)
		}
		if got := testutil.ToFloat64(configurationValid); got != step.valid {
			t.Errorf("%s: the metric is %v, want %v", step.name, got, step.valid)
		}
	}
}

func TestASchedulerThatStartsSaysWhatKeepsTheConfigurationFromBeingUsed(t *testing.T) {
	f := newFile(t, onlyAllocate+"  - name: deviceshare\n    arguments: {deviceshare.VGPUEnable: true, deviceshare.GPUSharingEnable: true}\n", true)
	if err := f.load(); err == nil || !strings.Contains(err.Error(), f.path) || !strings.Contains(err.Error(), "plugin deviceshare: only one of") {
		t.Error(err)
	}
}

func TestWithoutAPathTheDefaultConfigurationIsUsed(t *testing.T) {
	f, err := newConfigurationFile("", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.load(); err != nil || !slices.Contains(f.get().pluginNames(), "gang") {
		t.Errorf("%v, %v", f.get(), err)
	}
}

func TestAFileThatIsReplacedOrRemovedIsLoadedAgain(t *testing.T) {
	f := newFile(t, onlyAllocate, true)
	if err := f.load(); err != nil {
		t.Fatal(err)
	}
	go f.watch(t.Context(), func(map[string]string) {})
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nobody knows that the file is gone", func() bool { return testutil.ToFloat64(configurationValid) == 0 })
	next := filepath.Join(t.TempDir(), "next")
	write(t, next, withBackfill)
	if err := os.Rename(next, f.path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new file is not used", func() bool {
		return slices.Equal(f.get().actionNames(), []string{"allocate", "backfill"}) && testutil.ToFloat64(configurationValid) == 1
	})
}

func TestAChangedFileIsLoadedAgain(t *testing.T) {
	f := newFile(t, onlyAllocate, false)
	if err := f.load(); err != nil {
		t.Fatal(err)
	}
	var interval atomic.Value
	go f.watch(t.Context(), func(metrics map[string]string) { interval.Store(metrics["interval"]) })
	write(t, f.path, withBackfill)
	eventually(t, "the new configuration is not used", func() bool {
		return slices.Equal(f.get().actionNames(), []string{"allocate", "backfill"}) && interval.Load() == "7s"
	})
}

func TestTheConfigurationInForceIsToldWithoutPasswords(t *testing.T) {
	for text, want := range map[string]string{
		onlyAllocate:                          onlyAllocate,
		onlyAllocate + "# why\n":              onlyAllocate + "# why\n",
		withBackfill + "  password: secret\n": "actions: allocate, backfill\ntiers:\n- plugins:\n  - name: gang\n",
	} {
		f := newFile(t, text, true)
		if got := f.inForce(); got != "" {
			t.Errorf("before the file is read: %q", got)
		}
		if err := f.load(); err != nil {
			t.Fatal(err)
		}
		if got := f.inForce(); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("got %q, want %q", got, want)
		}
		write(t, f.path, invalid)
		_ = f.load()
		if got := f.inForce(); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("after a mistake: got %q, want %q", got, want)
		}
	}
}
