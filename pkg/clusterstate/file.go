// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/json" // keeps whole numbers, which floats would round
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// maxSize limits the size of a decompressed file. A cluster with 100,000 pods needs less.
const maxSize = 1 << 30

// Write writes the state as YAML. It compresses the file if the name ends in .gz.
func (s *State) Write(w io.Writer, file string) error {
	text, err := sigsyaml.Marshal(s)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(file, ".gz") {
		_, err = w.Write(text)
		return err
	}
	compressed := gzip.NewWriter(w)
	if _, err := compressed.Write(text); err != nil {
		return err
	}
	return compressed.Close()
}

// ReadFile reads a state that Write wrote.
func ReadFile(file string) (*State, error) {
	text, err := readAll(file)
	if err != nil {
		return nil, err
	}
	s := &State{}
	if err := sigsyaml.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s is no file of kubectl devicequota snapshot, or is damaged: %w", file, err)
	}
	// Write writes the kind after the objects.
	if s.Kind == "" && s.APIVersion == APIVersion {
		return nil, fmt.Errorf("%s is cut off: it has no kind, which is behind the objects; take it anew with kubectl devicequota snapshot", file)
	}
	if s.Kind != Kind || s.APIVersion != APIVersion {
		return nil, fmt.Errorf("%s has the kind %q of %q: take it with kubectl devicequota snapshot, which writes a %s of %s", file, s.Kind, s.APIVersion, Kind, APIVersion)
	}
	return s, nil
}

func readAll(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		return text, nil
	}
	expanded, err := gzip.NewReader(bytes.NewReader(text))
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(expanded, maxSize+1))
	}
	if err != nil {
		return nil, fmt.Errorf("%s is cut off or damaged: %w; take it anew with kubectl devicequota snapshot", file, err)
	}
	if len(text) > maxSize {
		return nil, fmt.Errorf("%s has more than %d MiB", file, maxSize>>20)
	}
	return text, nil
}

// Objects reads the objects in a file of YAML or JSON documents. It returns the items of lists.
func Objects(r io.Reader) ([]Object, error) {
	documents := yaml.NewYAMLReader(bufio.NewReader(r))
	var all []Object
	for number := 1; ; number++ {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var content map[string]any
		if text, err = yaml.ToJSON(text); err == nil {
			err = json.Unmarshal(text, &content)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		if len(content) == 0 {
			continue
		}
		object := Object{Object: content}
		if object.GetKind() == "" || object.GetAPIVersion() == "" {
			return nil, fmt.Errorf("document %d has no apiVersion or no kind", number)
		}
		if object.GetName() == "" && !object.IsList() {
			return nil, fmt.Errorf("document %d, a %s, has no metadata.name", number, object.GetKind())
		}
		if !object.IsList() {
			all = append(all, object)
			continue
		}
		list, err := object.ToList()
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		all = append(all, list.Items...)
	}
}
