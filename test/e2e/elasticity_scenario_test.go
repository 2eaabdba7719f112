// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// calm is how long no other pods may be evicted after a scenario has reached its outcome. It is twice as long as pods need that end slowly.
const calm = 20 * time.Second

// scenario is a table row: the pods that hold devices, the pods that ask for them, and the outcome.
type scenario struct {
	name string
	// given creates queues, nodes, and pods. All pods run before others ask.
	given func(context.Context, *scene)
	// when creates the pods that ask.
	when func(context.Context, *scene)
	// meanwhile, if not nil, runs when all pods of want.evicted are evicted.
	meanwhile func(context.Context, *scene)
	want      outcome
	// then, if not nil, makes more checks after the outcome.
	then func(context.Context, *scene)
}

// performance is a scenario on its scene.
type performance struct {
	scenario
	*scene
	// broken is why the scenario could not be set up.
	broken error
	passed bool
}

// play adds a spec for each scenario. The scenarios run side by side, and share the wait at the end. If disrupt is not nil, it
// runs while victims leave.
func play(disrupt func(context.Context), scenarios ...scenario) {
	var (
		performances = make([]*performance, len(scenarios))
		deadline     time.Time
	)
	for i := range scenarios {
		performances[i] = &performance{scenario: scenarios[i]}
	}

	BeforeAll(func(ctx context.Context) {
		focused := slices.DeleteFunc(slices.Clone(performances), func(p *performance) bool { return !inFocus(p.name) })
		for _, p := range focused {
			p.try(func() {
				p.scene = newScene(ctx)
				p.given(ctx, p.scene)
			})
		}
		DeferCleanup(leave, performances)
		for _, p := range focused {
			p.try(func() {
				Eventually(p.record.outcome).WithContext(ctx).Should(Equal(outcome{tally{}, p.asked}), "pods before anybody asks")
				p.when(ctx, p.scene)
			})
		}
		for _, p := range focused {
			if p.meanwhile != nil {
				p.try(func() {
					Eventually(p.record.evicted).WithContext(ctx).Should(Equal(p.want.evicted), "evicted pods")
					p.meanwhile(ctx, p.scene)
				})
			}
		}
		if disrupt != nil {
			disrupt(ctx)
		}
		deadline = time.Now().Add(timeout)
	})

	for _, p := range performances {
		It(p.name, func(ctx context.Context) {
			Expect(p.broken).NotTo(HaveOccurred())
			Eventually(p.record.outcome).WithContext(ctx).WithTimeout(max(time.Until(deadline), time.Second)).Should(Equal(p.want), p.record.describe)
			if p.then != nil {
				p.then(ctx, p.scene)
			}
			p.expectDevicesOnce(ctx)
			p.passed = true
		})
	}

	It(fmt.Sprintf("evicts nobody else within %s", calm), func(ctx context.Context) {
		Consistently(func() []string {
			var changed []string
			for _, p := range performances {
				if !p.passed {
					continue
				}
				if now := p.record.outcome(); !reflect.DeepEqual(now, p.want) {
					changed = append(changed, fmt.Sprintf("%s: %v, want %v\n%s", p.name, now, p.want, p.record.describe()))
				}
			}
			return changed
		}).WithContext(ctx).WithTimeout(calm).WithPolling(250 * time.Millisecond).Should(BeEmpty())
	})
}

// try records the first failure of a function. It fails only the spec of this scenario.
func (p *performance) try(f func()) {
	if p.broken == nil {
		p.broken = InterceptGomegaFailure(f)
	}
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

// leave deletes the pods of all scenarios at once.
func leave(ctx context.Context, performances []*performance) {
	var left sync.WaitGroup
	for _, p := range performances {
		if p.scene != nil {
			left.Go(func() {
				defer GinkgoRecover()
				deleteNamespace(ctx, p.namespace)
			})
		}
	}
	left.Wait()
}
