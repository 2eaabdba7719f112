// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingscheme "volcano.sh/apis/pkg/apis/scheduling/scheme"
	vcv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"

	"github.com/devicequota/devicequota/pkg/readiness"
	"github.com/devicequota/devicequota/pkg/spent"
)

// statusWriters is the maximum number of concurrent writes of conditions.
const statusWriters = 8

// StatusWriter writes the conditions that the session itself does not write. It writes in the background, so sessions
// do not wait for the API server. It does not retry: the next session asks again if a condition is missing.
type StatusWriter struct {
	kube    kubernetes.Interface
	volcano vcclient.Interface
	queue   workqueue.TypedInterface[types.UID]
	workers sync.WaitGroup

	mu sync.Mutex
	// pending has the writes to do.
	pending map[types.UID]write
	// asked has the last request for each object. A request that is still in progress is not repeated.
	asked map[types.UID]ask
	spent spent.Versions
	// failing has the last failures, by kind of write.
	failing map[string]failure
	// session counts the sessions.
	session int
}

// write is one write of an object.
type write struct {
	// what describes the written data.
	what string
	// version is the resourceVersion of the object that it changes.
	version string
	// do returns the resourceVersion of the written object.
	do func(context.Context) (string, error)
}

// failure is the reason why writes fail, and the last session in which one failed.
type failure struct {
	reason  metav1.StatusReason
	session int
}

// ask is a request, and the last session that made it.
type ask struct {
	version, text string
	session       int
}

// NewStatusWriter starts a writer. It ends when ctx ends.
func NewStatusWriter(ctx context.Context, kube kubernetes.Interface, volcano vcclient.Interface) *StatusWriter {
	w := newStatusWriter(kube, volcano)
	context.AfterFunc(ctx, w.queue.ShutDown)
	for range statusWriters {
		w.workers.Go(func() {
			for w.writeNext(ctx) {
			}
		})
	}
	return w
}

func newStatusWriter(kube kubernetes.Interface, volcano vcclient.Interface) *StatusWriter {
	return &StatusWriter{
		kube: kube, volcano: volcano, queue: workqueue.NewTyped[types.UID](),
		pending: map[types.UID]write{}, asked: map[types.UID]ask{}, failing: map[string]failure{},
	}
}

// Shutdown waits until all writes have ended. The context passed to NewStatusWriter must have ended.
func (w *StatusWriter) Shutdown() { w.workers.Wait() }

// pod writes a condition of a pod, unless the pod has changed since.
func (w *StatusWriter) pod(pod *corev1.Pod, condition corev1.PodCondition) {
	namespace, name := pod.Namespace, pod.Name
	w.submit(pod.UID, condition.Message, write{"conditions of pods", pod.ResourceVersion, func(ctx context.Context) (string, error) {
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
			"status":   map[string]any{"conditions": []corev1.PodCondition{condition}},
		})
		if err != nil {
			return "", err
		}
		written, err := w.kube.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil {
			return "", err
		}
		return written.ResourceVersion, nil
	}})
}

// podGroup writes a PodGroup, unless it has changed since. Its status is not a subresource.
func (w *StatusWriter) podGroup(group *scheduling.PodGroup) {
	out := &vcv1beta1.PodGroup{}
	if err := schedulingscheme.Scheme.Convert(group, out, nil); err != nil {
		klog.ErrorS(err, "Failed to convert a PodGroup", "podGroup", klog.KObj(group))
		return
	}
	out = out.DeepCopy() // the conversion shares the conditions, which the next session overwrites
	w.submit(group.UID, wording(group.Status), write{"conditions of PodGroups", group.ResourceVersion, func(ctx context.Context) (string, error) {
		written, err := w.volcano.SchedulingV1beta1().PodGroups(out.Namespace).Update(ctx, out, metav1.UpdateOptions{})
		if err != nil {
			return "", err
		}
		return written.ResourceVersion, nil
	}})
}

// wording returns the parts of a status that matter to users, without the session and the times.
func wording(status scheduling.PodGroupStatus) string {
	status.Conditions = slices.Clone(status.Conditions)
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.TransitionID, c.LastTransitionTime = "", metav1.Time{}
	}
	return fmt.Sprint(status)
}

func (w *StatusWriter) submit(id types.UID, text string, write write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.asked[id]
	if w.spent.Has(id, write.version) {
		delete(w.asked, id)
		return
	}
	w.asked[id] = ask{write.version, text, w.session}
	if last.version == write.version && last.text == text {
		return
	}
	w.pending[id] = write
	w.queue.Add(id)
}

// end ends a session. It forgets requests that the session did not make, and failures that no longer occur.
func (w *StatusWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.asked, func(_ types.UID, last ask) bool { return last.session != w.session })
	w.spent.Forget()
	maps.DeleteFunc(w.failing, func(_ string, last failure) bool { return last.session != w.session })
	w.session++
}

// writeNext reports whether there may be more to write.
func (w *StatusWriter) writeNext(ctx context.Context) bool {
	id, shutDown := w.queue.Get()
	if shutDown || ctx.Err() != nil {
		return false
	}
	defer w.queue.Done(id)
	w.mu.Lock()
	next, found := w.pending[id]
	delete(w.pending, id)
	w.mu.Unlock()
	if !found {
		return true
	}
	version, err := next.do(ctx)
	w.spent.Note(id, next.version, version, err)
	if err != nil && ctx.Err() == nil {
		w.failed(id, next.what, err)
	}
	return true
}

// failed lets the next session ask again. It logs a new reason of failure once: without a permission, all writes fail in each session.
func (w *StatusWriter) failed(id types.UID, what string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.asked, id)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return
	}
	reason := apierrors.ReasonForError(err)
	if last, fails := w.failing[what]; !fails || last.reason != reason {
		klog.ErrorS(nil, "Failed to write why something waits", "failure", readiness.Explain(what+" cannot be written", err))
	}
	w.failing[what] = failure{reason, w.session}
}
