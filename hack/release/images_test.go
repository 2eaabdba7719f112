// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var bothPlatforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

func TestImagesArePushedForEveryPlatform(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	o := imageOptions{
		source: testSource(), binaries: buildPrograms(t, bothPlatforms, "vc-scheduler", "vc-dispatcher"), platforms: bothPlatforms, out: t.TempDir(),
		repository: strings.TrimPrefix(server.URL, "http://") + "/devicequota", push: true,
	}
	if err := makeImages(o, []string{"vc-scheduler", "vc-dispatcher"}); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"vc-scheduler", "vc-dispatcher"} {
		tag := must[name.Tag](t)(name.NewTag(o.repository + "/" + program + ":v0.1.0"))
		index := must[v1.ImageIndex](t)(remote.Index(tag))
		if err := validate.Index(index); err != nil {
			t.Error(err)
		}
		manifest := must[*v1.IndexManifest](t)(index.IndexManifest())
		var platforms []string
		for _, d := range manifest.Manifests {
			platforms = append(platforms, d.Platform.String())
		}
		if got := strings.Join(platforms, " "); got != "linux/amd64 linux/arm64" {
			t.Errorf("%s is for %s", program, got)
		}
		digest := must[v1.Hash](t)(index.Digest())
		if want := digest.String() + " " + program + "\n"; !strings.Contains(readFile(t, o.out, "digests.txt"), want) {
			t.Errorf("digests.txt has no line %q", want)
		}
	}
}

func TestPushNamesTheImageThatItCouldNotPush(t *testing.T) {
	o := imageOptions{
		source: testSource(), binaries: buildPrograms(t, bothPlatforms[:1], "vc-scheduler"), platforms: bothPlatforms[:1], out: t.TempDir(), repository: "localhost:1/devicequota", push: true,
	}
	if err := makeImages(o, []string{"vc-scheduler"}); err == nil || !strings.Contains(err.Error(), "push localhost:1/devicequota/vc-scheduler:v0.1.0") {
		t.Error(err)
	}
}

// schedulerImages makes the images of the scheduler.
func schedulerImages(t *testing.T, platforms []v1.Platform) imageOptions {
	t.Helper()
	o := imageOptions{source: testSource(), binaries: buildPrograms(t, platforms, "vc-scheduler"), platforms: platforms, out: t.TempDir(), repository: "registry.example.com/x"}
	if err := makeImages(o, []string{"vc-scheduler"}); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAnImageSaysWhatItIs(t *testing.T) {
	o := schedulerImages(t, bothPlatforms)
	path := must[layout.Path](t)(layout.FromPath(filepath.Join(o.out, "vc-scheduler")))
	top := must[v1.ImageIndex](t)(path.ImageIndex())
	index := must[v1.ImageIndex](t)(top.ImageIndex(must[*v1.IndexManifest](t)(top.IndexManifest()).Manifests[0].Digest))
	for i, architecture := range []string{"amd64", "arm64"} {
		image := must[v1.Image](t)(index.Image(must[*v1.IndexManifest](t)(index.IndexManifest()).Manifests[i].Digest))
		config := must[*v1.ConfigFile](t)(image.ConfigFile())
		if config.OS != "linux" || config.Architecture != architecture || config.Config.User != "65532:65532" || strings.Join(config.Config.Entrypoint, " ") != "/vc-scheduler" {
			t.Errorf("configuration of the image for %s: %+v", architecture, config)
		}
		for label, want := range map[string]string{
			"org.opencontainers.image.version": "v0.1.0", "org.opencontainers.image.revision": testCommit, "org.opencontainers.image.created": "2026-11-22T13:36:53Z",
			"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": "https://github.com/devicequota/devicequota",
		} {
			if got := config.Config.Labels[label]; got != want {
				t.Errorf("label %s is %q, not %q", label, got, want)
			}
		}
	}
}

func TestDockerLoadsTheArchiveOfAPlatform(t *testing.T) {
	o := schedulerImages(t, bothPlatforms[:1])
	tag := must[name.Tag](t)(name.NewTag("registry.example.com/x/vc-scheduler:v0.1.0"))
	image := must[v1.Image](t)(tarball.ImageFromPath(filepath.Join(o.out, "vc-scheduler-linux-amd64.tar"), &tag))
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	files := filesOf(t, image)
	for path, mode := range map[string]int64{"vc-scheduler": 0o755, "vc-scheduler.spdx.json": 0o644, "LICENSE": 0o644, "THIRD-PARTY-LICENSES": 0o644, "tmp": 0o1777, "etc/ssl/certs/ca-certificates.crt": 0o644} {
		if f, found := files[path]; !found || f.mode != mode {
			t.Errorf("%s: in the image %t, mode %o", path, found, f.mode)
		}
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, files["vc-scheduler"].content, 0o755); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command(program).CombinedOutput(); err != nil || string(output) != "it runs\n" {
		t.Errorf("%s, %v", output, err)
	}
	if n := strings.Count(string(files["etc/ssl/certs/ca-certificates.crt"].content), "BEGIN CERTIFICATE"); n < 50 {
		t.Errorf("%d certificates", n)
	}
}

func filesOf(t *testing.T, image v1.Image) map[string]file {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	files := map[string]file{}
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = file{name: header.Name, mode: header.Mode, content: must[[]byte](t)(io.ReadAll(reader))}
	}
}

func TestEqualProgramsGiveEqualImages(t *testing.T) {
	first, second := schedulerImages(t, bothPlatforms), schedulerImages(t, bothPlatforms)
	// A second build into the same folder replaces the first.
	if err := makeImages(second, []string{"vc-scheduler"}); err != nil {
		t.Fatal(err)
	}
	checkEqual(t, first.out, second.out)
}

// checkEqual checks that two folders have equal files.
func checkEqual(t *testing.T, one, other string) {
	t.Helper()
	files, others := filesIn(t, one), filesIn(t, other)
	if len(files) != len(others) {
		t.Errorf("%d and %d files", len(files), len(others))
	}
	for path, text := range files {
		if others[path] != text {
			t.Errorf("%s differs", path)
		}
	}
}

func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[strings.TrimPrefix(path, folder)] = readFile(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
