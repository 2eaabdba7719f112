// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"k8s.io/kubectl/pkg/cmd"
)

func runKubectl(args []string) error {
	os.Args = append([]string{"kubectl"}, args...) // kubectl looks for the name of a plugin here
	return execute(cmd.NewDefaultKubectlCommand(), args)
}
