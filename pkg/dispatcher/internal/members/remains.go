// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"sync"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	clusterlisters "github.com/karmada-io/karmada/pkg/generated/listers/cluster/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

const (
	// lookers is the number of concurrent looks at members, and maxLooks that of one namespace, so that no namespace has all of them.
	lookers, maxLooks = 8, 4
	// lookTakes is the time limit for the answer of a member.
	lookTakes = 5 * time.Second
	// lookAgain and lookAgainLimit bound how long an answer is used while a workload waits. The time doubles with each answer.
	lookAgain, lookAgainLimit = time.Second, 30 * time.Second
)

// errLooks means that a member has been asked and has not answered yet.
var errLooks = errors.New("it has been asked, and has not answered yet")

// Remains knows what members still have of workloads that must end or shrink, and which of their objects Karmada has lost.
type Remains struct {
	// Secrets reads the Secrets that Cluster objects name, on the control plane.
	Secrets kubernetes.Interface
	// Clusters lists the clusters.
	Clusters clusterlisters.ClusterLister
	// Connect makes the client of a member. Nil means the default client.
	Connect func(*rest.Config) (Client, error)
	// Changed is called after each answer. It must not block.
	Changed func()
	// Sends reports whether Karmada has a binding or a Work with a permanent ID for a cluster.
	Sends func(ctx context.Context, id, cluster string) (bool, error)
	// SchedulerNames are the names of Volcano's schedulers.
	SchedulerNames []string

	slots   chan struct{}
	looking sync.WaitGroup
	ctx     context.Context
	stop    context.CancelFunc

	mu      sync.Mutex
	clients map[string]remoteClient
	answers map[question]*answer
	surveys map[string]*survey
	round   uint64
	// looks counts the looks under way, by namespace. missed is the last round in which a workload of the namespace that was never looked for got no turn.
	looks  map[string]int
	missed map[string]uint64
}

// Client reads objects of a member.
type Client struct {
	metadata.Interface
	// Objects reads whole objects. Few are needed.
	Objects dynamic.Interface
}

func connect(config *rest.Config) (c Client, err error) {
	if c.Interface, err = metadata.NewForConfig(config); err == nil {
		c.Objects, err = dynamic.NewForConfig(config)
	}
	return c, err
}

// question identifies a workload in a cluster.
type question struct {
	binding types.UID
	cluster string
}

// answer is the last answer of a member. Asked is the time of its request, zero if there is no answer yet.
type answer struct {
	left  framework.Left
	asked time.Time
	// after is the time in the last call of Of.
	after time.Time
	// looks says that a request is under way.
	looks bool
	// again is when it may be asked again. Wait is the time between the last two requests.
	again time.Time
	wait  time.Duration
	// round is the last round in which the answer was used.
	round uint64
}

// remoteClient is the client of a member, and its connection.
type remoteClient struct {
	Client
	via connection
}

// Start allows requests to members until ctx ends or Shutdown is called.
func (r *Remains) Start(ctx context.Context) {
	r.ctx, r.stop = context.WithCancel(ctx)
	r.slots = make(chan struct{}, lookers)
	r.clients, r.answers, r.surveys = map[string]remoteClient{}, map[question]*answer{}, map[string]*survey{}
	r.looks, r.missed = map[string]int{}, map[string]uint64{}
	if r.Connect == nil {
		r.Connect = connect
	}
}

// Shutdown stops all requests to members, and waits for their end.
func (r *Remains) Shutdown() {
	r.stop()
	r.looking.Wait()
}

// Turn begins a round. It forgets answers that were not used in the last one.
func (r *Remains) Turn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for q, a := range r.answers {
		if a.round != r.round && !a.looks {
			delete(r.answers, q)
		}
	}
	r.round++
}

// Of returns what a cluster had of a workload after a time. If that is not known yet, it asks the member, and calls Changed when
// the member has answered. It does not wait.
func (r *Remains) Of(w *framework.Workload, cluster string, after time.Time) framework.Left {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := question{w.Binding.UID, cluster}
	a := r.answers[q]
	if a == nil {
		a = &answer{}
		r.answers[q] = a
	}
	a.round, a.after = r.round, after
	now := time.Now()
	known := a.asked.After(after)
	if !known {
		a.wait = 0
	}
	if !a.looks && (!known || now.After(a.again)) && r.hasTurn(w.Binding.Spec.Resource.Namespace, known) {
		a.looks = true
		r.looks[w.Binding.Spec.Resource.Namespace]++
		a.wait = min(max(lookAgain, 2*a.wait), lookAgainLimit)
		ref, id := w.Binding.Spec.Resource, w.Binding.Labels[workv1alpha2.ResourceBindingPermanentIDLabel]
		r.looking.Go(func() {
			r.look(a, cluster, subject{ref.APIVersion, ref.Kind, ref.Namespace, ref.Name, string(ref.UID), id})
		})
	}
	if !known {
		return framework.Left{Err: errLooks}
	}
	left := a.left
	if !a.looks {
		left.Again = a.again
		if now.After(a.again) {
			left.Again = now.Add(lookAgain)
		}
	}
	return left
}

// hasTurn reports whether a namespace may look for another workload. Those that were never looked for come before others.
func (r *Remains) hasTurn(namespace string, known bool) bool {
	missed, some := r.missed[namespace]
	switch {
	case r.looks[namespace] >= maxLooks:
		if !known {
			r.missed[namespace] = r.round
		}
		return false
	case known && some && missed+1 >= r.round:
		return false
	default:
		return true
	}
}

// look asks a member and records the answer. The last successful answer counts while the member does not answer.
func (r *Remains) look(a *answer, cluster string, s subject) {
	r.slots <- struct{}{}
	defer func() { <-r.slots }()
	ctx, cancel := context.WithTimeout(r.ctx, lookTakes)
	defer cancel()
	asked := time.Now()
	left, err := r.ask(ctx, cluster, s)
	left.Err = err
	r.mu.Lock()
	if err == nil || a.after.After(a.asked) || a.left.Err != nil {
		a.left, a.asked = left, asked
	}
	a.looks, a.again = false, time.Now().Add(a.wait)
	if r.looks[s.namespace]--; r.looks[s.namespace] == 0 {
		delete(r.looks, s.namespace)
		delete(r.missed, s.namespace)
	}
	r.mu.Unlock()
	if r.ctx.Err() == nil {
		r.Changed()
	}
}

// ask asks a member. A cluster that Karmada no longer has counts as empty.
func (r *Remains) ask(ctx context.Context, cluster string, s subject) (framework.Left, error) {
	object, err := r.Clusters.Get(cluster)
	if apierrors.IsNotFound(err) {
		return framework.Left{}, nil
	}
	if err != nil {
		return framework.Left{}, err
	}
	c, err := r.client(ctx, object)
	if err != nil {
		return framework.Left{}, err
	}
	return s.in(ctx, c)
}

// client returns the client of a member.
func (r *Remains) client(ctx context.Context, cluster *clusterv1alpha1.Cluster) (Client, error) {
	if err := hasSecret(&cluster.Spec); err != nil {
		return Client{}, err
	}
	ref := cluster.Spec.SecretRef
	secret, err := r.Secrets.CoreV1().Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return Client{}, err
	}
	via, err := connectionTo(&cluster.Spec, secret)
	if err != nil {
		return Client{}, err
	}
	return r.clientOf(cluster.Name, via)
}

// clientOf returns the client of a member. It makes a new one only if the connection has changed.
func (r *Remains) clientOf(cluster string, via connection) (Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, is := r.clients[cluster]; is && known.via == via {
		return known.Client, nil
	}
	config, err := via.config()
	if err != nil {
		return Client{}, err
	}
	made, err := r.Connect(config)
	if err != nil {
		return Client{}, err
	}
	r.clients[cluster] = remoteClient{made, via}
	return made, nil
}
