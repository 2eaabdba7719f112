// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Faults says what a proxy does, and how often. The zero value disturbs nothing. A share is between 0 and 1.
type Faults struct {
	// Lag is how late the events of each resource are at most. Events that arrive in the meantime come together.
	Lag map[string]time.Duration
	// Drop is the share of events after which a watch ends and the client must list again.
	Drop float64
	// Refuse is the share of requests that do not reach the API server, and are answered with 409, 429, 500, 504, or, for watches, 410.
	Refuse float64
	// Lose is the share of writes that the API server carries out, but whose answer does not reach the client.
	Lose float64
	// Stall is the share of writes that reach nobody, and for which the client waits until its time is over. It is for clients that have a time limit. Leases
	// are left out, because a leader that cannot renew its own ends.
	Stall float64
}

// Set replaces the faults, for requests and events from now on. If watches are no longer dropped, none must be listed again because it was dropped before: each
// time, a client waits for up to a minute before it goes on.
func (p *Proxy) Set(faults Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = faults
	if faults.Drop == 0 {
		clear(p.expired)
	}
}

// sequence returns the random sequence of a kind of request. The caller holds mu.
func (p *Proxy) sequence(kind string) *rand.Rand {
	if p.random[kind] == nil {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(kind)) // never fails
		p.random[kind] = rand.New(rand.NewPCG(p.seed, hash.Sum64()))
	}
	return p.random[kind]
}

// refuse returns the error with which a request is answered, or nil if it passes.
func (p *Proxy) refuse(info *request.RequestInfo) *apierrors.StatusError {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !info.IsResourceRequest {
		return nil
	}
	var refusal *apierrors.StatusError
	switch {
	case info.Verb == "watch" && p.expired[info.Resource]:
		delete(p.expired, info.Resource)
		refusal = apierrors.NewResourceExpired("the watch was ended")
	case p.sequence("refuse "+kindOf(info)).Float64() < p.faults.Refuse:
		refusals := refusalsOf(info)
		refusal = refusals[p.sequence("refuse "+kindOf(info)).IntN(len(refusals))]
	default:
		p.counts[kindOf(info)]++
		return nil
	}
	p.counts[fmt.Sprint("refused ", refusal.Status().Code)]++
	return refusal
}

// refusalsOf returns the errors that an API server may answer to a request. Only what changes an existing object can be in conflict.
func refusalsOf(info *request.RequestInfo) []*apierrors.StatusError {
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	refusals := []*apierrors.StatusError{
		apierrors.NewTooManyRequests("the proxy asks to wait", 1),
		apierrors.NewInternalError(errors.New("the proxy fails")),
		apierrors.NewTimeoutError("the proxy does not wait", 0),
	}
	switch {
	case info.Verb == "watch":
		refusals = append(refusals, apierrors.NewResourceExpired("the proxy has no such version"))
	case info.Verb == "update" || info.Verb == "patch" || info.Verb == "create" && info.Subresource != "":
		refusals = append(refusals, apierrors.NewConflict(resource, info.Name, errors.New("the proxy refuses")))
	}
	return refusals
}

// loses reports whether the answer to a request is lost.
func (p *Proxy) loses(info *request.RequestInfo) bool {
	return p.draws("lose", info, func(faults Faults) float64 { return faults.Lose })
}

// stalls reports whether a request reaches nobody.
func (p *Proxy) stalls(info *request.RequestInfo) bool {
	return info.Resource != "leases" && p.draws("stall", info, func(faults Faults) float64 { return faults.Stall })
}

// draws reports whether a fault of writes happens to a request.
func (p *Proxy) draws(fault string, info *request.RequestInfo, share func(Faults) float64) bool {
	switch info.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
	default:
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	happens := p.sequence(fault+" "+kindOf(info)).Float64() < share(p.faults)
	if happens {
		p.counts[fault]++
	}
	return happens
}

// write answers a request with an error, as an API server does.
func write(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	w.Header().Set("Content-Type", "application/json")
	if seconds, wait := apierrors.SuggestsClientDelay(err); wait {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // the client may be gone
}
