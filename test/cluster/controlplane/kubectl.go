// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"k8s.io/kubectl/pkg/cmd"
)

func runKubectl(args []string) error {
	os.Args = append([]string{"kubectl"}, args...) // where kubectl looks for the name of a plugin
	return execute(cmd.NewDefaultKubectlCommand(), args)
}
