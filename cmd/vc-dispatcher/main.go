// SPDX-License-Identifier: Apache-2.0

// Command vc-dispatcher holds workloads back on a Karmada control plane until their queues have room for them. Each replica serves the
// admission webhook. One of them leads, and grants room.
package main

import (
	"context"

	"github.com/devicequota/devicequota/pkg/program"
)

func main() {
	o := defaultOptions()
	program.Main(program.New("vc-dispatcher", "Grant workloads on a Karmada control plane the room that their queues have", o.addFlags,
		func(ctx context.Context) error { return run(ctx, o) }))
}
