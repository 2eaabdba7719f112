// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/admission"
)

const (
	bindings    = "resourcebindings"
	works       = "works"
	clusters    = "clusters"
	queues      = "queues"
	jobs        = "jobs.batch.volcano.sh"
	deployments = "deployments"
)

// object is an object in the simulated API server.
type object interface {
	runtime.Object
	metav1.Object
}

// world is a control plane in one goroutine: an API server, Karmada, member clusters, and dispatchers with late informers. All
// random choices depend on the seed.
type world struct {
	t    *testing.T
	rand *rand.Rand
	// mu guards requests of informers, which start concurrently.
	mu sync.Mutex
	// clock is the time of the world.
	clock   time.Time
	config  *framework.Config
	version int
	// store has the objects by resource and namespace/name.
	store map[string]map[string]object
	// replicas are the dispatchers. Leads is the index of the leader.
	replicas []*replica
	leads    int
	// observer decides nothing. It tells what a dispatcher charges that has seen everything. It is nil if nobody asks.
	observer *replica
	// faulty says that requests of dispatchers may get lost.
	faulty bool
	// restless is how often users and Karmada move workloads, in percent of the steps.
	restless int
	// tooLarge is called once when a binding becomes too large. It may be nil.
	tooLarge func()
	// looks says that dispatchers may look at members.
	looks bool
	karmada
	ledgers
	log []string
}

func newWorld(t *testing.T, seed uint64, config *framework.Config) *world {
	w := &world{t: t, clock: noon, rand: rand.New(rand.NewPCG(seed, 1)), config: config, store: map[string]map[string]object{}, karmada: newKarmada()}
	w.unrecorded = map[types.UID]bool{}
	for _, resource := range []string{bindings, works, clusters, queues, jobs, deployments} {
		w.store[resource] = map[string]object{}
	}
	return w
}

func (w *world) sleep(d time.Duration) { w.clock = w.clock.Add(d) }

// condition returns a condition that holds since now.
func (w *world) condition(of string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: of, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(w.clock)}
}

func (w *world) chance(percent int) bool { return w.rand.IntN(100) < percent }

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, w.clock.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func keyOf(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// pick returns the key of a random object, empty if there is none.
func (w *world) pick(resource string) string {
	keys := slices.Sorted(maps.Keys(w.store[resource]))
	if len(keys) == 0 {
		return ""
	}
	return keys[w.rand.IntN(len(keys))]
}

// put stores an object or a new version of it. Dispatchers see it later.
func (w *world) put(resource string, o object) {
	w.version++
	kind := watch.Modified
	if w.store[resource][keyOf(o)] == nil {
		kind = watch.Added
		if o.GetUID() == "" {
			o.SetUID(types.UID("uid-" + strconv.Itoa(w.version)))
		}
		o.SetCreationTimestamp(metav1.NewTime(w.clock))
	}
	o.SetResourceVersion(strconv.Itoa(w.version))
	if resource != bindings && resource != works {
		o.SetGeneration(int64(w.version))
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		w.remove(resource, o)
		return
	}
	w.store[resource][keyOf(o)] = o
	w.publish(resource, kind, o)
}

func (w *world) remove(resource string, o object) {
	w.version++
	delete(w.store[resource], keyOf(o))
	gone := o.DeepCopyObject().(object)
	gone.SetResourceVersion(strconv.Itoa(w.version))
	w.publish(resource, watch.Deleted, gone)
}

// drop deletes an object when it has no finalizers.
func (w *world) drop(resource, key string) {
	o := w.store[resource][key].DeepCopyObject().(object)
	if o.GetDeletionTimestamp() == nil {
		now := metav1.NewTime(w.clock)
		o.SetDeletionTimestamp(&now)
		w.put(resource, o)
	}
}

func (w *world) publish(resource string, kind watch.EventType, o object) {
	for _, r := range append(w.replicas[:len(w.replicas):len(w.replicas)], w.observer) {
		if r == nil {
			continue
		}
		r.late[resource] = append(r.late[resource], watch.Event{Type: kind, Object: o.DeepCopyObject()})
	}
}

func (w *world) binding(key string) *workv1alpha2.ResourceBinding {
	rb, _ := w.store[bindings][key].(*workv1alpha2.ResourceBinding)
	return rb
}

var errUnanswered = errors.New("connection reset by peer")

// etcdTakes is how many bytes of an object etcd stores.
const etcdTakes = 3 << 19

// patch acts as the API server on a merge patch of a dispatcher. The webhooks do not apply to it.
func (w *world) patch(key string, text []byte) (*workv1alpha2.ResourceBinding, error) {
	if w.faulty && w.chance(2) {
		return nil, errUnanswered
	}
	rb := w.binding(key)
	resource := workv1alpha2.Resource(bindings)
	if rb == nil {
		return nil, apierrors.NewNotFound(resource, key)
	}
	before, _ := json.Marshal(rb)
	after, err := jsonpatch.MergePatch(before, text)
	next := &workv1alpha2.ResourceBinding{}
	if err == nil {
		err = json.Unmarshal(after, next)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if next.ResourceVersion != rb.ResourceVersion {
		return nil, apierrors.NewConflict(resource, key, errors.New("it has changed"))
	}
	if response := w.admit(dispatcherUser, admission.BindingsPath, "UPDATE", rb, next); !response.Allowed {
		return nil, apierrors.NewForbidden(resource, key, errors.New(response.Result.Message))
	}
	if len(after) > etcdTakes {
		if then := w.tooLarge; then != nil {
			w.tooLarge = nil
			then()
		}
		return nil, apierrors.NewInternalError(errors.New("etcdserver: request is too large"))
	}
	w.save(next)
	if w.faulty && w.chance(2) {
		return nil, errUnanswered
	}
	return next.DeepCopy(), nil
}

// save stores a binding.
func (w *world) save(rb *workv1alpha2.ResourceBinding) {
	if before := w.binding(keyOf(rb)); before != nil {
		a, _ := json.Marshal(before.Spec)
		b, _ := json.Marshal(rb.Spec)
		if string(a) != string(b) {
			rb.Generation++
		}
	}
	w.put(bindings, rb)
}

func cut(key string) (namespace, name string, found bool) { return strings.Cut(key, "/") }

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

// applied returns a binding after the patch of a webhook.
func applied(t *testing.T, rb *workv1alpha2.ResourceBinding, patch []byte) *workv1alpha2.ResourceBinding {
	t.Helper()
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	after, err := p.Apply(must(json.Marshal(rb)))
	if err != nil {
		t.Fatal(err)
	}
	next := &workv1alpha2.ResourceBinding{}
	if err := json.Unmarshal(after, next); err != nil {
		t.Fatal(err)
	}
	return next
}
