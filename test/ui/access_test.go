// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// faint returns what has too little contrast, by the ratios of WCAG 2.1 (AA): 4.5 for text, and 3 for what is drawn.
const faint = `(() => {
	const light = (colour) => {
		const [r, g, b] = colour.match(/[\d.]+/g).map(Number).map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const contrast = (a, b) => { const [dark, bright] = [light(a), light(b)].sort((x, y) => x - y); return (bright + 0.05) / (dark + 0.05); };
	const style = (selector) => getComputedStyle(document.querySelector(selector));
	const back = style('body').backgroundColor;
	const found = ['body', '#time', '.label', '.tags', '.tags.bad', '.number', '.unlimited', '.legend']
		.filter((selector) => contrast(style(selector).color, back) < 4.5);
	return [...found, ...['.used', '.over', '.coming'].filter((part) => contrast(style('.bar ' + part).fill, style('.bar .back').fill) < 3)].join();
})()`

// colourful returns a queue that shows all colours.
func colourful() object {
	f := figures(h100, 6, 8)
	f["deserved"], f["inqueue"], f["request"] = "4", "1", "9"
	q := queue("colourful", "", f, figures("a100", 1, -1))
	q["problems"] = []any{object{"reason": "QuotaNotRead", "message": "the quota is not valid JSON"}}
	q["waitingPods"] = 1
	return q
}

func TestColoursAreStrongEnoughInBothSchemes(t *testing.T) {
	s := newFakeScheduler(t)
	s.publish(map[string][]any{"queues": {colourful()}})
	b := open(t, s.url, phoneWidth, phoneHeight)
	b.waitForText("colourful")
	for _, scheme := range []string{"light", "dark"} {
		b.run(prefer(scheme))
		if got := script[string](b, faint); got != "" {
			t.Errorf("%s: hard to see: %s", scheme, got)
		}
	}
}

func TestScreenReadersAreToldWhatIsWhat(t *testing.T) {
	s := newFakeScheduler(t)
	s.publish(map[string][]any{
		"queues":    {queue("root", ""), queue("a", "root", figures(h100, 1, 8)), queue("b", "root")},
		"workloads": {object{"namespace": "team", "name": "job", "uid": "1", "queue": "b", "waits": object{"message": "no room"}}},
	})
	b := open(t, s.url, phoneWidth, phoneHeight) // a layout for phones must not take the roles of a table away
	b.waitForText("root")
	for what, expression := range map[string]string{
		"a queue has its place in the tree": `(() => {
			const item = document.querySelector('[data-queue=b]');
			return ['aria-level', 'aria-posinset', 'aria-setsize'].map((name) => item.getAttribute(name)).join() === '2,2,2' && item.closest('[role=group]').closest('[role=treeitem]').dataset.queue === 'root';
		})()`,
		"one queue is in the order of the Tab key": "document.querySelectorAll('[role=treeitem][tabindex=\"0\"]').length === 1",
		"a bar has a text":                         "document.querySelector('[data-queue=a] .bar').getAttribute('aria-label') === 'nvidia-h100: allocated 1, limit 8'",
		"fields have labels":                       "[...document.querySelectorAll('input, select')].every((field) => field.labels.length === 1)",
		"the time is not read out each second":     "document.getElementById('time').closest('[role=status], [aria-live]') === null",
	} {
		if !script[bool](b, expression) {
			t.Errorf("not so: %s", what)
		}
	}
	b.show("waiting")
	b.waitForText("team/job")
	if !script[bool](b, "document.querySelector('#view td').matches('[role=table] [role=row] [role=cell]')") {
		t.Error("cells of a table are not told as such")
	}
}

func TestTheTreeIsOpenedByEnterAndKeepsTheFocus(t *testing.T) {
	s := newFakeScheduler(t)
	s.publish(map[string][]any{"queues": {queue("root", ""), queue("a", "root")}})
	b := open(t, s.url, desktopWidth, desktopHeight)
	b.waitForText("root")
	b.run(chromedp.Focus("#dimension", chromedp.ByQuery), chromedp.KeyEvent(kb.Tab))
	for _, want := range []string{"false", "true"} {
		b.run(chromedp.KeyEvent(kb.Enter))
		if got := script[string](b, "document.activeElement.dataset.queue + ' ' + document.activeElement.getAttribute('aria-expanded')"); got != "root "+want {
			t.Errorf("Enter leads to %s, want root %s", got, want)
		}
	}
}

// asked waits until the page asks for the namespace with a sentence, and has the focus there.
func (b *tab) asked(sentence string) {
	b.Helper()
	b.waitFor(sentence, fmt.Sprintf("!document.getElementById('ask').hidden && document.getElementById('ask').textContent.includes(%q)", sentence))
	if got := script[string](b, "[document.activeElement.id, document.getElementById('status').textContent, document.getElementById('problem').textContent].join('|')"); got != "namespace||" {
		b.Errorf("focus|status|problem is %s, want that of the namespace alone", got)
	}
}

func TestATenantIsAskedForTheNamespace(t *testing.T) {
	_, second := jobs(t)
	kubectl(t, "create", "serviceaccount", "tenant")
	kubectl(t, "create", "rolebinding", "tenant", "--clusterrole=edit", "--serviceaccount=default:tenant")
	t.Cleanup(func() { kubectlAfter(t, "delete", "serviceaccount/tenant", "rolebinding/tenant") })
	token := strings.TrimSpace(kubectl(t, "create", "token", "tenant"))
	b := open(t, cluster.direct+"#token="+token, desktopWidth, desktopHeight)
	b.waitForText("ml-team")
	b.show("holders")
	b.asked("You may not see the holders of all namespaces. Enter yours.")
	b.show("waiting")
	b.asked("You may not see the workloads of all namespaces. Enter yours.")
	b.run(chromedp.SendKeys("#namespace", "kube-system"+kb.Enter, chromedp.ByQuery))
	b.asked("You may not see the workloads of namespace kube-system. Enter one of yours.")
	script[string](b, "document.getElementById('namespace').value = ''")
	b.run(chromedp.SendKeys("#namespace", "default"+kb.Enter, chromedp.ByQuery))
	b.waitForText("default/" + second)
	b.waitFor("the end of the question", "document.getElementById('ask').hidden")
	for view, text := range map[string]string{"holders": "default/first", "history": "ml-team", "queues": "ml-team"} {
		b.show(view)
		b.waitForText(text)
	}
}

func TestWhoMaySeeNoQueuesSeesANamespace(t *testing.T) {
	s := newFakeScheduler(t)
	for _, resource := range []string{"queues", "workloads", "holders", "history", "updates"} {
		s.forbidden = append(s.forbidden, apiPath+resource)
	}
	holds := func(name string) []any {
		return []any{object{"kind": "Pod", "namespace": "mine", "name": name, "queue": "root", "state": "Holds", "charged": []any{object{"kind": "Device", "name": h100, "amount": "1"}}}}
	}
	s.publish(map[string][]any{"holders": holds("pod"),
		"workloads": {object{"namespace": "mine", "name": "job", "uid": "1", "queue": "root", "waits": object{"message": "no room"}}}})
	b := open(t, s.url, desktopWidth, desktopHeight)
	b.asked("You may not see the queues of the cluster.")
	b.run(chromedp.SendKeys("#namespace", "mine"+kb.Enter, chromedp.ByQuery))
	b.waitForText("mine/job")
	b.show("holders")
	b.waitForText("mine/pod")
	b.waitFor("the views that there are", "[...document.querySelectorAll('nav a:not([hidden])')].map((link) => link.textContent).join() === 'Waiting,Holders,History'")
	s.publish(map[string][]any{"holders": holds("newer")})
	b.waitForText("mine/newer") // without updates, the page reads now and then
	if got := script[string](b, "document.getElementById('status').textContent + document.getElementById('problem').textContent"); got != "" {
		t.Errorf("the page says %q", got)
	}
}
