// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/devicequota/devicequota/test/page"
)

func TestEachFlagIsInThePage(t *testing.T) {
	flags := pflag.NewFlagSet("vc-webhook", pflag.ContinueOnError)
	defaultOptions().addFlags(flags)
	page.CheckFlags(t, "../../docs/reference.md", flags)
}
