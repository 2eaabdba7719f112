// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheQueueCRDOfVolcano115IsThatOf114(t *testing.T) {
	e := newEnvironment(t)
	var specs []any
	for _, version := range []string{"v1.14.1", "v1.15.1"} {
		text, err := os.ReadFile(filepath.Join(e.volcanoChart(version), "crd/bases/scheduling.volcano.sh_queues.yaml"))
		e.Expect(err).NotTo(HaveOccurred())
		crd := object{}
		e.Expect(unmarshal(string(text), &crd)).To(Succeed())
		specs = append(specs, crd["spec"])
	}
	e.Expect(specs[1]).To(Equal(specs[0]))
}

// TestWhatThePageSaysOfVolcano115IsThere checks in Volcano's source that version 1.15 adds exactly the actions that the page names.
func TestWhatThePageSaysOfVolcano115IsThere(t *testing.T) {
	e := newEnvironment(t)
	registered := func(version string) []string {
		factory := filepath.Join(e.volcanoChart(version), "../../../../pkg/scheduler/actions/factory.go")
		text, err := os.ReadFile(factory)
		e.Expect(err).NotTo(HaveOccurred())
		return regexp.MustCompile(`RegisterAction\((\w+)\.`).FindAllString(string(text), -1)
	}
	older := registered("v1.14.1")
	e.Expect(older).NotTo(BeEmpty())
	e.Expect(registered("v1.15.1")).To(ConsistOf(append(older, "RegisterAction(gangpreempt.", "RegisterAction(gangreclaim.")))
}
