// SPDX-License-Identifier: Apache-2.0

//go:build image

package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/spdx/tools-golang/spdx"
)

// pageRepositories matches the repositories on the page.
var pageRepositories = regexp.MustCompile(`(ghcr\.io|registry\.example\.com)/devicequota`)

var commandBlock = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$")

// TestReleasePage runs the commands of docs/release.md, with a separate registry, in a clone with a separate origin. A maintainer tags before
// a user checks, so the commands of the last section run first.
func TestReleasePage(t *testing.T) {
	top := must[string](t)(filepath.Abs("../.."))
	origin, clone := filepath.Join(t.TempDir(), "origin.git"), filepath.Join(t.TempDir(), "clone")
	shell(t, top, "git clone --quiet --bare . "+origin)
	shell(t, top, "git clone --quiet "+origin+" "+clone)
	shell(t, clone, "git config user.name maintainer && git config user.email maintainer@example.com")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()

	page := readFile(t, clone, "docs/release.md")
	user, maintainer, found := strings.Cut(page, "\n## Cut a release\n")
	if !found {
		t.Fatal("docs/release.md does not say how to cut a release")
	}
	output := map[string]string{}
	for _, text := range []string{maintainer, user} {
		for _, block := range commandBlock.FindAllStringSubmatch(text, -1) {
			folder := clone
			if strings.HasPrefix(strings.TrimSpace(block[1]), "sha256sum") {
				folder = filepath.Join(clone, "bin/release")
			}
			commands := pageRepositories.ReplaceAllString(block[1], strings.TrimPrefix(server.URL, "http://")+"/devicequota")
			first, _, _ := strings.Cut(strings.TrimSpace(block[1]), "\n")
			output[first] = shell(t, folder, commands)
		}
	}

	t.Run("the chart is in the registry", func(t *testing.T) {
		shell(t, top, "go -C hack/release tool crane digest "+strings.TrimPrefix(server.URL, "http://")+"/devicequota/charts/devicequota:0.1.0")
	})
	t.Run("the tag is in the origin", func(t *testing.T) {
		shell(t, origin, "git rev-parse --verify --quiet v0.1.0^{commit}")
	})
	t.Run("a second build, in another folder, gives the same images as the one that was pushed", func(t *testing.T) {
		rebuilt := strings.Fields(readFile(t, clone, "bin/images/digests.txt"))
		pushed := strings.TrimSpace(output["go -C hack/release tool crane digest ghcr.io/devicequota/vc-scheduler:v0.1.0"])
		if pushed == "" || !slices.Contains(rebuilt, pushed) {
			t.Errorf("%q was pushed, and %v rebuilt", pushed, rebuilt)
		}
		other := filepath.Join(t.TempDir(), "elsewhere")
		shell(t, top, "git clone --quiet "+origin+" "+other)
		shell(t, other, "make image VERSION=v0.1.0")
		if got, want := readFile(t, other, "bin/images/digests.txt"), readFile(t, clone, "bin/images/digests.txt"); got != want {
			t.Errorf("elsewhere\n%s\nhere\n%s", got, want)
		}
	})
	t.Run("the SBOM in the image lists Volcano", func(t *testing.T) {
		export := "go -C hack/release tool crane export --platform linux/amd64 ghcr.io/devicequota/vc-scheduler:v0.1.0 - | tar -xO vc-scheduler.spdx.json"
		var d spdx.Document
		if err := json.Unmarshal([]byte(output[export]), &d); err != nil {
			t.Fatalf("%v in %q", err, output[export])
		}
		if !slices.ContainsFunc(d.Packages, func(p *spdx.Package) bool { return p.PackageName == "volcano.sh/volcano" }) {
			t.Error("volcano.sh/volcano is not in it")
		}
	})
	t.Run("the files of the release have their checksums", func(t *testing.T) {
		if got := output["sha256sum --check --ignore-missing checksums.txt"]; !strings.Contains(got, "kubectl-devicequota_v0.1.0_linux_amd64.tar.gz: OK") {
			t.Error(got)
		}
	})
	for _, program := range []string{"vc-scheduler", "vc-dispatcher", "vc-webhook", "kubectl-devicequota"} {
		t.Run(program+" is static, stripped, and says its version", func(t *testing.T) {
			path := filepath.Join(clone, "bin/programs/linux-amd64", program)
			checkStatic(t, path)
			version, commit := shell(t, clone, path+" --version"), strings.TrimSpace(shell(t, clone, "git rev-parse v0.1.0^{commit}"))
			if !strings.HasPrefix(version, "devicequota v0.1.0\n") || !strings.Contains(version, commit+"\n") {
				t.Error(version)
			}
		})
	}
}

func checkStatic(t *testing.T, path string) {
	t.Helper()
	program := must[*elf.File](t)(elf.Open(path))
	defer program.Close()
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("it needs a dynamic loader")
	}
	if program.Section(".symtab") != nil || program.Section(".debug_info") != nil {
		t.Error("it is not stripped")
	}
}

// shell runs commands and returns what they print to stdout.
func shell(t *testing.T, folder, commands string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	c.Dir, c.Stdout, c.Stderr = folder, &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", commands, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}
