// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sideBySide is the number of scenarios that run at the same time.
const sideBySide = 8

// scenario is a case that shares only the members with other scenarios, so scenarios can run side by side. It must use the
// methods of its fixture instead of Expect and Eventually.
type scenario struct {
	name string
	run  func(context.Context, *fixture)
}

// performance is one run of a scenario.
type performance struct {
	scenario
	done chan struct{}
	// failure is why the scenario failed, empty if it passed.
	failure string
}

// play adds a spec for each scenario. The scenarios run side by side. After each, the history of its namespace proves that no
// queue released more than it may hold.
func play(scenarios ...scenario) {
	performances := make([]*performance, len(scenarios))
	for i := range scenarios {
		performances[i] = &performance{scenario: scenarios[i], done: make(chan struct{})}
	}

	BeforeAll(func() {
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		DeferCleanup(func() {
			cancel()
			running.Wait()
		})
		places := make(chan struct{}, sideBySide)
		focused := slices.DeleteFunc(slices.Clone(performances), func(p *performance) bool { return !inFocus(p.name) })
		running.Go(func() {
			for _, p := range focused {
				select {
				case places <- struct{}{}:
				case <-ctx.Done():
					return
				}
				running.Go(func() {
					defer func() { <-places }()
					p.perform(ctx)
				})
			}
		})
	})

	for _, p := range performances {
		It(p.name, func(ctx context.Context) {
			select {
			case <-p.done:
			case <-ctx.Done():
				Fail("interrupted")
			}
			if p.failure != "" {
				keepFailure(p.failure + "\nin " + p.name)
				Fail(p.failure)
			}
		})
	}
}

// keepFailure adds text to a file whose end CI prints, because the output of a whole run may be cut at its beginning.
func keepFailure(text string) {
	GinkgoHelper()
	file, err := os.OpenFile(filepath.Join("..", "..", "bin", "multicluster-failures.txt"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	Expect(err).NotTo(HaveOccurred())
	_, err = file.WriteString(text + "\n")
	Expect(err).NotTo(HaveOccurred())
	Expect(file.Close()).To(Succeed())
}

// perform runs the scenario in its own namespace. A failure ends the calling goroutine.
func (p *performance) perform(ctx context.Context) {
	defer close(p.done)
	g := NewGomega(func(message string, callerSkip ...int) {
		if p.failure == "" { // later failures of a failed scenario do not matter
			p.failure = fmt.Sprintf("%s\nat %s", message, types.NewCodeLocation(1+slices.Max(append(callerSkip, 0))))
		}
		runtime.Goexit()
	})
	f := openFixture(ctx, g)
	defer f.leave(ctx)
	defer func() {
		if p.failure != "" {
			p.failure = f.describe(ctx) + "\n" + p.failure // the reason last, where it is seen
		}
	}()
	f.propagateAll(ctx)
	p.run(ctx, f)
	f.expectQuotasKept(ctx)
}

// leave deletes the namespace without waiting.
func (f *fixture) leave(ctx context.Context) {
	_ = hub.kube.CoreV1().Namespaces().Delete(ctx, f.namespace, metav1.DeleteOptions{})
}

// inFocus reports whether the scenario with a name runs. Others are not set up.
func inFocus(name string) bool {
	suite, _ := GinkgoConfiguration()
	if len(suite.FocusStrings) == 0 {
		return true
	}
	text := strings.Join(append(CurrentSpecReport().ContainerHierarchyTexts, name), " ")
	return slices.ContainsFunc(suite.FocusStrings, func(focus string) bool { return regexp.MustCompile(focus).MatchString(text) })
}
