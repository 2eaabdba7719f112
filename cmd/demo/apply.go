// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io/fs"

	"github.com/devicequota/devicequota/config"
)

// apply applies sample manifests, each of which is a file or a folder.
func apply(ctx context.Context, to applier, samples []string) error {
	for _, sample := range samples {
		manifests, err := read(sample)
		if err != nil {
			return err
		}
		if err := to.ApplyYAML(ctx, "config/"+sample, manifests); err != nil {
			return err
		}
	}
	return nil
}

// read returns the documents of a sample.
func read(sample string) ([]byte, error) {
	var all bytes.Buffer
	err := fs.WalkDir(config.FS, sample, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := config.FS.ReadFile(path)
		all.WriteString("---\n")
		all.Write(data)
		return err
	})
	return all.Bytes(), err
}
