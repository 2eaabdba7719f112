// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const gone = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: a}\nspec:\n  parent: gone\n"

func TestFormsOfYAML(t *testing.T) {
	misplaced := func(line int) string { return fmt.Sprintf("QueueMisplaced  -:%d ", line) }
	for _, c := range []struct{ name, text, want string }{
		{"a byte order mark and CRLF", "\xef\xbb\xbf" + strings.ReplaceAll(gone, "\n", "\r\n"), misplaced(5)},
		{"JSON", `{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"a"},"spec":{"parent":"gone"}}`, misplaced(1)},
		{"an anchor in the document", "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: a, labels: {l: &p gone}}\nspec: {parent: *p}\n", misplaced(4)},
		{"an anchor in another item of the list", "kind: List\napiVersion: v1\nitems:\n- apiVersion: scheduling.volcano.sh/v1beta1\n  kind: Queue\n  metadata: {name: a}\n  spec: &s {parent: gone}\n" +
			"- apiVersion: scheduling.volcano.sh/v1beta1\n  kind: Queue\n  metadata: {name: b}\n  spec: *s\n", misplaced(7)},
		{"a list of queues", "kind: QueueList\napiVersion: scheduling.volcano.sh/v1beta1\nitems:\n- {apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: a}, spec: {parent: gone}}\n", misplaced(4)},
		{"the last of two fields counts", strings.Replace(gone, "spec:", "spec:\n  parent: root", 1), misplaced(6)},
		{"three queues in a circle", queue("a", "{parent: b}") + queue("b", "{parent: c}") + queue("c", "{parent: a}"), "it is its own ancestor (a > b > c > a)"},
		{"documents that are no objects", "- a\n---\ntext\n---\n# nothing\n---\n" + gone, "-:1: skipped what is no object\n-:3: skipped what is no object\n"},
		{"a document without a kind", "a: b\n---\n" + gone, "-:1: skipped a document without a kind"},
		{"items of a kind that is no list", "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: s}\nitems: [1]\n---\n" + gone, "Skipped 1 objects of kinds that lint does not look at: 1 Shop\n"},
	} {
		out, told, code := run(t, c.text, "--offline", "-f", "-")
		if said := told + out; code != exitFindings || !strings.Contains(said, c.want) || !strings.Contains(said, "QueueMisplaced") {
			t.Errorf("%s: exit code %d, want %q in\n%s", c.name, code, c.want, said)
		}
	}
}

func TestWhatIsNoYAMLNamesItsPlace(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%[3]s,%[3]s,%[3]s,%[3]s,%[3]s,%[3]s,%[3]s,%[3]s,%[3]s]\n", c, c, "*"+string(c-1))
	}
	for _, c := range []struct{ name, text, want string }{
		{"a tab", "kind: Queue\nmetadata:\n\tname: a\n", "-: yaml: line 3: found character that cannot start any token"},
		{"an anchor that contains itself", strings.Replace(gone, "parent: gone", "parent: &x [*x]", 1), "-:1: "},
		{"a list that is larger than the memory", bomb + gone, "-:1: "},
		{"another type", strings.Replace(gone, "gone", "[gone]", 1), "-:1: Queue/a: "},
		{"a template", strings.Replace(gone, "gone", "{{ .Values.parent }}", 1), "a template must be rendered first, such as with helm template: "},
	} {
		if _, told, code := run(t, c.text, "--offline", "-f", "-"); code != exitUsage || !strings.Contains(told, c.want) {
			t.Errorf("%s: exit code %d, want %q in\n%s", c.name, code, c.want, told)
		}
	}
}

func TestWhatInADirectoryIsNoManifestIsSkipped(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "repo/queues/queue.yaml", gone)
	write(t, "repo/queues/README.md", "{{")
	write(t, "repo/charts/templates/queue.yaml", "{{- if .Values.queue }}\n"+gone+"{{- end }}\n")
	write(t, "repo/empty.yaml", "")
	large, err := os.Create("repo/large.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := large.Truncate(maxSize + 1); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"repo/loop.yaml": "loop.yaml", "repo/broken.yaml": "nowhere", "repo/up.yaml": "..", "repo/again": ".", "linked": "repo"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo("repo/pipe.yaml", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"repo", "linked"} {
		out, told, code := run(t, "", "--offline", "-f", folder)
		if code != exitFindings || strings.Count(out, "QueueMisplaced") != 1 || !strings.Contains(out, filepath.Join(folder, "queues/queue.yaml")+":5 ") {
			t.Errorf("exit code %d, it finds\n%s", code, out)
		}
		for _, want := range []string{
			"/charts/templates/queue.yaml: skipped, because a template must be rendered first, such as with helm template\n",
			"/large.json: skipped, because it has more than 16 MiB: name the file with -f", "/loop.yaml: skipped, because it cannot be read: ",
			"/broken.yaml: skipped, because it cannot be read: no such file or directory", "/up.yaml: skipped, because it is no file", "/pipe.yaml: skipped, because it is no file",
		} {
			if !strings.Contains(told, folder+want) {
				t.Errorf("it does not say %q, but\n%s", folder+want, told)
			}
		}
		if lines := strings.Count(told, "\n"); lines != 6 {
			t.Errorf("it says %d lines:\n%s", lines, told)
		}
	}
}

func TestABrokenFileOfADirectoryIsAnError(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.yaml", gone)
	write(t, "b.yaml", "a: [")
	if _, told, code := run(t, "", "--offline", "-f", "."); code != exitUsage || !strings.Contains(told, "b.yaml: yaml: ") {
		t.Errorf("exit code %d: %s", code, told)
	}
}
