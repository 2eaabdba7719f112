// SPDX-License-Identifier: Apache-2.0

// Package sarif validates the output of `kubectl devicequota lint -o sarif` with the JSON schema of SARIF 2.1.0.
package sarif

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif" // its source has the schema
	"github.com/xeipuuv/gojsonschema"
)

// printed is the expected output in a test of the command.
const printed = "../../pkg/cli/lint/testdata/findings.sarif.golden"

// schema returns OASIS's schema, which the module go-sarif has in an unexported constant.
func schema(t *testing.T) *gojsonschema.Schema {
	t.Helper()
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(strings.TrimSpace(string(folder)), "pkg/report/v210/sarif/schema.go")
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constant := ""
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, is := n.(*ast.ValueSpec); is && spec.Names[0].Name == "schema" {
			constant = spec.Values[0].(*ast.BasicLit).Value
		}
		return true
	})
	text, err := strconv.Unquote(constant)
	if err != nil || !strings.Contains(text, "https://docs.oasis-open.org/sarif/sarif/v2.1.0/") {
		t.Fatalf("%s: %v", file, err)
	}
	compiled, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(text))
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func TestWhatLintPrintsFollowsTheSchema(t *testing.T) {
	schema := schema(t)
	validate := func(text string) error {
		result, err := schema.Validate(gojsonschema.NewStringLoader(text))
		if err == nil && !result.Valid() {
			err = fmt.Errorf("%v", result.Errors())
		}
		return err
	}
	text, err := os.ReadFile(printed)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(string(text)); err != nil {
		t.Error(err)
	}
	for field, wrong := range map[string]string{
		`"level": "error"`: `"level": "fatal"`, `"version": "2.1.0"`: `"version": "2"`, `"startLine": 5`: `"startLine": 0`, `"ruleId"`: `"rule"`, `"text"`: `"words"`,
	} {
		if !strings.Contains(string(text), field) {
			t.Errorf("the log has no %s", field)
		} else if validate(strings.ReplaceAll(string(text), field, wrong)) == nil {
			t.Errorf("a log with %s in place of %s is valid", wrong, field)
		}
	}
}
