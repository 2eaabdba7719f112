// SPDX-License-Identifier: Apache-2.0

package term

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Style describes what an output can show.
type Style struct {
	// Width and Height are the size of the terminal. They are zero, which means unlimited, if the output is not a terminal.
	Width, Height int
	// Colour allows colours.
	Colour bool
	// Unicode allows characters outside ASCII.
	Unicode bool
}

// Flags are the flags of commands that draw.
type Flags struct{ ascii bool }

// AddFlags adds --ascii.
func (f *Flags) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&f.ascii, "ascii", false, "draw with ASCII characters only; this is the default if the locale is not UTF-8")
}

// Style returns what an output can show. Colours need a terminal and no variable NO_COLOR. Characters outside ASCII need a UTF-8
// locale.
func (f *Flags) Style(out io.Writer) Style {
	style := Style{Unicode: !f.ascii && utf8Locale(os.Getenv)}
	file, isFile := out.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return style
	}
	style.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if width, height, err := term.GetSize(int(file.Fd())); err == nil {
		style.Width, style.Height = width, height
	}
	return style
}

// Terminal reports whether the output is a terminal, which can be redrawn.
func (s Style) Terminal() bool { return s.Width > 0 }

// utf8Locale reads the locale of characters as POSIX does: the first of these variables that is set applies.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return false
}

// Colour is a colour of text. The empty one is the colour of the terminal.
type Colour string

// Colours that are readable on light and dark terminals.
const (
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Bold   Colour = "1"
	Dim    Colour = "2"
)

// Paint returns text in a colour, if the style has colours.
func (s Style) Paint(colour Colour, text string) string {
	if !s.Colour || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + string(colour) + "m" + text + "\x1b[0m"
}

// Pick returns the first text if the style allows characters outside ASCII. Otherwise, it returns the second text.
func (s Style) Pick(unicode, ascii string) string {
	if s.Unicode {
		return unicode
	}
	return ascii
}
