// SPDX-License-Identifier: Apache-2.0

// Command importrules checks that dependencies between the packages of this module point one way only.
// Every package belongs to a room, see rooms. It prints a line for each violation and exits with 1 if there
// are any.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	packages, err := list()
	if err != nil {
		fmt.Fprintf(os.Stderr, "importrules: %v\n", err)
		os.Exit(1)
	}
	violations := check(packages)
	for _, violation := range violations {
		fmt.Fprintln(os.Stderr, violation)
	}
	if len(violations) > 0 {
		os.Exit(1)
	}
}

// listed is a package as go list describes it.
type listed struct {
	path string
	// imports are the packages that it imports, deps those that it depends on, directly or not.
	imports, deps []string
}

// list returns the packages of the module in the working directory.
func list() ([]listed, error) {
	command := exec.Command("go", "list", "-f", `{{.ImportPath}};{{join .Imports " "}};{{join .Deps " "}}`, "./...")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []listed
	for line := range bytes.Lines(out) {
		fields := strings.Split(strings.TrimSpace(string(line)), ";")
		packages = append(packages, listed{path: fields[0], imports: strings.Fields(fields[1]), deps: strings.Fields(fields[2])})
	}
	return packages, nil
}
