// Package upstream runs tests of Volcano's own against this project's plugins. They are not
// copied: they are read from the module cache, and only what constructs the plugin is
// exchanged.
package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// looksInside are tests that are about upstream's own types.
var looksInside = []string{"Test_updateQueueAttrShare"}

const constructor = `package borrowed

import (
	"context"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/plugins/capacity"
)

const PluginName = capacity.Name

// New makes a plugin with a memory of its own, as if the process had just started.
func New(arguments framework.Arguments) framework.Plugin {
	return capacity.New(context.Background()).Builders()[capacity.Name](arguments)
}
`

func TestCapacityBehavesAsUpstreams(t *testing.T) {
	root, module := goList(t, "."), goList(t, "volcano.sh/volcano")
	dir := t.TempDir()
	rewritten := rewrite(t, filepath.Join(module, "pkg/scheduler/plugins/capacity/capacity_test.go"))
	overlay := map[string]map[string]string{"Replace": {
		filepath.Join(root, "test/upstream/borrowed/borrowed_test.go"): write(t, dir, "test.go", rewritten),
		filepath.Join(root, "test/upstream/borrowed/constructor.go"):   write(t, dir, "constructor.go", []byte(constructor)),
	}}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "borrowed.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", write(t, dir, "overlay.json", data), "-o", binary, "./test/upstream/borrowed")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, output)
	}
	passed, failed := run(t, binary, ".")
	if passed+len(failed) < 30 {
		t.Errorf("only %d of upstream's cases ran", passed+len(failed))
	}
	// Upstream's harness gives a binding 0.3 s to happen, which a busy machine may not manage:
	// what failed has two more chances.
	for range 2 {
		if len(failed) > 0 {
			_, failed = run(t, binary, "^("+strings.Join(roots(failed), "|")+")$")
		}
	}
	for name, said := range failed {
		t.Errorf("%s:\n%s", name, said)
	}
}

// run executes the tests that match, and returns how many cases passed, and what those said
// that did not.
func run(t *testing.T, binary, tests string) (int, map[string]string) {
	t.Helper()
	command := exec.Command("go", "tool", "test2json", binary, "-test.v=test2json", "-test.run", tests)
	command.Dir = filepath.Dir(binary)
	output, err := command.CombinedOutput()
	passed, failed := results(t, output)
	if err != nil && len(failed) == 0 {
		t.Fatalf("%v:\n%s", err, output)
	}
	return passed, failed
}

// roots are the functions that cases belong to.
func roots(cases map[string]string) []string {
	var names []string
	for name := range cases {
		if root, _, _ := strings.Cut(name, "/"); !slices.Contains(names, root) {
			names = append(names, root)
		}
	}
	return names
}

func goList(t *testing.T, module string) string {
	t.Helper()
	args := []string{"list", "-m", "-f", "{{.Dir}}"}
	if module != "." {
		args = append(args, module)
	}
	dir, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(dir))
}

// rewrite puts a test file into the package of the constructor.
func rewrite(t *testing.T, file string) []byte {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	parsed.Name.Name = "borrowed"
	left := len(looksInside)
	parsed.Decls = slices.DeleteFunc(parsed.Decls, func(d ast.Decl) bool {
		f, isFunc := d.(*ast.FuncDecl)
		inside := isFunc && slices.Contains(looksInside, f.Name.Name)
		if inside {
			left--
		}
		return inside
	})
	if left != 0 {
		t.Fatalf("%s has not all of %v", file, looksInside)
	}
	var out bytes.Buffer
	if err := format.Node(&out, set, parsed); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// results reads what test2json prints.
func results(t *testing.T, output []byte) (passed int, failed map[string]string) {
	t.Helper()
	said, failed := map[string]string{}, map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Test == "" {
			continue
		}
		switch event.Action {
		case "output":
			said[event.Test] += event.Output
		case "pass":
			passed++
		case "fail":
			failed[event.Test] = said[event.Test]
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return passed, failed
}
