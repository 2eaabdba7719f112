// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"time"
)

type style string

const (
	plain style = ""
	bold  style = "\x1b[1m"
	dim   style = "\x1b[2m"
	red   style = "\x1b[31m"
	green style = "\x1b[32m"
	reset       = "\x1b[0m"
)

// screen writes lines, in colour if enabled.
type screen struct {
	w      io.Writer
	colour bool
}

func (s *screen) line(look style, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.colour && look != plain {
		text = string(look) + text + reset
	}
	fmt.Fprintln(s.w, text)
}

// ready prints that a component of a control plane is ready.
func (s *screen) ready(component string, took time.Duration) {
	s.line(plain, "  %-32s ready in %4.1f s", component, took.Seconds())
}
