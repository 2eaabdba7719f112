// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "take the pictures of the page for the documentation again")

// shot is a picture for the documentation.
type shot struct {
	// name is that of the file in docs/images, and of the file with the texts of the page in it.
	name string
	// fragment is that of the address of the page.
	fragment string
	height   int
	// waitFor are texts that the page has when it shows the example.
	waitFor []string
	// texts returns the texts of the page that depend neither on time nor on what else runs.
	texts string
}

var shots = []shot{
	{"page", "", 480, []string{"The cluster", "4 / 6 (4 waiting)", "6 / 8 (4 waiting)"}, headings},
	{"explanation", "#waiting?explain=default/jobs/tuner", 760, []string{"What would have to go"}, explained},
}

const (
	pictureWidth = 1000
	// largest is the number of bytes of a picture that a README loads quickly.
	largest  = 150_000
	headings = `[...document.querySelectorAll('h1, nav a, #filters label:not([hidden]), [data-queue], .legend, #view caption')].map((element) => element.dataset.queue ??
		[...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.textContent.trim()).join(' ').trim()).join('\n') + '\n'`
	explained = `[...document.querySelectorAll('#explanation h2, #explanation p, #explanation .checks li')].map((element) => element.textContent.trim()).join('\n') + '\n'`
)

var manifest = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestThePictureShowsThePage compares texts. Pixels depend on the fonts of the machine.
func TestThePictureShowsThePage(t *testing.T) {
	showExample(t)
	jobs(t)
	for _, shot := range shots {
		t.Run(shot.name, shot.check)
	}
}

func (s shot) check(t *testing.T) {
	picture, caption := filepath.Join(root, "docs/images", s.name+".png"), filepath.Join("testdata", s.name+".txt")
	b := open(t, cluster.page+s.fragment, pictureWidth, s.height)
	b.run(prefer("light"))
	for _, text := range s.waitFor {
		b.waitFor(text, fmt.Sprintf("document.body.innerText.includes(%q)", text))
	}
	now := script[string](b, s.texts)
	if *update {
		var content []byte
		b.run(chromedp.CaptureScreenshot(&content))
		write(t, picture, content)
		write(t, caption, []byte(now))
	}
	before, err := os.ReadFile(caption)
	if err != nil || now != string(before) {
		t.Errorf("the page says\n%s\nand the picture\n%s\n%v: run the test with -update, and look at %s", now, before, err, picture)
	}
	content, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := png.DecodeConfig(bytes.NewReader(content)); err != nil || size.Width != pictureWidth || size.Height != s.height || len(content) > largest {
		t.Errorf("the picture has %d bytes and is %d wide and %d high: %v", len(content), size.Width, size.Height, err)
	}
}

// showExample applies the example of docs/kubectl.md, and deletes it when the test ends.
func showExample(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/kubectl.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kubectlAfter(t, "delete", "jobs.batch.volcano.sh", "--all", "--wait")
		kubectlAfter(t, "delete", "resourceclaimtemplate/four-a100", "resourceslice/doc-gpus", "deviceclass/doc-a100", "queue/doc-nlp", "queue/doc-uni", "node/doc-gpus")
	})
	for i, block := range manifest.FindAllSubmatch(text, -1) {
		file := filepath.Join(t.TempDir(), fmt.Sprint(i, ".yaml"))
		write(t, file, block[1])
		kubectl(t, "apply", "--filename", file)
		kubectl(t, "wait", "--for=jsonpath={.status.state.phase}=Running", "jobs.batch.volcano.sh/trainer", "--timeout=1m")
	}
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
