// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	desktopWidth, desktopHeight = 1280, 900
	phoneWidth, phoneHeight     = 360, 740
)

var views = []string{"queues", "waiting", "holders", "elasticity", "history"}

// refusal is what the sample job second is told.
const refusal = "Queue <ml-team> has insufficient <nvidia-h100> quota: requested <4>, total would be <10>, but capability is <8>"

func TestThePageShowsQueuesAndFollowsThem(t *testing.T) {
	first, _ := jobs(t)
	b := open(t, cluster.page, desktopWidth, desktopHeight)
	b.waitForText("6 / 8")
	if path := script[string](b, `[...document.querySelectorAll('[data-queue="ml-team"]')].map((item) => item.getAttribute('aria-level')).join()`); path != "3" {
		t.Errorf("queue ml-team is on level %s of the tree, want 3", path)
	}
	label := script[string](b, `document.querySelector('[data-queue="ml-team"] .bar').getAttribute('aria-label')`)
	if !strings.Contains(label, "nvidia-h100: allocated 6") || !strings.Contains(label, "limit 8") {
		t.Errorf("the bar is read out as %q", label)
	}
	kubectl(t, "delete", "jobs.batch.volcano.sh", first, "--wait")
	b.waitForText("4 / 8") // the second job has started, and nobody has reloaded the page
}

func TestThePageSaysWhyAWorkloadWaits(t *testing.T) {
	first, second := jobs(t)
	b := open(t, cluster.page, desktopWidth, desktopHeight)
	b.show("waiting")
	b.waitForText(refusal)
	b.waitFor("the workload", fmt.Sprintf(`(() => {
		const second = [...document.querySelectorAll('#view td button')].find((button) => button.textContent === 'default/%s');
		second?.click();
		return second !== undefined;
	})()`, second))
	b.waitFor("the explanation", fmt.Sprintf("document.getElementById('explanation').innerText.includes(%q)", refusal))
	for _, part := range []string{"✗ Quota", "Who holds what is missing", "default/" + first + "-worker-0"} {
		if text := script[string](b, "document.getElementById('explanation').innerText"); !strings.Contains(text, part) {
			t.Errorf("the explanation lacks %q:\n%s", part, text)
		}
	}
	b.run(chromedp.KeyEvent(kb.Escape))
	b.waitFor("the end of the explanation", "document.getElementById('explanation').hidden")
}

func TestThePageShowsHolders(t *testing.T) {
	first, _ := jobs(t)
	b := open(t, cluster.page, desktopWidth, desktopHeight)
	b.show("holders")
	b.waitForText("default/" + first + "-worker-0")
	if rows := script[int](b, "document.querySelectorAll('#view tbody tr').length"); rows != 6 {
		t.Errorf("%d holders are shown, want 6", rows)
	}
	b.run(chromedp.SendKeys("#queue", "nobody", chromedp.ByQuery))
	b.waitForText("Nobody holds any of this.")
}

func TestTheTreeFollowsTheKeyboard(t *testing.T) {
	b := open(t, cluster.page, desktopWidth, desktopHeight)
	b.waitForText("ml-team")
	b.waitFor("the focus on root", `(() => { document.querySelector('[data-queue="root"]').focus(); return document.activeElement.dataset.queue === 'root'; })()`)
	active := func() string { return script[string](b, "document.activeElement.dataset.queue ?? ''") }
	b.run(chromedp.KeyEvent(kb.ArrowDown))
	first := active()
	if first == "root" || first == "" {
		t.Fatalf("the arrow goes to %q", first)
	}
	b.run(chromedp.KeyEvent(kb.Home))
	if got := active(); got != "root" {
		t.Errorf("Home goes to %q", got)
	}
	b.run(chromedp.KeyEvent(kb.ArrowLeft))
	b.waitFor("root to fold", `document.querySelector('[data-queue="root"]').getAttribute('aria-expanded') === 'false' && !document.querySelector('[data-queue="ml-team"]')`)
	if got := active(); got != "root" {
		t.Errorf("the focus is on %q after root has been folded", got)
	}
	b.run(chromedp.KeyEvent(kb.ArrowRight))
	b.waitFor("root to unfold", `document.querySelector('[data-queue="ml-team"]') !== null`)
}

func TestThePageFitsAPhone(t *testing.T) {
	jobs(t)
	b := open(t, cluster.page, phoneWidth, phoneHeight)
	b.waitForText("6 / 8")
	for _, view := range views {
		b.show(view)
		if width := script[int](b, "document.documentElement.scrollWidth"); width > phoneWidth {
			t.Errorf("view %s is %d wide on a screen of %d", view, width, phoneWidth)
		}
	}
}

func TestThePageIsLightOrDark(t *testing.T) {
	b := open(t, cluster.page, desktopWidth, desktopHeight)
	colour := func() string { return script[string](b, "getComputedStyle(document.body).backgroundColor") }
	b.run(prefer("light"))
	light := colour()
	b.run(prefer("dark"))
	dark := colour()
	if light == dark {
		t.Errorf("the page is %s whatever the user prefers", light)
	}
	b.run(chromedp.Click("#theme", chromedp.ByQuery))
	if got := colour(); got != light {
		t.Errorf("the button makes the page %s, want %s", got, light)
	}
	b.run(chromedp.Reload())
	if got := colour(); got != light {
		t.Errorf("the choice is forgotten: the page is %s, want %s", got, light)
	}
}

func TestThePageAsksForATokenIfNobodyIsKnown(t *testing.T) {
	kubectl(t, "create", "serviceaccount", "reader")
	t.Cleanup(func() { kubectlAfter(t, "delete", "serviceaccount", "reader") })
	token := strings.TrimSpace(kubectl(t, "create", "token", "reader"))
	b := open(t, cluster.direct, desktopWidth, desktopHeight)
	b.waitFor("the form", "!document.getElementById('login').hidden")
	b.run(chromedp.SendKeys("#token", token+kb.Enter, chromedp.ByQuery))
	b.waitForText("ml-team") // everybody who is authenticated sees the queues
	b.waitFor("the end of the form", "document.getElementById('login').hidden")
	b = open(t, cluster.direct+"#token="+token, desktopWidth, desktopHeight)
	b.waitForText("ml-team")
	if address := script[string](b, "location.href"); strings.Contains(address, "token") {
		t.Errorf("the token stays in the address %s", address)
	}
}
