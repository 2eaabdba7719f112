// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/test/page"
)

// installation is the page about the chart.
const installation = "docs/install.md"

// section is a section of a page, with its blocks for the way forward and the way back.
type section struct {
	title         string
	forward, back [][]string
}

// sections returns the sections of a page. The way back begins with "To go back" or "To end".
func (e *environment) sections(file string) []section {
	e.t.Helper()
	var all []section
	for _, text := range strings.Split(e.fileOf(file), "\n## ")[1:] {
		title, _, _ := strings.Cut(text, "\n")
		forward, back := text, ""
		if cut := regexp.MustCompile(`(?m)^To (go back|end)`).FindStringIndex(text); cut != nil {
			forward, back = text[:cut[0]], text[cut[0]:]
		}
		all = append(all, section{title, page.Block.FindAllStringSubmatch(forward, -1), page.Block.FindAllStringSubmatch(back, -1)})
	}
	return all
}

func (e *environment) section(file, title string) section {
	e.t.Helper()
	all := e.sections(file)
	at := slices.IndexFunc(all, func(s section) bool { return s.title == title })
	e.Expect(at).To(BeNumerically(">=", 0), title)
	return all[at]
}

// stories list the sections that are run one after another in one cluster. A section with a way back is run forward, back, and forward again.
var stories = map[string][]string{
	"with the chart": {
		"1. Install everything but the scheduler", "2. Try it on one queue", "3. Switch", "4. Take the scheduler out of Volcano's chart",
		"Your own configuration", "Refuse malformed quotas", "Monitor it", "Upgrades", "Uninstall",
	},
	"with Volcano's Deployment": {"If Volcano's chart runs the scheduler"},
	"without Helm":              {"Without Helm"},
	"from a registry":           {"From your own registry"},
}

func TestTheInstallationPage(t *testing.T) {
	for name, titles := range stories {
		t.Run(name, func(t *testing.T) {
			e := newCluster(t)
			e.registry = e.startRegistry()
			e.installVolcano("v1.14.1")
			e.installOperatorCRDs()
			k := newKubelet(e)
			k.follow()
			e.Expect(e.cluster.StartVolcanoControllers(e.ctx)).To(Succeed())
			for _, title := range titles {
				k.tell(title)
			}
			for _, process := range k.running {
				process.expectNothingForbidden()
			}
		})
	}
}

func TestTheStoriesHaveAllCommandsOfThePage(t *testing.T) {
	e := newEnvironment(t)
	var told []string
	for _, titles := range stories {
		told = append(told, titles...)
	}
	for _, s := range e.sections(installation) {
		if len(s.forward)+len(s.back) > 0 {
			e.Expect(told).To(ContainElement(s.title))
		}
	}
	commands := regexp.MustCompile(`(?m)^    \S.*`).FindAllString(e.fileOf(installation), -1)
	indented := slices.DeleteFunc(commands, func(line string) bool { return !strings.Contains(line, "make") })
	e.Expect(indented).To(Equal([]string{"    make image VERSION=v0.1.0 PUSH=registry.example.com/devicequota"}), "what needs a registry is not run")
}

// tell runs a section forward. If it has a way back, tell also runs it back and forward again.
func (k *kubelet) tell(title string) {
	k.t.Helper()
	s := k.section(installation, title)
	k.play(s.forward)
	k.checkJob(title)
	if len(s.back) == 0 {
		return
	}
	k.play(s.back)
	k.checkJob(title + " and back")
	switch {
	case strings.HasPrefix(title, "2."): // a trial is not repeated
	case strings.HasPrefix(title, "4."):
		k.play(k.section(installation, "3. Switch").forward)
		k.play(s.forward)
	default:
		k.play(s.forward)
	}
}

// play runs blocks, and compares the output of commands with the text after them.
func (k *kubelet) play(blocks [][]string) {
	k.t.Helper()
	commands := ""
	for i, b := range blocks {
		switch b[1] {
		case "yaml":
			k.Expect(k.cluster.ApplyYAML(k.ctx, "page", []byte(b[2]))).To(Succeed())
		case "sh":
			commands = regexp.MustCompile(`volcano-sh/volcano --version 1\.15\.1`).ReplaceAllString(b[2], k.volcanoChart("v1.15.1"))
			commands = strings.ReplaceAll(commands, "oci://registry.example.com/", "oci://"+k.registry+"/")
			commands = regexp.MustCompile(`volcano-sh/volcano --version 1\.14\.0`).ReplaceAllString(commands, k.volcanoChart("v1.14.1"))
			if i+1 < len(blocks) && blocks[i+1][1] == "text" {
				continue // the output may be right only after a moment
			}
			k.sh(commands)
			k.follow()
		case "text": // these commands only read, so they can be repeated
			k.Eventually(func() ([]string, error) {
				out, err := k.try(commands)
				return page.Lines(out), err
			}).Should(ContainElements(page.Lines(b[2])), commands)
		}
	}
}

// checkJob checks that the current scheduler places a pod.
func (k *kubelet) checkJob(after string) {
	k.t.Helper()
	k.sh("kubectl delete pod plain --ignore-not-found --wait")
	k.Expect(k.cluster.ApplyYAML(k.ctx, "pod", []byte(plainPod))).To(Succeed())
	k.Eventually(func() string { return k.sh("kubectl get pod plain -o jsonpath={.status.phase}") }).Should(Equal("Running"), "after %s", after)
}
