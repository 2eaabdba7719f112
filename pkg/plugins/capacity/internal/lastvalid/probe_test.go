// SPDX-License-Identifier: Apache-2.0

package lastvalid

import (
	"context"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/devicequota/devicequota/pkg/queueschema"
)

func TestProbesComeAtOnceAndEveryFifteenSecondsAndWhenASessionAsks(t *testing.T) {
	f := newFixture(t)
	clock := testclock.NewFakeClock(time.Unix(1000, 0))
	probes := make(chan struct{})
	f.clock = clock
	f.servesDRA = func(ctx context.Context) (bool, error) {
		select {
		case probes <- struct{}{}:
		case <-ctx.Done():
		}
		return true, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.run(ctx)
	<-probes // at once
	clock.Step(queueschema.ProbePeriod)
	<-probes
	clock.Step(probeSpacing)
	f.ask()
	<-probes
	cancel()
	f.Shutdown()
}
