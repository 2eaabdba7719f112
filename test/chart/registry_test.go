// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"os/exec"
	"path/filepath"
	"regexp"

	. "github.com/onsi/gomega"
)

// startRegistry starts a registry for images and charts, and returns its address.
func (e *environment) startRegistry() string {
	e.t.Helper()
	crane := filepath.Join(e.t.TempDir(), "crane")
	e.sh("go build -C hack/release -o " + crane + " github.com/google/go-containerregistry/cmd/crane")
	serve := exec.Command(crane, "registry", "serve", "--address", "127.0.0.1:0")
	logs, err := serve.StderrPipe()
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(serve.Start()).To(Succeed())
	e.t.Cleanup(func() {
		e.Expect(serve.Process.Kill()).To(Succeed())
		_ = serve.Wait() // it was killed
	})
	buffer := make([]byte, 1024)
	n, err := logs.Read(buffer)
	e.Expect(err).NotTo(HaveOccurred())
	port := regexp.MustCompile(`port (\d+)`).FindSubmatch(buffer[:n])
	e.Expect(port).NotTo(BeNil(), string(buffer[:n]))
	return "127.0.0.1:" + string(port[1])
}
