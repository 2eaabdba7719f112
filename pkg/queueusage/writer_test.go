// SPDX-License-Identifier: Apache-2.0

package queueusage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// server holds the annotations of queues, and applies merge patches to them.
type server struct {
	*Writer
	queues  map[string]*schedulingv1beta1.Queue
	failure error
	patched []string
}

func newServer(queues ...string) *server {
	s := &server{queues: map[string]*schedulingv1beta1.Queue{}}
	for _, name := range queues {
		s.queues[name] = &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"example.com/team": "ml"}}}
	}
	s.Writer = &Writer{
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

// TestAQueueThatCannotBeWrittenKeepsNobodyElseWaiting covers a webhook that refuses one queue forever.
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
