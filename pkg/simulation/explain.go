// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// explain asks the scheduler why a workload waits. It asks about the PodGroup, and about a pod that waits for the same cause if there is one.
func (r *replay) explain(ctx context.Context, w *Workload) error {
	kind, name := groupKind, w.Group
	if name == "" {
		kind, name = w.Kind, w.Name
	}
	group, err := r.ask(ctx, kind, w.Namespace, name)
	if errors.Is(err, visibility.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	w.Explanations = []v1alpha1.Explanation{*group}
	if w.Why == nil {
		w.Why = group.Cause
	}
	if len(group.Pods) == 0 {
		return nil
	}
	// Other pods wait for this one.
	same := func(pods v1alpha1.PodsAnswer) bool {
		return group.Cause != nil && pods.Cause.Message == group.Cause.Message
	}
	pod, err := r.ask(ctx, "Pod", w.Namespace, group.Pods[max(0, slices.IndexFunc(group.Pods, same))].Example.Name)
	if err == nil {
		w.Explanations = append(w.Explanations, *pod)
	}
	if errors.Is(err, visibility.ErrNotFound) {
		return nil
	}
	return err
}

// ask asks a question and runs sessions until one has answered. These sessions change nothing, because the state is stable by then.
func (r *replay) ask(ctx context.Context, kind, namespace, name string) (*v1alpha1.Explanation, error) {
	type answer struct {
		explanation *v1alpha1.Explanation
		err         error
	}
	answers := make(chan answer, 1)
	go func() {
		explanation, err := r.plugins.Publisher().Explain(ctx, kind, namespace, name)
		answers <- answer{explanation, err}
	}()
	for {
		select {
		case a := <-answers:
			if a.err != nil && !errors.Is(a.err, visibility.ErrNotFound) {
				a.err = fmt.Errorf("explain %s %s/%s: %w", kind, namespace, name, a.err)
			}
			return a.explanation, a.err
		default:
			r.scheduler.RunOnce(ctx)
		}
	}
}
