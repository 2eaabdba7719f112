// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bytes"
	"fmt"
	"io"
)

// Screen draws repeatedly: over the last drawing on a terminal, and below it on other outputs.
type Screen struct {
	out   io.Writer
	style func(io.Writer) Style
	drawn bool
}

// NewScreen returns a screen on an output. It calls style before each drawing, because terminals change their size.
func NewScreen(out io.Writer, style func(io.Writer) Style) *Screen {
	return &Screen{out: out, style: style}
}

// Draw draws. It leaves out lines below the height of the terminal.
func (s *Screen) Draw(draw func(io.Writer, Style) error) error {
	style := s.style(s.out)
	var text bytes.Buffer
	if err := draw(&text, style); err != nil {
		return err
	}
	drawing := text.Bytes()
	if style.Terminal() {
		drawing = append([]byte("\x1b[H\x1b[J"), head(drawing, style)...)
	} else if s.drawn {
		drawing = append([]byte("\n"), drawing...)
	}
	s.drawn = true
	_, err := s.out.Write(drawing)
	return err
}

// head returns the lines that fit the terminal, and the number of the others.
func head(text []byte, style Style) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if last := len(lines) - 1; len(lines[last]) == 0 {
		lines = lines[:last]
	}
	room := style.Height - 1 // the cursor is on the last line
	if len(lines) <= room || room < 2 {
		return text
	}
	left := len(lines) - (room - 1)
	return append(bytes.Join(lines[:room-1], nil), style.Paint(Dim, fmt.Sprintf("%d more lines: name a queue, or choose with --dimension", left))+"\n"...)
}
