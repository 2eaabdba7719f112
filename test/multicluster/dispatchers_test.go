// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/test/cluster"
)

// dispatchers are the running dispatchers, by name.
var dispatchers = map[string]*cluster.Dispatcher{}

// dispatcherConfig returns a configuration with settings as lines of YAML, and arguments of the plugin capacity as one line of YAML.
func dispatcherConfig(settings, arguments string) string {
	return fmt.Sprintf(`%s
tiers:
- plugins:
  - name: priority
  - name: capacity
    arguments: {%s}
`, settings, arguments)
}

// startDispatcher starts a dispatcher that logs its decisions. It runs until endDispatcher.
func startDispatcher(ctx context.Context, name, config string, args ...string) *cluster.Dispatcher {
	GinkgoHelper()
	path := filepath.Join(multicluster.State(), name+"-dispatcher.conf")
	Expect(os.WriteFile(path, []byte(config), 0o600)).To(Succeed())
	d, err := multicluster.StartDispatcher(ctx, name, cluster.DispatcherOptions{ConfigFile: path, Args: append([]string{"--v=2"}, args...)})
	Expect(err).NotTo(HaveOccurred())
	dispatchers[name] = d
	return d
}

func endDispatcher(name string) {
	GinkgoHelper()
	d := dispatchers[name]
	checkDispatcherLog(d)
	delete(dispatchers, name)
	Expect(d.Stop()).To(Succeed())
}

// useConfig runs the dispatcher with another configuration until the current container ends.
func useConfig(ctx context.Context, config string) {
	GinkgoHelper()
	endDispatcher("main")
	startDispatcher(ctx, "main", config)
	DeferCleanup(func(ctx context.Context) {
		endDispatcher("main")
		startDispatcher(ctx, "main", dispatcherConfig("", ""))
	})
}

// checkDispatcherLog fails if the log of a dispatcher shows panics, or permissions that config/dispatcher lacks.
func checkDispatcherLog(d *cluster.Dispatcher) {
	GinkgoHelper()
	log, err := os.ReadFile(d.Log())
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(log)) {
		Expect(line).NotTo(SatisfyAny(ContainSubstring("is forbidden"), ContainSubstring("panic"), ContainSubstring("DATA RACE")))
	}
}

var _ = AfterEach(func() {
	if !CurrentSpecReport().Failed() {
		return
	}
	for name, d := range dispatchers {
		log, err := os.ReadFile(d.Log())
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("log of dispatcher "+name, string(log[max(0, len(log)-20_000):]), ReportEntryVisibilityFailureOrVerbose)
	}
})
