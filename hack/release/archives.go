// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const plugin = "kubectl-devicequota"

// archive is the archive of the kubectl plugin for one platform.
type archive struct {
	platform v1.Platform
	name     string
	sha256   string
}

// makeArchives writes the manifest for krew and, for each platform, an archive with the kubectl plugin and an SBOM.
func makeArchives(built source, binaries string, platforms []v1.Platform, out, downloads string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var archives []archive
	for _, platform := range platforms {
		made, err := makeArchive(built, platform, filepath.Join(binaries, folderOf(platform)), out)
		if err != nil {
			return fmt.Errorf("archive for %s: %w", folderOf(platform), err)
		}
		archives = append(archives, made)
	}
	manifest, err := krewManifest(built.version, downloads, archives)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, krewName+".yaml"), manifest, 0o644)
}

func makeArchive(built source, platform v1.Platform, binaries, out string) (archive, error) {
	program := executable(platform)
	path := filepath.Join(binaries, program)
	files, err := distributed(built, program, path)
	if err != nil {
		return archive{}, err
	}
	bom, err := sbom(path, built)
	if err != nil {
		return archive{}, err
	}
	base := fmt.Sprintf("%s_%s_%s_%s", plugin, built.version, platform.OS, platform.Architecture)
	if err := os.WriteFile(filepath.Join(out, base+".spdx.json"), bom, 0o644); err != nil {
		return archive{}, err
	}
	var packed bytes.Buffer
	name := base + ".tar.gz"
	if platform.OS == "windows" {
		name = base + ".zip"
		err = writeZip(&packed, built, files)
	} else {
		err = writeTarball(&packed, built.date, files)
	}
	if err != nil {
		return archive{}, err
	}
	sum := sha256.Sum256(packed.Bytes())
	return archive{platform: platform, name: name, sha256: hex.EncodeToString(sum[:])}, os.WriteFile(filepath.Join(out, name), packed.Bytes(), 0o644)
}

func executable(p v1.Platform) string {
	if p.OS == "windows" {
		return plugin + ".exe"
	}
	return plugin
}

func writeZip(to io.Writer, built source, files []file) error {
	w := zip.NewWriter(to)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: built.date}
		header.SetMode(os.FileMode(f.mode))
		entry, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.content); err != nil {
			return err
		}
	}
	return w.Close()
}
