// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"errors"
	"sync"
	"sync/atomic"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// State is what a scheduling cycle knows about the claims of one pod. Simulations of the pod share it.
type State struct {
	pod *demand.Pod
	// books is the ledger that picked devices must fit.
	books *ledger.Ledger
	// allocated are the claims that have devices or are about to get them.
	allocated []allocatedClaim
	// unallocated are the claims that need devices.
	unallocated []*demand.Claim
	// open says that the quota must be checked against the picked devices.
	open bool
	// alike is equal for pods with equal claims, if all of these need devices and the quota need not be checked against the picked devices. It is nil
	// for other pods, and for pods with extended resources.
	alike *digest
	// effort limits the long searches for the pod's job in this session.
	effort *dra.Effort

	// signature is shared by pods whose searches have the same result.
	signature signature
	// known is what is remembered for the signature, nil if nothing is.
	known atomic.Pointer[answers]
	// goneOn says that this session has continued an unfinished search of an earlier session. Only one search continues, to
	// have all the effort.
	goneOn atomic.Bool

	mu sync.Mutex
	// picks has the pick on each node.
	picks map[string]*pick
	// unavailable has the UIDs of allocated claims whose devices some node cannot use.
	unavailable map[types.UID]bool
	// lacking has the nodes that lacked devices. insufficient says that some node did for an earlier action.
	lacking      map[string]bool
	insufficient bool
	// others says that a node had the devices for an earlier action, or for another pod with the same signature, and still has them.
	others bool
	// refusal says why the quota refused picked devices, nil if it did not.
	refusal report.Refusal
}

// allocatedClaim is a claim whose allocation the pod uses as it is.
type allocatedClaim struct {
	*resourceapi.ResourceClaim
	// nodes selects the nodes that can use the devices. It is nil if all nodes can.
	nodes *nodeaffinity.NodeSelector
}

// pick is the result of a search on one node.
type pick struct {
	// results has an allocation for each unallocated claim.
	results []resourceapi.AllocationResult
	// amounts has the amounts of each of these claims. It is nil if they do not depend on the pick.
	amounts []ledger.Amounts
	// changes is the state of the devices on the node for which the pick is valid.
	changes uint64
}

// objects returns the claims that need devices.
func (s *State) objects() []*resourceapi.ResourceClaim {
	claims := make([]*resourceapi.ResourceClaim, len(s.unallocated))
	for i, claim := range s.unallocated {
		claims[i] = claim.Object
	}
	return claims
}

// Alike returns a value that is equal for pods whose searches have the same result. It is zero for a pod that needs no more devices.
func (s *State) Alike() [32]byte { return s.signature }

// Refusal returns why the quota refused devices picked on some node, nil if it did not.
func (s *State) Refusal() report.Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusal
}

// Insufficient reports whether no node had the devices.
func (s *State) Insufficient() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (s.insufficient || len(s.lacking) > 0) && len(s.picks) == 0 && !s.others
}

// refuse keeps one refusal, independent of the order of nodes. An error, which needs a correction, comes before a
// refusal by the quota. Next, the message that sorts first wins.
func (s *State) refuse(refusal report.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = first(s.refusal, refusal)
}

// first returns the refusal that comes first. The earlier one may be nil.
func first(earlier, later report.Refusal) report.Refusal {
	if earlier == nil || before(later, earlier) {
		return later
	}
	return earlier
}

func before(a, b report.Refusal) bool {
	if failedA, failedB := failed(a), failed(b); failedA != failedB {
		return failedA
	}
	return a.Message() < b.Message()
}

func failed(refusal report.Refusal) bool {
	switch refusal.(type) {
	case report.PickFailed, report.SearchUnfinished:
		return true
	default:
		return false
	}
}

// failure explains an error of the search for devices.
func (s *State) failure(err error) report.Refusal {
	var unfinished *dra.UnfinishedError
	if !errors.As(err, &unfinished) {
		return report.PickFailed{Err: err}
	}
	var claims []string
	for _, claim := range s.unallocated {
		claims = append(claims, nameOf(claim.Object))
	}
	return report.SearchUnfinished{Claims: claims, Requests: unfinished.Requests, Later: unfinished.Later}
}

// Finding is what Filter finds out about the devices of a node. It is zero if Filter did not look for any.
type Finding uint8

// A node has devices for a pod, or not.
const (
	Has Finding = iota + 1
	Lacks
)

// Finding returns what Filter has found out about a node.
func (s *State) Finding(node string) Finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.picks[node] != nil:
		return Has
	case s.lacking[node]:
		return Lacks
	}
	return 0
}

// Adopt adds what Filter has found out about a node for another pod with the same signature.
func (s *State) Adopt(node string, found Finding) {
	switch found {
	case Has:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.others = true
	case Lacks:
		s.setLacking(node)
	}
}

func (s *State) setUnavailable(claim types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unavailable[claim] = true
}

func (s *State) setLacking(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lacking == nil {
		s.lacking = map[string]bool{}
	}
	s.lacking[node] = true
}

func (s *State) keep(node string, picked *pick) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.picks[node] = picked
}
