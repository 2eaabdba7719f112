// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// shown is what the page shows of what its address says.
const shown = `[document.querySelector('nav a[aria-current]').textContent, document.getElementById('queue').value, document.getElementById('dimension').value,
	document.getElementById('namespace').value, document.getElementById('explanation-title')?.textContent ?? ''].join('|')`

func (b *tab) shows(what, want string) {
	b.Helper()
	b.waitFor(what+" to show "+want, fmt.Sprintf("%s === %q", shown, want))
}

func TestTheAddressSaysWhatIsFoundAndOpened(t *testing.T) {
	const card = "NVIDIA-H100-80GB-HBM3/mps-40g*1/2"
	f := figures(card, 1, 8)
	f["kind"] = "Card"
	s := newFakeScheduler(t)
	s.explanation = object{"subject": object{"kind": "PodGroup", "namespace": "mine", "name": "job"}, "state": "Waiting", "cause": object{"message": "no room"}}
	s.publish(map[string][]any{"queues": {queue("root", "", figures(h100, 4, 8), f)},
		"workloads": {object{"namespace": "mine", "name": "job", "uid": "1", "queue": "root", "waits": object{"message": "no room"}}}})
	b := open(t, s.url, desktopWidth, desktopHeight)
	b.waitForText(card)
	script[bool](b, fmt.Sprintf(`(() => { const field = document.getElementById('dimension'); field.value = %q; return field.dispatchEvent(new Event('input', {bubbles: true})); })()`, "Card/"+card))
	b.find("mine & root?")
	b.find("mine")
	b.show("waiting")
	b.run(chromedp.SendKeys("#namespace", "mine"+kb.Enter, chromedp.ByQuery))
	b.waitForText("mine/job")
	b.run(chromedp.Click("#view td button", chromedp.ByQuery))
	all := "Waiting|mine|Card/" + card + "|mine|PodGroup mine/job: Waiting"
	b.shows("the page", all)
	b.run(chromedp.Reload())
	b.shows("the page after a reload", all)
	address := script[string](b, "location.href")
	other := open(t, address, desktopWidth, desktopHeight)
	other.shows("a link", all)
	other.waitForText("mine/job")
	other.run(chromedp.KeyEvent(kb.Escape))
	other.shows("the link without the explanation", "Waiting|mine|Card/"+card+"|mine|")
	for _, want := range []string{"Waiting|mine|Card/" + card + "|mine|", "Waiting|mine|Card/" + card + "||", "Queues|mine|Card/" + card + "||", "Queues||||"} {
		script[bool](b, "history.back(), true")
		b.shows("Back", want)
	}
}

func TestAnAddressOfAnybodyIsHarmless(t *testing.T) {
	s := newFakeScheduler(t)
	s.explanation = object{"subject": object{"kind": "PodGroup", "namespace": "mine", "name": "job"}, "state": "Waiting"}
	s.publish(map[string][]any{"queues": {queue("root", "", figures(h100, 4, 8))}})
	hostile := url.QueryEscape(markup)
	for address, want := range map[string]string{
		"#elasticity":                       "Elasticity||||",
		"#constructor":                      "Queues||||",
		"#queues?explain=..%2Fpods%2F..":    "Queues||||",
		"#queues?explain=a%2Fsecrets%2Fb":   "Queues||||",
		"#queues?find=%ZZ&dimension=Card/x": "Queues|%ZZ|Card/x||",
		"#waiting?find=" + hostile + "&dimension=" + hostile + "&namespace=" + hostile: "Waiting|" + markup + "|" + markup + "|" + markup + "|",
	} {
		b := open(t, s.url+address, desktopWidth, desktopHeight)
		b.shows(address, want)
		if !script[bool](b, "window.harmed === undefined && document.querySelector('img, body script') === null") {
			t.Errorf("%s is taken for markup", address)
		}
	}
}
