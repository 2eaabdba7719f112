// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/settings"
	"github.com/devicequota/devicequota/test/page"
)

const root = "../.."

func source(t *testing.T) *code {
	c, err := read(root, "apis", "cmd", "pkg")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func text(t *testing.T, file string) string {
	got, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestThePageIsUpToDate(t *testing.T) {
	want, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal([]byte(text(t, written)), want) {
		t.Errorf("%s is out of date: run `make generate`", written)
	}
}

func TestEachNameHasAMeaning(t *testing.T) {
	for _, c := range source(t).constants {
		if slices.ContainsFunc(kinds, func(k kind) bool { return k.has(c) }) && (c.meaning() == "" || !strings.HasPrefix(c.doc, c.name)) {
			t.Errorf("%s in %s has no comment that begins with its name, and says what it is", c.name, c.folder)
		}
	}
}

// notOurs are keys of other projects in the code, and one key that no object has.
var notOurs = []string{
	"devicequota.io/excluded", "scheduling.volcano.sh/queue-name", "volcano.sh/hierarchy-weights", "volcano.sh/jdb-max-unavailable", "volcano.sh/jdb-min-available",
	"volcano.sh/network-topology-mode", "volcano.sh/numa-topology-policy", "volcano.sh/qos-level", "volcano.sh/revocable-zone", "volcano.sh/topology-decision", "volcano.sh/volcano",
}

func TestEachKeyIsInThePage(t *testing.T) {
	c, got := source(t), text(t, written)
	eachNode(c, func(folder string, node ast.Node) {
		literal, is := node.(*ast.BasicLit)
		if !is || literal.Kind != token.STRING {
			return
		}
		if key := strings.Trim(literal.Value, "\""); label.MatchString(key) && !slices.Contains(notOurs, key) && !strings.Contains(got, "`"+key) {
			t.Errorf("%s has %s, which %s lacks: make it a constant that ends with Annotation, with a comment", folder, key, written)
		}
	})
}

func TestEachReasonIsInThePage(t *testing.T) {
	c := source(t)
	for _, constant := range c.constants {
		named := strings.HasSuffix(constant.name, "Reason") || strings.HasPrefix(constant.name, "Reason") || strings.HasPrefix(constant.name, "reason")
		if named && !isReason(constant) {
			t.Errorf("%s in %s is a reason: put it into a block with a comment such as %q", constant.name, constant.folder, "Reasons of events on queues.")
		}
	}
	literal := func(e ast.Expr) bool {
		l, is := e.(*ast.BasicLit)
		return is && l.Value != `""` && !strings.Contains(l.Value, " ") // a node is refused with a sentence
	}
	eachNode(c, func(folder string, node ast.Node) {
		bad := false
		switch n := node.(type) {
		case *ast.CallExpr:
			method, is := n.Fun.(*ast.SelectorExpr)
			bad = is && (method.Sel.Name == "Event" || method.Sel.Name == "Eventf") && len(n.Args) > 3 && literal(n.Args[2])
		case *ast.KeyValueExpr:
			key, is := n.Key.(*ast.Ident)
			bad = is && key.Name == "Reason" && literal(n.Value)
		case *ast.FuncDecl:
			if n.Name.Name == "Reason" && n.Body != nil {
				ast.Inspect(n.Body, func(node ast.Node) bool {
					returned, is := node.(*ast.ReturnStmt)
					bad = bad || is && slices.ContainsFunc(returned.Results, literal)
					return true
				})
			}
		}
		if bad {
			t.Errorf("%s has a reason of an event that is not a constant", folder)
		}
	})
}

func TestEachArgumentIsInThePage(t *testing.T) {
	got := text(t, written)
	for _, name := range settings.Names {
		if !strings.Contains(got, "\n| `"+name+"` |") {
			t.Errorf("%s lacks argument %s", written, name)
		}
	}
	for _, c := range source(t).constants {
		if strings.HasPrefix(c.name, "arg") && !isArgument(c) {
			t.Errorf("%s in %s is an argument: put it into a block with a comment such as %q", c.name, c.folder, "Arguments of the plugin capacity.")
		}
	}
}

// TestEachFlagBelongsToAProgram finds flags of commands that are missing on the page. The programs have tests that compare the page with their flags.
func TestEachFlagBelongsToAProgram(t *testing.T) {
	known := []string{"cmd/devcluster", "pkg/program"} // docs/devcluster.md has the former
	for _, p := range programs {
		known = append(known, p.folders...)
	}
	for _, f := range source(t).flags {
		if !slices.Contains(known, f.folder) && !strings.HasPrefix(f.folder, "pkg/cli/") || f.usage == "" {
			t.Errorf("%s of %s is not in %s, or has no usage: add its folder to programs or commands in hack/reference", f.name, f.folder, written)
		}
	}
}

func eachNode(c *code, do func(folder string, node ast.Node)) {
	for folder, files := range c.folders {
		for _, file := range files {
			ast.Inspect(file, func(node ast.Node) bool {
				do(folder, node)
				return true
			})
		}
	}
}

// TestEachReasonAndEachCheckIsExplained checks the reasons and checks that users see when something waits.
func TestEachReasonAndEachCheckIsExplained(t *testing.T) {
	c, explained := source(t), text(t, "docs/troubleshooting.md")
	var names []string
	for _, constant := range c.constants {
		if isReason(constant) || strings.HasSuffix(constant.folder, "/explain") && strings.HasSuffix(constant.name, "Check") {
			names = append(names, constant.value)
		}
	}
	eachNode(c, func(folder string, node ast.Node) {
		list, is := node.(*ast.ValueSpec)
		if !is || !strings.HasSuffix(folder, "/checks") || list.Names[0].Name != "podChecks" && list.Names[0].Name != "jobChecks" {
			return
		}
		for _, check := range list.Values[0].(*ast.CompositeLit).Elts {
			names = append(names, c.text(folder, check.(*ast.CompositeLit).Elts[0]))
		}
	})
	if !slices.Contains(names, "Sharers") || !slices.Contains(names, "CardsNamed") || !slices.Contains(names, "Quota") || !slices.Contains(names, "Session") {
		t.Errorf("the checks of explain are not found: %q", names)
	}
	for _, name := range names {
		if row := manualRow(explained, name); row == nil {
			t.Errorf("docs/troubleshooting.md has no row for %s", name)
		}
	}
}

// manualRow returns the row of a table that starts with a name, or with several names.
func manualRow(text, name string) []string {
	for line := range strings.Lines(text) {
		if row := page.Row(line, "`"+name+"`"); row != nil && strings.Contains(row[0], "`"+name+"`") {
			return row
		}
	}
	return nil
}
