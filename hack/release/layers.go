// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// file is a file or, with a / at the end of its name, a folder of a layer.
type file struct {
	name    string
	mode    int64
	content []byte
}

// baseLayer has the files that programs expect of any system. The certificates are for Volcano's plugin usage, which may read metrics from a server
// outside the cluster. The scheduler keeps the socket for its log level in /tmp, and dumps its cache there.
func baseLayer(date time.Time) (v1.Layer, error) {
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		// A root with a constraint is trusted only for some certificates. A file cannot express this.
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return layer(date, []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: certificates.Bytes()},
		{name: "tmp/", mode: 0o1777},
	})
}

// distributed returns a program with its licences.
func distributed(built source, program, path string) ([]file, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	others, err := licences(path)
	return []file{
		{name: "LICENSE", mode: 0o644, content: built.licence},
		{name: "THIRD-PARTY-LICENSES", mode: 0o644, content: others},
		{name: program, mode: 0o755, content: content},
	}, err
}

// programLayer has the program, its licences, and its SBOM. Scanners of images then find its contents.
func programLayer(built source, program, path string, bom []byte) (v1.Layer, error) {
	files, err := distributed(built, program, path)
	if err != nil {
		return nil, err
	}
	return layer(built.date, append(files, file{name: program + ".spdx.json", mode: 0o644, content: bom}))
}

// layer returns a layer that depends only on the files and the date. It compresses the layer once, because the library would compress it at each
// read.
func layer(date time.Time, files []file) (v1.Layer, error) {
	var archive bytes.Buffer
	if err := writeTarball(&archive, date, files); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

func writeTarball(to io.Writer, date time.Time, files []file) error {
	w := gzip.NewWriter(to)
	if err := writeTar(w, date, files); err != nil {
		return err
	}
	return w.Close()
}

func writeTar(to io.Writer, date time.Time, files []file) error {
	w := tar.NewWriter(to)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: date, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if f.name[len(f.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	return w.Close()
}
