// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for what the page shows.
const patience = 3 * time.Minute

// tab is a page in a browser of its own.
type tab struct {
	*testing.T
	ctx context.Context

	mu sync.Mutex
	// complaints are errors that the browser has logged: exceptions, and what the policy of the page forbids.
	complaints []string
}

// open opens an address in a new browser. When the test ends, it fails if the browser has logged errors.
func open(t *testing.T, address string, width, height int) *tab {
	t.Helper()
	// A sandbox needs rights that test machines do not give. Without the other options, Chromium talks to its vendor.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.IgnoreCertErrors, chromedp.WindowSize(width, height),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stopAllocator)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	b := &tab{T: t, ctx: ctx}
	chromedp.ListenTarget(ctx, b.listen)
	t.Cleanup(b.expectNoComplaints)
	if err := chromedp.Run(ctx); err != nil { // the browser lives as long as the context with which it is started
		t.Fatal(err)
	}
	b.run(log.Enable(), runtime.Enable(), chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate(address))
	return b
}

func (b *tab) listen(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text = e.ExceptionDetails.Error()
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError && !strings.Contains(e.Entry.Text, "401") && !strings.Contains(e.Entry.Text, "403") { // the browser logs each refused request
			text = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if text != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.complaints = append(b.complaints, text)
	}
}

func (b *tab) expectNoComplaints() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, complaint := range b.complaints {
		b.Errorf("the browser says: %s", complaint)
	}
}

// run fails the test if the page does not get where the actions wait for.
func (b *tab) run(actions ...chromedp.Action) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	if err := chromedp.Run(ctx, actions...); err != nil {
		var text string
		_ = chromedp.Run(b.ctx, chromedp.Text("body", &text, chromedp.ByQuery)) // for the message alone
		b.Fatalf("%v; the page says:\n%s", err, text)
	}
}

// script returns the value of a JavaScript expression.
func script[T any](b *tab, expression string) T {
	b.Helper()
	var value T
	b.run(chromedp.Evaluate(expression, &value))
	return value
}

// waitFor waits until a JavaScript expression is true.
func (b *tab) waitFor(what, expression string) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	if err := chromedp.Run(ctx, chromedp.Poll(expression, nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(patience))); err != nil {
		var text string
		_ = chromedp.Run(b.ctx, chromedp.Text("body", &text, chromedp.ByQuery)) // for the message alone
		b.Fatalf("waiting for %s: %v; the page says:\n%s", what, err, text)
	}
}

// prefer makes the browser say which colours its user prefers.
func prefer(scheme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
}

// waitForText waits until the view has a text.
func (b *tab) waitForText(text string) {
	b.Helper()
	b.waitFor(fmt.Sprintf("%q", text), fmt.Sprintf("document.getElementById('view').innerText.includes(%q)", text))
}

// show switches to a view.
func (b *tab) show(view string) {
	b.Helper()
	b.run(chromedp.Click(fmt.Sprintf(`nav a[href^="#%s"]`, view), chromedp.ByQuery))
	b.waitFor("view "+view, fmt.Sprintf(`document.querySelector('nav a[aria-current="page"]')?.hash.split('?')[0] === '#%s'`, view))
}
