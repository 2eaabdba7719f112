// SPDX-License-Identifier: Apache-2.0

// Command vc-webhook refuses quotas and annotations about cards that the scheduler could not read. Each replica answers.
package main

import (
	"context"

	"github.com/devicequota/devicequota/pkg/program"
)

func main() {
	o := defaultOptions()
	program.Main(program.New("vc-webhook", "Refuse quotas and annotations about cards that the scheduler could not read", o.addFlags,
		func(ctx context.Context) error { return run(ctx, o) }))
}
