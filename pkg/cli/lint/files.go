// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/devicequota/devicequota/pkg/lint"
)

// reader reads files.
type reader struct {
	in io.Reader
	// namespace is the namespace of objects that name none.
	namespace string
	documents []*document
	// findings are about missing names, unknown fields, and repeated fields.
	findings []finding
	// skipped reports parts that lint does not check.
	skipped func(format string, args ...any)
	// unknown counts the objects of each kind that lint does not check.
	unknown map[string]int
}

// extensions are the extensions of the files that are read in a directory.
var extensions = []string{".yaml", ".yml", ".json", ".conf"}

// maxSize is the largest size of a file that is read in a directory. Larger files are not manifests written by people.
const maxSize = 16 << 20

// mustBeRendered is the advice for a template, which is not YAML yet.
const mustBeRendered = "a template must be rendered first, such as with helm template"

// templateError is an error in the YAML of a template.
type templateError struct{ error }

// Unwrap returns the error of the YAML parser.
func (e templateError) Unwrap() error { return e.error }

func (e templateError) Error() string {
	return mustBeRendered + ": " + e.error.Error()
}

// read reads a file, all files below a directory, or standard input.
func (r *reader) read(name string) error {
	if name == "-" {
		text, err := io.ReadAll(r.in)
		if err != nil {
			return err
		}
		return r.parse("-", text)
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return r.readDirectory(name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return r.parse(name, text)
}

// readDirectory reads the manifests below a directory. It does not follow links to directories, because they may lead to a directory above.
func (r *reader) readDirectory(name string) error {
	root, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains(extensions, filepath.Ext(path)) {
			return err
		}
		shown := path
		if within, err := filepath.Rel(root, path); err == nil {
			shown = filepath.Join(name, within)
		}
		switch info, err := os.Stat(path); {
		case err != nil:
			r.skipped("%s: skipped, because it cannot be read: %v", shown, errors.Unwrap(err))
			return nil
		case !info.Mode().IsRegular():
			r.skipped("%s: skipped, because it is no file", shown)
			return nil
		case info.Size() > maxSize:
			r.skipped("%s: skipped, because it has more than %d MiB: name the file with -f", shown, maxSize>>20)
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		err = r.parse(shown, text)
		if errors.As(err, new(templateError)) {
			r.skipped("%s: skipped, because %s", shown, mustBeRendered)
			return nil
		}
		return err
	})
}

// parse reads the documents of a text. If one has an error, parse adds none.
func (r *reader) parse(file string, text []byte) error {
	documents, findings, unknown := r.documents, r.findings, maps.Clone(r.unknown)
	err := r.parseDocuments(file, text)
	if err == nil {
		return nil
	}
	r.documents, r.findings, r.unknown = documents, findings, unknown
	if bytes.Contains(text, []byte("{{")) {
		return templateError{err}
	}
	return err
}

func (r *reader) parseDocuments(file string, text []byte) error {
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	for {
		var node yamlv3.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, content := range node.Content {
			if err := r.add(file, content); err != nil {
				return fmt.Errorf("%s:%d: %w", file, content.Line, err)
			}
		}
	}
}

// add adds a document, or the items of a list.
func (r *reader) add(file string, node *yamlv3.Node) error {
	if node.Kind == yamlv3.ScalarNode && node.Tag == "!!null" {
		return nil // only comments
	}
	if node.Kind != yamlv3.MappingNode {
		r.skipped("%s:%d: skipped what is no object", file, node.Line)
		return nil
	}
	if items := child(node, "items"); items != nil && items.Kind == yamlv3.SequenceNode && strings.HasSuffix(value(node, "kind"), "List") {
		for _, item := range items.Content {
			if err := r.add(file, item); err != nil {
				return err
			}
		}
		return nil
	}
	d := &document{file: file, node: node}
	repeated := withoutRepeated(node, nil)
	known, err := d.decode(r.namespace)
	var unknown *unknownFieldError
	switch {
	case errors.As(err, &unknown):
		r.find(d, lint.UnknownField, nil, fmt.Sprintf("The API server drops what the kind does not have: %v: correct the name", unknown))
	case err != nil:
		return err
	}
	if !known {
		r.skip(d)
		return nil
	}
	if d.unnamed() {
		r.find(d, lint.NameMissing, lint.Path{"metadata", "name"}, fmt.Sprintf("The API server refuses a %s without a name: set metadata.name", d.ref.Kind))
		d.object, d.configuration = nil, nil // the API server never has it
	}
	for _, field := range repeated {
		r.find(d, lint.RepeatedField, field, fmt.Sprintf("The manifest has %s more than once, and only the last one counts: remove the others", field))
	}
	r.documents = append(r.documents, d)
	return nil
}

// find adds a finding about a document.
func (r *reader) find(d *document, rule string, field lint.Path, message string) {
	r.findings = append(r.findings, newFinding(lint.Finding{Rule: rule, Severity: lint.SeverityOf(rule), Object: d.ref, Field: field, Message: message}, d))
}

// skip counts a document of an unknown kind, because repositories have many. It reports a document without a kind.
func (r *reader) skip(d *document) {
	if kind := d.unknownKind(); kind != "" {
		r.unknown[kind]++
		return
	}
	r.skipped("%s:%d: skipped a document without a kind", d.file, d.node.Line)
}

// sayUnknown reports how many objects are not checked because of their kinds.
func (r *reader) sayUnknown() {
	all := 0
	var counts []string
	for _, kind := range slices.Sorted(maps.Keys(r.unknown)) {
		all += r.unknown[kind]
		counts = append(counts, fmt.Sprintf("%d %s", r.unknown[kind], kind))
	}
	if all > 0 {
		r.skipped("Skipped %d objects of kinds that lint does not look at: %s", all, strings.Join(counts, ", "))
	}
}
