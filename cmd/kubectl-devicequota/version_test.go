// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestThePluginSaysWhatItWasBuiltFrom(t *testing.T) {
	var out bytes.Buffer
	command := newCommand(genericiooptions.IOStreams{Out: &out, ErrOut: &out})
	command.SetArgs([]string{"--version"})
	if err := command.Execute(); err != nil || !strings.HasPrefix(out.String(), "devicequota ") || !strings.Contains(out.String(), "commit:") {
		t.Errorf("%v, %s", err, out.String())
	}
}
