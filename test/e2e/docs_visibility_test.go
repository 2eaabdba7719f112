// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/test/cluster"
)

// visibilityBlock matches a block of the page: manifests, commands, the output of the commands before it, or a part of their JSON.
var visibilityBlock = regexp.MustCompile("(?ms)^```(yaml|sh|text|json)\n(.*?)^```$")

var _ = Describe("Seeing what the scheduler knows", func() {
	It("works with the commands of its page", func(ctx context.Context) {
		ownCluster(cluster.Options{Manifests: []string{filepath.Join("..", "..", "config", "samples", "cluster")}})
		text := must(os.ReadFile("../../docs/visibility.md"))
		shell := newShell()
		commands, printed, endpoint := "", 0, "endpoint="+controlPlane.VisibilityURL()+"\n"
		var output []string
		for _, block := range visibilityBlock.FindAllStringSubmatch(string(text), -1) {
			switch block[1] {
			case "yaml":
				Expect(controlPlane.ApplyYAML(ctx, "visibility.md", []byte(block[2]))).To(Succeed())
			case "sh":
				commands = endpoint + block[2]
				By(commands)
				if strings.Contains(commands, "--raw") { // the objects that they read may not exist yet
					continue
				}
				output = nil
				// The API server needs a moment to learn of a right. Each command is a line, and is not repeated after it has succeeded.
				for command := range strings.Lines(block[2]) {
					Eventually(func() error {
						printed, err := shell.run(ctx, endpoint+command)
						if err == nil {
							output = append(output, printed...)
						}
						return err
					}).WithContext(ctx).Should(Succeed(), command)
				}
			case "text":
				Expect(output).To(Equal(lines(block[2])), "what these commands print: %s", commands)
				printed++
			case "json":
				var want any
				Expect(json.Unmarshal([]byte(block[2]), &want)).To(Succeed())
				Eventually(func(g Gomega) {
					got, err := shell.run(ctx, commands)
					g.Expect(err).NotTo(HaveOccurred())
					var all any
					g.Expect(json.Unmarshal([]byte(strings.Join(got, "\n")), &all)).To(Succeed())
					g.Expect(missing("", want, all)).To(BeEmpty(), "%s prints %s", commands, got)
				}).WithContext(ctx).Should(Succeed())
				printed++
			}
		}
		Expect(printed).To(Equal(6), "outputs in the page")
	}, NodeTimeout(3*timeout))
})

// missing returns the parts of a JSON value that another value lacks. Objects may have more fields, and lists more items.
func missing(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for key, value := range want {
			if lack := missing(path+"."+key, value, object[key]); lack != "" {
				return lack
			}
		}
		return ""
	case []any:
		items, isList := got.([]any)
		if !isList {
			return fmt.Sprintf("%s is %v, want a list", path, got)
		}
		for i, value := range want {
			lack := "none"
			for _, item := range items {
				if lack = missing(fmt.Sprintf("%s[%d]", path, i), value, item); lack == "" {
					break
				}
			}
			if lack != "" {
				return fmt.Sprintf("%s[%d]: %s", path, i, lack)
			}
		}
		return ""
	default:
		if fmt.Sprint(want) != fmt.Sprint(got) {
			return fmt.Sprintf("%s is %v, want %v", path, got, want)
		}
		return ""
	}
}
