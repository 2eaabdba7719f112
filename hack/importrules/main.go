// SPDX-License-Identifier: Apache-2.0

// Command importrules checks that packages of this module import lower layers only. It reads the layers from layers.go, and checks their table
// in docs/architecture.md. With -print, it prints this table. With -write, it writes the table to the page. The working directory is the root of the
// repository.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path"
	"strings"
)

// page has the table of layers between the lines begin and end.
const (
	page  = "docs/architecture.md"
	begin = "<!-- The table of layers: make generate writes it. -->\n"
	end   = "<!-- End of the table of layers. -->\n"
)

func main() {
	log.SetFlags(0)
	printed := flag.Bool("print", false, "print the table of layers")
	written := flag.Bool("write", false, "write the table of layers to "+page)
	flag.Parse()
	text, err := os.ReadFile(page)
	if err != nil {
		log.Fatal(err)
	}
	ours, packages := house{layers, walls}, list()
	table := ours.table(packages)
	current := withTable(string(text), table)
	switch {
	case *printed:
		fmt.Print(table)
	case *written:
		err = os.WriteFile(page, []byte(current), 0o644) //nolint:gosec // everybody may read it
	default:
		violations := ours.check(packages)
		if current != string(text) {
			violations = append(violations, "the table of layers in "+page+" is out of date: run `make generate`")
		}
		if len(violations) > 0 {
			log.Fatal(strings.Join(violations, "\n"))
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}

// listed is a package as go list describes it.
type listed struct {
	// folder is the path of the package within the module, and doc the first sentence of its comment.
	folder, doc string
	// imports are the imported packages, and deps all direct and indirect dependencies.
	imports, deps []string
}

// list returns the packages of the module in the working directory.
func list() []listed {
	command := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Doc}}\t{{join .Imports \" \"}}\t{{join .Deps \" \"}}", "./...")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		log.Fatalf("go list: %v", err)
	}
	var packages []listed
	for line := range bytes.Lines(out) {
		fields := strings.Split(strings.TrimSuffix(string(line), "\n"), "\t")
		packages = append(packages, listed{strings.TrimPrefix(fields[0], module), fields[1], strings.Fields(fields[2]), strings.Fields(fields[3])})
	}
	return packages
}

// table returns the rooms in Markdown, with the purpose from their package comments: the first sentence, up to its first colon.
func (h house) table(packages []listed) string {
	about := map[string]string{generated: "is generated from `apis`"}
	for _, p := range packages {
		said := strings.TrimPrefix(strings.TrimPrefix(p.doc, "Package "), "Command ")
		said, _, _ = strings.Cut(strings.TrimPrefix(said, path.Base(p.folder)+" "), ": ")
		about[p.folder] = strings.TrimSuffix(said, ".")
	}
	var b strings.Builder
	b.WriteString("| layer | folder | what it does |\n| --- | --- | --- |\n")
	for i, l := range h.layers {
		name := fmt.Sprintf("%d %s", i+1, l.of)
		for _, room := range strings.Fields(l.rooms) {
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", name, room, about[room])
			name = ""
		}
	}
	return b.String()
}

// withTable returns a page with a table between its markers.
func withTable(page, table string) string {
	before, rest, _ := strings.Cut(page, begin)
	_, after, _ := strings.Cut(rest, end)
	return before + begin + table + end + after
}
