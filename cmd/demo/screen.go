// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
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
