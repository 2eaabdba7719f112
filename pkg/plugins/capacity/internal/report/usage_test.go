// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestUsage(t *testing.T) {
	counter := demand.NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false })
	dimension := func(kind ledger.Kind, name, capacity string) ledger.Ordinal {
		return counter.Dimensions.Ordinal(ledger.Dimension{Kind: kind, Name: name, Capacity: capacity})
	}
	h100, a100 := dimension(ledger.DeviceCount, "h100", ""), dimension(ledger.DeviceCount, "a100", "")
	memory, card := dimension(ledger.DeviceCapacity, "h100", "memory"), dimension(ledger.Card, "H100", "")
	var many []ledger.Ordinal
	for i := range 7 {
		many = append(many, dimension(ledger.DeviceCount, fmt.Sprint("c", i), ""))
	}
	units := func(n int64, os ...ledger.Ordinal) ledger.Amounts {
		var all ledger.Amounts
		for _, o := range os {
			all = append(all, ledger.Entry{Dimension: o, Amount: ledger.Units(n)})
		}
		return all
	}
	for _, c := range []struct {
		name                    string
		limits, held, requested ledger.Amounts
		devices, cards          string
	}{
		{name: "nothing is limited or used"},
		{name: "a limit", limits: units(8, h100), devices: "h100 0/8"},
		{name: "a limit of zero", limits: units(0, h100), devices: "h100 0/0"},
		{name: "use without a limit", held: units(2, h100), requested: units(2, h100), devices: "h100 2"},
		{name: "use and demand", limits: units(8, h100, card), held: units(6, h100, card), requested: units(8, h100, card), devices: "h100 6/8 (2 waiting)", cards: "H100 6/8 (2 waiting)"},
		{name: "demand for what must not be used", limits: units(0, h100), requested: units(1, h100), devices: "h100 0/0 (1 waiting)"},
		{name: "what is held by nobody's request", held: units(1, h100), devices: "h100 1"},
		{name: "several classes, by name", limits: units(8, h100, a100, memory), devices: "a100 0/8, h100 0/8"},
		{name: "many classes", limits: units(1, many...), devices: "c0 0/1, c1 0/1, c2 0/1, c3 0/1, c4 0/1, and 2 more"},
	} {
		f := newFixture(t)
		accounts := f.accounts(counter, "q", c.limits, c.held)
		if err := accounts.Ledger.Add(0, ledger.Request, c.requested); err != nil {
			t.Fatal(err)
		}
		if got, want := usageOf(accounts, 0), (Usage{Devices: c.devices, Cards: c.cards}); got != want {
			t.Errorf("%s: usage is %q, want %q", c.name, got, want)
		}
	}
}

func TestUsageIsHandedOverWhenItIsCompleteAndNew(t *testing.T) {
	f := newFixture(t)
	f.queue("handed")
	counter := demand.NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false })
	h100 := counter.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: "h100"})
	f.Usage = &UsageWriter{}
	for _, session := range []struct {
		name     string
		devices  int64
		complete bool
		want     map[string]Usage
	}{
		{"claims are still being read", 1, false, map[string]Usage{}},
		{"everything has been read", 1, true, map[string]Usage{"handed": {Devices: "h100 1"}}},
		{"nothing has changed", 1, true, map[string]Usage{}},
		{"a pod comes", 2, true, map[string]Usage{"handed": {Devices: "h100 2"}}},
	} {
		accounts := f.accounts(counter, "handed", nil, ledger.Amounts{{Dimension: h100, Amount: ledger.Units(session.devices)}})
		accounts.Complete, f.Usage.wanted = session.complete, nil
		f.Metrics(accounts)
		if !maps.Equal(f.Usage.wanted, session.want) {
			t.Errorf("%s: handed over is %v, want %v", session.name, f.Usage.wanted, session.want)
		}
	}
	delete(f.queues, "handed")
	f.Metrics(f.accounts(counter, "handed", nil, nil))
	if len(f.Usage.wanted) != 0 {
		t.Errorf("the queue is gone, but the writer has %v", f.Usage.wanted)
	}
}

// server has the annotations of queues, and applies merge patches to them.
type server struct {
	*UsageWriter
	queues  map[string]*schedulingv1beta1.Queue
	failure error
	patched []string
}

func newServer(queues ...string) *server {
	s := &server{queues: map[string]*schedulingv1beta1.Queue{}}
	for _, name := range queues {
		s.queues[name] = &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"example.com/team": "ml"}}}
	}
	s.UsageWriter = &UsageWriter{
		Annotations: func(queue string) (map[string]string, bool) {
			if s.queues[queue] == nil {
				return nil, false
			}
			return s.queues[queue].Annotations, true
		},
		Patch: func(_ context.Context, queue string, patch []byte) error {
			s.patched = append(s.patched, queue)
			var change struct {
				Metadata struct{ Annotations map[string]*string }
			}
			if err := errors.Join(json.Unmarshal(patch, &change), s.failure); err != nil {
				return err
			}
			for key, value := range change.Metadata.Annotations {
				if value == nil {
					delete(s.queues[queue].Annotations, key)
				} else {
					s.queues[queue].Annotations[key] = *value
				}
			}
			return nil
		},
	}
	return s
}

func (s *server) annotations(queue string) string {
	var all []string
	for key, value := range s.queues[queue].Annotations {
		all = append(all, key+"="+value)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

func TestUsageIsWrittenOnlyWhenItDiffers(t *testing.T) {
	s := newServer("a", "b")
	for _, step := range []struct {
		name    string
		do      func()
		patched string
		want    string
	}{
		{"nothing is known", func() {}, "[]", "example.com/team=ml"},
		{"devices are used", func() { s.Set("a", Usage{Devices: "h100 1/8"}) }, "[a]", "example.com/team=ml; volcano.sh/device.usage=h100 1/8"},
		{"nothing has changed", func() { s.Set("a", Usage{Devices: "h100 1/8"}) }, "[]", "example.com/team=ml; volcano.sh/device.usage=h100 1/8"},
		{"cards are used, too", func() { s.Set("a", Usage{Devices: "h100 1/8", Cards: "H100 2"}) }, "[a]", "example.com/team=ml; volcano.sh/card.usage=H100 2; volcano.sh/device.usage=h100 1/8"},
		{"somebody edits it", func() { s.queues["a"].Annotations[schedulingv1beta1.CardUsageAnnotation] = "9" }, "[a]", "example.com/team=ml; volcano.sh/card.usage=H100 2; volcano.sh/device.usage=h100 1/8"},
		{"no devices are used any more", func() { s.Set("a", Usage{Cards: "H100 2"}) }, "[a]", "example.com/team=ml; volcano.sh/card.usage=H100 2"},
		{"a queue is gone", func() { s.Set("gone", Usage{Cards: "H100 2"}) }, "[]", "example.com/team=ml; volcano.sh/card.usage=H100 2"},
		{"a queue is forgotten", func() { s.Set("b", Usage{Cards: "H100 2"}); s.Forget("b") }, "[]", "example.com/team=ml; volcano.sh/card.usage=H100 2"},
	} {
		s.patched = nil
		step.do()
		if err := s.Write(t.Context()); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if got := fmt.Sprint(s.patched); got != step.patched || s.annotations("a") != step.want {
			t.Errorf("%s: patched are %s, want %s; annotations are %q, want %q", step.name, got, step.patched, s.annotations("a"), step.want)
		}
	}
}

func TestUsageIsWrittenAgainAfterAFailure(t *testing.T) {
	s := newServer("a", "b")
	s.Set("a", Usage{Devices: "h100 1"})
	s.Set("b", Usage{Devices: "h100 1"})
	s.failure = errors.New("forbidden")
	if err := s.Write(t.Context()); err == nil || !strings.HasSuffix(err.Error(), ": forbidden") || len(s.patched) != 1 {
		t.Errorf("error %v after %v, want the first failure only", err, s.patched)
	}
	s.failure = apierrors.NewNotFound(schedulingv1beta1.Resource("queues"), "a")
	if err := s.Write(t.Context()); err != nil {
		t.Errorf("queues that are gone are an error: %v", err)
	}
	s.failure = nil
	if err := s.Write(t.Context()); err != nil || s.annotations("a") != s.annotations("b") || !strings.Contains(s.annotations("a"), "h100 1") {
		t.Errorf("error %v; annotations are %q and %q", err, s.annotations("a"), s.annotations("b"))
	}
}

// TestAQueueThatCannotBeWrittenKeepsNobodyElseWaiting: a webhook may refuse one queue for ever.
func TestAQueueThatCannotBeWrittenKeepsNobodyElseWaiting(t *testing.T) {
	queues := []string{"refused", "a", "b", "c", "d", "e"}
	s := newServer(queues...)
	patch := s.Patch
	s.Patch = func(ctx context.Context, queue string, data []byte) error {
		if queue == "refused" {
			return apierrors.NewForbidden(schedulingv1beta1.Resource("queues"), queue, errors.New("denied by a webhook"))
		}
		return patch(ctx, queue, data)
	}
	for _, queue := range queues {
		s.Set(queue, Usage{Devices: "h100 1"})
	}
	if err := s.Write(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("the error is %v", err)
	}
	if len(s.patched) != len(queues)-1 {
		t.Errorf("written are %v", s.patched)
	}
}
