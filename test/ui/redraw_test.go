// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	// visible counts the queues that the tree shows.
	visible = `document.querySelectorAll('[role=treeitem]').length`
	// count counts changes of the view from now on.
	count = `window.changes = 0; new MutationObserver((changes) => { window.changes += changes.length; })
		.observe(document.getElementById('view'), {subtree: true, childList: true, attributes: true, characterData: true}); true`
)

// find types into the field that searches.
func (b *tab) find(text string) {
	b.Helper()
	script[bool](b, fmt.Sprintf(`(() => {
		const field = document.getElementById('queue');
		field.value = %q;
		return field.dispatchEvent(new Event('input', {bubbles: true}));
	})()`, text))
}

// waitForReads waits until the page has read a list so often, and has drawn all of them but the last.
func (s *fakeScheduler) waitForReads(t *testing.T, resource string, reads int) {
	t.Helper()
	for deadline := time.Now().Add(patience); s.read(resource) < reads; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the page has read %s %d times, want %d", resource, s.read(resource), reads)
		}
	}
}

func TestOneThousandQueuesStayUsable(t *testing.T) {
	s := newFakeScheduler(t)
	s.publish(map[string][]any{"queues": organization(3)})
	b := open(t, s.url, desktopWidth, desktopHeight)
	b.waitForText("division-9")
	if got := script[int](b, visible); got != 11 {
		t.Errorf("%d queues are open at first, want root and the divisions", got)
	}
	b.find("division-4-team-2")
	if got := script[int](b, visible); got != 12 {
		t.Errorf("%d queues are shown, want the team, its 9 projects, and the 2 queues above it", got)
	}
	b.find("")
	if got := script[int](b, visible); got != 11 {
		t.Errorf("%d queues are open after the search, want 11 as before", got)
	}
	script[bool](b, `window.long = []; new PerformanceObserver((list) => window.long.push(...list.getEntries().map((task) => task.duration))).observe({type: 'longtask'}); true`)
	for script[bool](b, `(() => {
		const closed = [...document.querySelectorAll('[aria-expanded=false] > .row > .name')];
		closed.forEach((name) => name.click());
		return closed.length > 0;
	})()`) {
		if got := script[int](b, visible); got > 1011 {
			t.Fatalf("%d queues are shown", got)
		}
	}
	if got := script[int](b, visible); got != 1011 {
		t.Errorf("%d queues are shown, want all 1,011", got)
	}

	script[bool](b, count)
	reads := s.read("queues")
	for i := range 3 {
		s.publish(nil)
		s.waitForReads(t, "queues", reads+i+1)
	}
	if got := script[int](b, "window.changes"); got != 0 {
		t.Errorf("%d changes of the page although nothing has changed", got)
	}
	script[bool](b, `document.querySelector('[data-queue=division-7]').isTheSame = true; window.long = []; true`)
	s.publish(map[string][]any{"queues": organization(4)})
	b.waitForText("4 / 8")
	if !script[bool](b, `document.querySelector('[data-queue=division-7]').isTheSame === true`) {
		t.Error("rows are made anew")
	}
	t.Logf("1,010 queues that change are %d changes of %d elements, in tasks of %v ms", script[int](b, "window.changes"),
		script[int](b, "document.querySelectorAll('*').length"), script[[]float64](b, "window.long"))
}

func TestLongListsShowTheirBeginning(t *testing.T) {
	var holders, queues []any
	queues = append(queues, queue("root", ""))
	for i := range 1000 {
		queues = append(queues, queue(fmt.Sprintf("flat-%03d", i), "root", figures(h100, i, -1)))
		holders = append(holders, object{"kind": "Pod", "namespace": "team", "name": fmt.Sprintf("pod-%d", i), "queue": "root", "state": "Holds",
			"charged": []any{object{"kind": "Device", "name": h100, "amount": "1"}}})
	}
	s := newFakeScheduler(t)
	s.publish(map[string][]any{"queues": queues, "holders": holders})
	b := open(t, s.url, desktopWidth, desktopHeight)
	b.waitForText("200 of 1000")
	b.run(chromedp.Click(".more", chromedp.ByQuery))
	b.waitForText("400 of 1000")
	if got := script[int](b, visible); got != 401 {
		t.Errorf("%d queues are shown, want root and 400", got)
	}
	b.find("flat-999")
	if got := script[int](b, visible); got != 2 {
		t.Errorf("%d queues are found, want one and root", got)
	}
	b.find("pod-777")
	b.show("holders")
	b.waitForText("team/pod-777")
	if got := script[int](b, "document.querySelectorAll('#view tbody tr').length"); got != 1 {
		t.Errorf("%d holders are found", got)
	}
	b.find("")
	if got := script[int](b, "document.querySelectorAll('#view tbody tr').length"); got != 200 {
		t.Errorf("%d holders are shown, want the first 200", got)
	}
}

func TestWhatPeopleDoSurvivesPublications(t *testing.T) {
	tree := func(allocated int, more ...any) []any {
		all := append([]any{queue("root", "", figures(h100, allocated, 80)), queue("folds", "root"), queue("hides", "folds")}, more...)
		for i := range 30 {
			all = append(all, queue(fmt.Sprintf("team-%02d", i), "root", figures(h100, allocated, 8)))
		}
		return all
	}
	s := newFakeScheduler(t)
	s.publish(map[string][]any{"queues": tree(3)})
	b := open(t, s.url, desktopWidth, 400)
	b.waitForText("hides")
	b.run(chromedp.Click("[data-queue=folds] .name", chromedp.ByQuery))
	script[bool](b, `(() => {
		window.focused = document.querySelector('[data-queue=team-20]');
		focused.scrollIntoView();
		focused.focus({preventScroll: true});
		window.top0 = focused.getBoundingClientRect().top;
		const range = document.createRange();
		range.selectNodeContents(document.querySelector('[data-queue=team-21] .number'));
		getSelection().removeAllRanges();
		getSelection().addRange(range);
		return true;
	})()`)
	s.publish(map[string][]any{"queues": tree(4, queue("comes", "root"))})
	b.waitForText("4 / 80")
	b.waitForText("comes")
	for what, expression := range map[string]string{
		"the focus":                  "document.activeElement === focused",
		"the selection":              "String(getSelection()) === '4 / 8'",
		"what is folded":             "document.querySelector('[data-queue=folds]').getAttribute('aria-expanded') === 'false' && !document.querySelector('[data-queue=hides]')",
		"what is seen on the screen": "Math.abs(focused.getBoundingClientRect().top - top0) < 60",
	} {
		if !script[bool](b, expression) {
			t.Errorf("%s is lost", what)
		}
	}
	waits := func(names ...string) (all []any) {
		for _, name := range names {
			all = append(all, object{"namespace": "team", "name": name, "uid": name, "queue": "root", "waits": object{"message": "no room"}})
		}
		return all
	}
	s.publish(map[string][]any{"workloads": waits("b", "c")})
	b.show("waiting")
	b.waitForText("team/c")
	script[bool](b, `(() => { window.focused = [...document.querySelectorAll('td button')].find((button) => button.textContent === 'team/c'); focused.focus(); return true; })()`)
	s.publish(map[string][]any{"workloads": waits("a", "c", "d")})
	b.waitForText("team/d")
	if !script[bool](b, "document.activeElement === focused && focused.textContent === 'team/c'") {
		t.Error("the focus on a workload is lost when others come and go")
	}
}

func TestAQueueWithoutALimitHasABarOnlyIfItDeservesSomething(t *testing.T) {
	deserves := figures("a100", 3, -1)
	deserves["deserved"] = "4"
	s := newFakeScheduler(t)
	s.publish(map[string][]any{"queues": []any{queue("free", "", figures(h100, 6, -1), deserves, figures("l40s", 2, 8))}})
	b := open(t, s.url, desktopWidth, desktopHeight)
	b.waitForText("free")
	for class, want := range map[string]string{h100: "6 no limit", "a100": "3 75%", "l40s": "2 / 8 25%"} {
		if got := script[string](b, fmt.Sprintf(`(() => {
			const figure = [...document.querySelectorAll('.figure')].find((f) => f.querySelector('.label').textContent === %q);
			return figure.querySelector('.number').textContent + ' ' + (figure.querySelector('.used')?.getAttribute('width') ?? figure.querySelector('.unlimited').textContent);
		})()`, class)); got != want {
			t.Errorf("%s: %s, want %s", class, got, want)
		}
	}
}
