// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// nothingWaitsInVain checks that each waiting workload does not fit, or waits behind one that does not.
func (w *world) nothingWaitsInVain() {
	sums, blocked := w.granted(), map[string]bool{}
	type waits struct {
		key, queue string
		cores      int64
	}
	var fitting []waits
	for key, o := range w.store[bindings] {
		rb := o.(*workv1alpha2.ResourceBinding)
		state := w.stateOf(rb)
		if state.Hold == nil || state.Finished {
			continue
		}
		template, replicas, each := w.templateOf(key)
		all := replicas * max(each, coresOfPod(state.Grant)) * w.copies(key)
		cores, queue := all, ""
		if state.Grant != nil {
			cores, queue = cores-coresGranted(state.Grant), state.Grant.Queue
		} else {
			queue = queueOf(template)
		}
		if state.Hold.Reason == binding.Returning {
			w.t.Errorf("%s is still being taken back", key)
		}
		fits, never := true, false
		for q := queue; q != ""; q = w.parents[q] {
			if limit := w.capabilities[q]; limit > 0 {
				fits = fits && sums[q]+cores <= limit
				never = never || all > limit
			}
		}
		switch {
		case fits:
			fitting = append(fitting, waits{key, queue, cores})
		case !never:
			for q := queue; q != ""; q = w.parents[q] {
				if limit := w.capabilities[q]; limit > 0 && sums[q]+cores > limit {
					blocked[q] = true
				}
			}
		}
	}
	for _, f := range fitting {
		behind := false
		for q := f.queue; q != ""; q = w.parents[q] {
			behind = behind || blocked[q]
		}
		if !behind || !w.strict() && f.cores > 0 {
			w.t.Errorf("%s waits for %d cores in queue %s, which has them: %v of %v are granted: %v\n%s", f.key, f.cores, f.queue, sums, w.capabilities, w.binding(f.key).Annotations, w.says())
		}
	}
}

// copies returns how many clusters may get all replicas of a workload that waits.
func (w *world) copies(key string) int64 {
	rb, placement := w.binding(key), w.policies[key]
	if divides(placement) {
		return 1
	}
	copies := len(placement.ClusterAffinity.ClusterNames)
	if len(placement.SpreadConstraints) > 0 {
		copies = 1
	}
	if binding.PlacementIsNew(rb) {
		copies = max(copies, len(rb.Spec.Clusters))
	}
	return int64(copies)
}

func (w *world) strict() bool {
	arguments, _ := w.config.Plugin("capacity")
	strict, _ := arguments.Bool("strictOrder", true)
	return strict
}

func queueOf(o object) string {
	pods := &corev1.PodTemplateSpec{}
	switch o := o.(type) {
	case *batchv1alpha1.Job:
		pods = &o.Spec.Tasks[0].Template
	case *appsv1.Deployment:
		pods = &o.Spec.Template
	}
	return pods.Annotations[volcanov1beta1.QueueNameAnnotationKey]
}
