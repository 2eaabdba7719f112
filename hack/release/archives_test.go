// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
)

func TestKrewInstallsTheArchives(t *testing.T) {
	out := t.TempDir()
	platforms := must[[]v1.Platform](t)(readPlatforms("darwin/arm64 linux/amd64 windows/amd64"))
	binaries := buildPrograms(t, platforms, plugin)
	if err := makeArchives(testSource(), binaries, platforms, out, "https://downloads.example.com"); err != nil {
		t.Fatal(err)
	}
	var p krewPlugin
	if err := yaml.UnmarshalStrict([]byte(readFile(t, out, "devicequota.yaml")), &p); err != nil {
		t.Fatal(err)
	}
	checkKrewRules(t, p)
	var systems []string
	for _, platform := range p.Spec.Platforms {
		system := platform.Selector.MatchLabels["os"]
		systems = append(systems, system+"/"+platform.Selector.MatchLabels["arch"])
		file := path.Base(platform.URI)
		if want := "https://downloads.example.com/v0.1.0/" + file; platform.URI != want {
			t.Errorf("%s is not %s", platform.URI, want)
		}
		content := readFile(t, out, file)
		if sum := sha256.Sum256([]byte(content)); hex.EncodeToString(sum[:]) != platform.SHA256 {
			t.Errorf("the sum of %s is wrong", file)
		}
		files := unpack(t, filepath.Join(out, file))
		if !slices.Equal(files, []string{"LICENSE", "THIRD-PARTY-LICENSES", platform.Bin}) {
			t.Errorf("%s has %v, and krew looks for %s", file, files, platform.Bin)
		}
		if strings.HasSuffix(platform.Bin, ".exe") != (system == "windows") {
			t.Errorf("%s for %s", platform.Bin, system)
		}
	}
	if want := []string{"darwin/arm64", "linux/amd64", "windows/amd64"}; !slices.Equal(systems, want) {
		t.Errorf("platforms %v", systems)
	}
}

// checkKrewRules checks the rules of krew and of its index, in the words of krew's developer guide.
func checkKrewRules(t *testing.T, p krewPlugin) {
	t.Helper()
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" {
		t.Errorf("%s %s", p.APIVersion, p.Kind)
	}
	if !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(p.Metadata.Name) || strings.HasPrefix(p.Metadata.Name, "kubectl-") {
		t.Errorf("name %s", p.Metadata.Name)
	}
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(p.Spec.Version) {
		t.Errorf("version %s", p.Spec.Version)
	}
	if d := p.Spec.ShortDescription; d == "" || len(d) > 50 || strings.HasSuffix(d, ".") || strings.Contains(d, "kubectl") {
		t.Errorf("short description %q", d)
	}
	for _, line := range strings.Split(p.Spec.Description, "\n") {
		if len(line) > 80 {
			t.Errorf("long line %q", line)
		}
	}
	for _, platform := range p.Spec.Platforms {
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(platform.SHA256) || !regexp.MustCompile(`^https://.*\.(tar\.gz|zip)$`).MatchString(platform.URI) || platform.Bin == "" {
			t.Errorf("platform %+v", platform)
		}
	}
}

func TestEqualProgramsGiveEqualArchives(t *testing.T) {
	platforms := must[[]v1.Platform](t)(readPlatforms("linux/amd64 windows/amd64"))
	binaries := buildPrograms(t, platforms, plugin)
	first, second := t.TempDir(), t.TempDir()
	for _, out := range []string{first, second} {
		if err := makeArchives(testSource(), binaries, platforms, out, "https://downloads.example.com"); err != nil {
			t.Fatal(err)
		}
	}
	checkEqual(t, first, second)
}

// unpack returns the names of the files in an archive. Programs must be executable.
func unpack(t *testing.T, archive string) []string {
	t.Helper()
	var names []string
	note := func(name string, mode os.FileMode) {
		names = append(names, name)
		if executable := mode&0o111 != 0; executable != strings.HasPrefix(name, plugin) {
			t.Errorf("mode of %s is %s", name, mode)
		}
	}
	if strings.HasSuffix(archive, ".zip") {
		r := must[*zip.ReadCloser](t)(zip.OpenReader(archive))
		defer r.Close()
		for _, f := range r.File {
			note(f.Name, f.Mode())
		}
		return names
	}
	f := must[*os.File](t)(os.Open(archive))
	defer f.Close()
	for r := tar.NewReader(must[*gzip.Reader](t)(gzip.NewReader(f))); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		note(header.Name, header.FileInfo().Mode())
	}
}
