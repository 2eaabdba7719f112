// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// minutes returns times a minute apart, the last of which is now.
func minutes(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = time.Now().Add(time.Duration(i-n+1) * time.Minute).UTC().Format(time.RFC3339)
	}
	return all
}

// texts returns what the cells of a row of the view say, without those that are drawn.
func (b *tab) texts(row string) string {
	b.Helper()
	return script[string](b, fmt.Sprintf(`[...[...document.querySelectorAll('#view tbody tr')].find((row) => row.innerText.includes(%q)).children].map((cell) => cell.innerText).join('|')`, row))
}

func TestTheClusterIsAboveTheTree(t *testing.T) {
	f := figures(h100, 4, 8)
	f["request"], f["either"] = "6", "3"
	s := newFakeScheduler(t)
	s.heads = map[string]object{"queues": {"cluster": []any{
		object{"kind": "Device", "name": h100, "total": "16", "used": "4", "free": "10", "largestFree": "6"},
		object{"kind": "Resource", "name": "cpu", "total": "64", "used": "1500m", "free": "62500m", "largestFree": "32"}}}}
	s.publish(map[string][]any{"queues": {queue("root", "", f)}})
	b := open(t, s.url, desktopWidth, desktopHeight)
	b.waitForText("The cluster")
	if got, want := b.texts(h100), h100+"|4|16|10|6"; got != want {
		t.Errorf("the cluster has %s, want %s", got, want)
	}
	if got, want := script[string](b, "document.querySelector('[data-queue=root] .number').textContent"), "4 / 8 (2 waiting, either: 3)"; got != want {
		t.Errorf("the queue has %s, want %s", got, want)
	}
	if !script[bool](b, "document.querySelector('.cluster').getBoundingClientRect().bottom <= document.querySelector('.tree').getBoundingClientRect().top") {
		t.Error("the cluster is not above the tree")
	}
	if strings.Contains(script[string](b, "document.getElementById('view').innerText"), "cpu") {
		t.Error("cpu is no device, and is shown")
	}
	script[bool](b, `(() => { const field = document.getElementById('dimension'); field.value = '*'; return field.dispatchEvent(new Event('input', {bubbles: true})); })()`)
	if got, want := b.texts("cpu"), "cpu|1.5|64|62.5|32"; got != want {
		t.Errorf("the cluster has %s, want %s", got, want)
	}
}

func TestNamesAreNotCut(t *testing.T) {
	const card = "NVIDIA-H100-80GB-HBM3/mps-40g*1/2"
	queues, parent := []any{}, ""
	for level := range 4 {
		name := fmt.Sprintf("organization-of-research-%d_large_models_%d", level, level)
		f := figures(card, 4, 8)
		f["kind"], f["request"], f["either"] = "Card", "6", "3"
		queues, parent = append(queues, queue(name, parent, f)), name
	}
	s := newFakeScheduler(t)
	s.publish(map[string][]any{"queues": queues})
	b := open(t, s.url, 1400, desktopHeight)
	b.waitForText(parent)
	for _, width := range []int64{1400, 1000, phoneWidth} {
		b.run(chromedp.EmulateViewport(width, desktopHeight))
		if got := script[string](b, `[...document.querySelectorAll('.name, .label, .number')].filter((place) => {
			const range = document.createRange();
			range.selectNodeContents(place);
			const [text, box] = [range.getBoundingClientRect(), place.getBoundingClientRect()];
			return text.right > box.right + 1 || text.bottom > box.bottom + 1 || box.right > innerWidth || getComputedStyle(place).textOverflow === 'ellipsis';
		}).map((place) => place.textContent).join(', ')`); got != "" {
			t.Errorf("at a width of %d, these are cut: %s", width, got)
		}
	}
}

func TestCloseIsBesideTheTitle(t *testing.T) {
	name := strings.Repeat("a-workload-with-a-long-name-", 4) + "of" + strings.Repeat("letters", 10)
	s := newFakeScheduler(t)
	s.explanation = object{"subject": object{"kind": "PodGroup", "namespace": "research", "name": name}, "state": "Waiting", "cause": object{"message": "no room"}}
	s.publish(map[string][]any{"workloads": {object{"namespace": "research", "name": name, "uid": "1", "queue": "llm", "waits": object{"message": "no room"}}}})
	b := open(t, s.url, desktopWidth, desktopHeight)
	b.show("waiting")
	b.run(chromedp.Click("#view td button", chromedp.ByQuery))
	b.waitFor("the explanation", "document.querySelector('#explanation h2') !== null")
	for _, width := range []int64{desktopWidth, 400} {
		b.run(chromedp.EmulateViewport(width, desktopHeight))
		if got := script[string](b, `(() => {
			const range = document.createRange();
			range.selectNodeContents(document.getElementById('explanation-title'));
			const [title, box, close] = [range, document.getElementById('explanation-title'), document.querySelector('#explanation .close')].map((one) => one.getBoundingClientRect());
			const free = [title, box].every((one) => one.right <= close.left || one.bottom <= close.top || one.top >= close.bottom);
			return free && close.right <= innerWidth && close.left > 0 ? '' : JSON.stringify([title, box, close]);
		})()`); got != "" {
			t.Errorf("at a width of %d, the button covers the title: %s", width, got)
		}
	}
	b.run(chromedp.Click("#explanation .close", chromedp.ByQuery))
	b.waitFor("the end of the explanation", "document.getElementById('explanation').hidden")
}

func TestTheHistoryHasAxesAndTheLimit(t *testing.T) {
	s := newFakeScheduler(t)
	s.heads = map[string]object{"history": {"times": minutes(31)}}
	values := make([]int, 31)
	values[30] = 4
	s.publish(map[string][]any{"queues": {queue("limited", "", figures(h100, 4, 8)), queue("free", "", figures(h100, 4, -1))}, "history": {
		object{"kind": "Device", "name": h100, "queue": "limited", "values": values}, object{"kind": "Device", "name": h100, "queue": "free", "values": values}}})
	b := open(t, s.url, desktopWidth, desktopHeight)
	b.show("history")
	b.waitForText("limited")
	for name, want := range map[string]string{
		"limited": "4,4,8 8 0 -60 min now M50.00 15.50 from 0 to 4, at most 4, limit 8",
		"free":    "4,4, 4 0 -60 min now M50.00 none from 0 to 4, at most 4",
	} {
		if got := script[string](b, fmt.Sprintf(`(() => {
			const row = [...document.querySelectorAll('#view tbody tr')].find((one) => one.cells[0].textContent === %q);
			const line = row.querySelector('.limit');
			return [[2, 3, 4].map((i) => row.cells[i].textContent).join(), ...['.top', '.zero', '.from', '.to'].map((place) => row.querySelector(place).textContent),
				row.querySelector('path').getAttribute('d').split(' ')[0], line ? row.querySelector('path').getAttribute('d').split(' ').at(-1) : 'none', row.querySelector('.spark').getAttribute('aria-label')].join(' ');
		})()`, name)); got != want {
			t.Errorf("the history of %s is %q, want %q", name, got, want)
		}
	}
	if got := script[string](b, "document.querySelector('.limit').getAttribute('y1')"); got != "1.00" {
		t.Errorf("the limit is drawn at %s, want 1.00, the top", got)
	}
}

func TestWhoWaitsLendsNothing(t *testing.T) {
	of := func(request, either string) object {
		f := figures(h100, 2, 8)
		f["deserved"], f["request"], f["either"] = "6", request, either
		return f
	}
	s := newFakeScheduler(t)
	s.publish(map[string][]any{"queues": {queue("content", "", of("2", "0")), queue("waiter", "", of("5", "0")), queue("chooser", "", of("2", "3"))}})
	b := open(t, s.url, desktopWidth, desktopHeight)
	b.show("elasticity")
	b.waitForText("waiter")
	for name, want := range map[string]string{"content": "lends 4|", "waiter": "waits, has not taken 4|3", "chooser": "waits, has not taken 4|either: 3"} {
		if got := b.texts(name); got != name+"|2|6|"+want {
			t.Errorf("the page says %s, want %s|2|6|%s", got, name, want)
		}
	}
}

func TestWorkloadsWithTheSameReasonAreTogether(t *testing.T) {
	waits := func(name, queue, wouldBe string) object {
		return object{"namespace": "team", "name": name, "uid": name, "queue": queue, "waits": object{"reason": "InsufficientScalarQuota", "message": "refuses " + name,
			"queue": "llm", "dimension": object{"kind": "Device", "name": h100}, "requested": "4", "wouldBe": wouldBe, "limit": "8"}}
	}
	s := newFakeScheduler(t)
	s.publish(map[string][]any{"workloads": {waits("a", "llm", "10"), waits("other", "nlp", "9"), waits("b", "llm", "11")}})
	b := open(t, s.url, desktopWidth, desktopHeight)
	b.show("waiting")
	b.waitForText("team/b")
	got := script[string](b, `[...document.querySelectorAll('#view tbody tr')].map((row) => row.querySelector('th, button').textContent + [...row.cells].slice(4).map((cell) => ' ' + cell.textContent).join('')).join('\n')`)
	want := "2 workloads wait in queue llm: InsufficientScalarQuota: no room for nvidia-h100 in queue llm, which may have 8\nteam/a 4 10\nteam/b 4 11\n" +
		"1 workload waits in queue nlp: InsufficientScalarQuota: refuses other\nteam/other 4 9"
	if got != want {
		t.Errorf("the page says\n%s\nwant\n%s", got, want)
	}
}
