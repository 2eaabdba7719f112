// SPDX-License-Identifier: Apache-2.0

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

// looksInside are tests of upstream's internal types.
var looksInside = []string{"Test_updateQueueAttrShare"}

const constructor = `package borrowed

import (
	"context"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/plugins/capacity"
)

const PluginName = capacity.Name

// New returns a plugin with an empty cache, as if the process had just started.
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
	// Upstream's harness waits only 0.3 s for a binding, which may be too short on a busy machine. So tests
	// that fail are run up to two more times.
	for range 2 {
		if len(failed) > 0 {
			_, failed = run(t, binary, "^("+strings.Join(roots(failed), "|")+")$")
		}
	}
	for name, said := range failed {
		t.Errorf("%s:\n%s", name, said)
	}
}

// run runs the tests that match. It returns the number of cases that passed, and the output of those that
// failed.
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

// roots returns the test functions of cases.
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

// rewrite moves a test file into the package of the constructor.
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
		t.Fatalf("%s does not have all of %v", file, looksInside)
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

// results parses the output of test2json.
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
