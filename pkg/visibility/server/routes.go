// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// kinds are the kinds that can be explained, by resource.
var kinds = map[string]string{"pods": "Pod", "podgroups": "PodGroup", "jobs": "Job"}

// routes returns the handler of authorized requests.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	discover(mux)
	for path, handle := range map[string]http.HandlerFunc{
		"/queues":                           s.ofLatest(s.queues),
		"/queues/{name}":                    s.ofLatest(s.queues),
		"/workloads":                        s.ofLatest(s.workloads),
		"/namespaces/{namespace}/workloads": s.ofLatest(s.workloads),
		"/holders":                          s.ofLatest(s.holders),
		"/namespaces/{namespace}/holders":   s.ofLatest(s.holders),
		"/namespaces/{namespace}/{resource}/{name}/explanation": s.explanation,
		"/history":       s.history,
		"/updates":       s.updates,
		"/configuration": s.configuration,
	} {
		mux.HandleFunc(versionPath+path, s.ifLeading(handle))
	}
	mux.HandleFunc("/", notFound)
	return mux
}

// ifLeading refuses requests while another replica leads, because only the leader has sessions.
func (s *Server) ifLeading(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.leading.Load() {
			refuse(w, r, apierrors.NewServiceUnavailable("this replica of the scheduler does not lead: ask the one that holds the lease"))
			return
		}
		handle(w, r)
	}
}

func notFound(w http.ResponseWriter, r *http.Request) {
	refuse(w, r, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, schema.GroupResource{}, "", "the scheduler serves nothing at "+r.URL.Path, 0, false))
}

// asked returns the parsed request that was authorized, to avoid a second interpretation of the path.
func asked(r *http.Request) *request.RequestInfo {
	info, found := request.RequestInfoFrom(r.Context())
	if !found {
		return &request.RequestInfo{}
	}
	return info
}

// ofLatest answers from the latest publication.
func (s *Server) ofLatest(handle func(http.ResponseWriter, *http.Request, *visibility.Published)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		published, err := s.publisher.Latest(r.Context())
		if err != nil {
			refuse(w, r, asStatus(err))
			return
		}
		handle(w, r, published)
	}
}

// queues answers with all queues, or with a list of the named queue.
func (s *Server) queues(w http.ResponseWriter, r *http.Request, published *visibility.Published) {
	items := published.Queues
	if name := asked(r).Name; name != "" {
		i := slices.IndexFunc(items, func(q v1alpha1.Queue) bool { return q.Name == name })
		if i < 0 {
			refuse(w, r, apierrors.NewNotFound(resourceOf("queues"), name))
			return
		}
		items = items[i : i+1]
	}
	viewer := s.newViewer(r.Context(), published)
	told := v1alpha1.QueueList{TypeMeta: typeOf("QueueList"), Snapshot: s.signed(published.Snapshot), Cluster: published.Cluster, Items: list(viewer.queues(items))}
	answerViewer(w, r, viewer, told)
}

func (s *Server) workloads(w http.ResponseWriter, r *http.Request, published *visibility.Published) {
	items := published.Workloads
	if namespace := asked(r).Namespace; namespace != "" {
		items = filtered(items, func(w *v1alpha1.Workload) bool { return w.Namespace == namespace })
	}
	viewer := s.newViewer(r.Context(), published)
	told := v1alpha1.WorkloadList{TypeMeta: typeOf("WorkloadList"), Snapshot: s.signed(published.Snapshot), Items: list(viewer.workloads(items))}
	answerViewer(w, r, viewer, told)
}

func (s *Server) holders(w http.ResponseWriter, r *http.Request, published *visibility.Published) {
	items := published.Holders
	namespace, dimension := asked(r).Namespace, r.URL.Query().Get("dimension")
	var queues map[string]bool
	if queue := r.URL.Query().Get("queue"); queue != "" {
		if queues = below(published.Queues, queue); queues == nil {
			if viewer := s.newViewer(r.Context(), published); viewer.mayKnowQueue(queue) {
				refuse(w, r, apierrors.NewNotFound(resourceOf("queues"), queue))
				return
			}
			queues = map[string]bool{} // do not reveal whether the queue exists
		}
	}
	if namespace != "" || dimension != "" || queues != nil {
		items = filtered(items, func(h *v1alpha1.Holder) bool {
			return (namespace == "" || h.Namespace == namespace) && (queues == nil || queues[h.Queue]) && (dimension == "" || holds(h, dimension))
		})
	}
	answer(w, r, v1alpha1.HolderList{TypeMeta: typeOf("HolderList"), Snapshot: s.signed(published.Snapshot), Items: list(items)})
}

// holds reports whether a holder is charged for a dimension, or shares it.
func holds(h *v1alpha1.Holder, dimension string) bool {
	same := func(a v1alpha1.Amount) bool { return a.Named(dimension) }
	return slices.ContainsFunc(h.Charged, same) || slices.ContainsFunc(h.Shares, same)
}

// below returns a queue with its descendants, or nil if the queue does not exist.
func below(queues []v1alpha1.Queue, name string) map[string]bool {
	var found map[string]bool
	for i := range queues { // parents come first
		q := &queues[i]
		switch {
		case q.Name == name:
			found = map[string]bool{name: true}
		case found[q.Parent]:
			found[q.Name] = true
		}
	}
	return found
}

func (s *Server) explanation(w http.ResponseWriter, r *http.Request) {
	about := asked(r)
	kind := kinds[about.Resource]
	if kind == "" {
		notFound(w, r)
		return
	}
	explanation, err := s.publisher.Explain(r.Context(), kind, about.Namespace, about.Name)
	if errors.Is(err, visibility.ErrNotFound) {
		refuse(w, r, unknownSubject(about))
		return
	}
	if err != nil {
		refuse(w, r, asStatus(err))
		return
	}
	published, err := s.publisher.Latest(r.Context())
	if err != nil {
		refuse(w, r, asStatus(err))
		return
	}
	viewer := s.newViewer(r.Context(), published)
	told := viewer.explanation(explanation)
	told.TypeMeta = typeOf("Explanation")
	told.Snapshot = s.signed(told.Snapshot)
	answerViewer(w, r, viewer, told)
}

// unknownSubject names the kinds of objects that a session knows, because the name may belong to another kind.
func unknownSubject(about *request.RequestInfo) error {
	err := apierrors.NewNotFound(resourceOf(about.Resource), about.Name)
	what, hint := kinds[about.Resource], ""
	if about.Resource == "jobs" {
		what, hint = "Job of Volcano", "; it may be a Job of Kubernetes, whose pods can be explained"
	}
	err.ErrStatus.Message = fmt.Sprintf("the scheduler knows no %s %s/%s%s", what, about.Namespace, about.Name, hint)
	return err
}

// answerViewer answers, unless the rights of the viewer are unknown.
func answerViewer(w http.ResponseWriter, r *http.Request, v *viewer, told any) {
	if v.err != nil {
		refuse(w, r, apierrors.NewInternalError(v.err))
		return
	}
	answer(w, r, told)
}

func (s *Server) history(w http.ResponseWriter, r *http.Request) {
	history := s.publisher.History()
	history.TypeMeta = typeOf("History")
	slices.SortFunc(history.Items, func(a, b v1alpha1.Series) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Dimension.String(), b.Dimension.String()))
	})
	answer(w, r, history)
}

// configuration answers with the active configuration. The ConfigMap may have changed since.
func (s *Server) configuration(w http.ResponseWriter, r *http.Request) {
	answer(w, r, v1alpha1.Configuration{TypeMeta: typeOf("Configuration"), Text: s.process.Configuration()})
}

// signed adds the identity of the process to a snapshot.
func (s *Server) signed(snapshot v1alpha1.Snapshot) v1alpha1.Snapshot {
	snapshot.Scheduler, snapshot.Version = s.process.Host, s.process.Version
	return snapshot
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: v1alpha1.SchemeGroupVersion.String()}
}

func resourceOf(name string) schema.GroupResource {
	return schema.GroupResource{Group: v1alpha1.GroupName, Resource: name}
}

// filtered returns the wanted items.
func filtered[T any](items []T, wanted func(*T) bool) []T {
	var kept []T
	for i := range items {
		if wanted(&items[i]) {
			kept = append(kept, items[i])
		}
	}
	return kept
}

// list turns nil into an empty list, which is [] in JSON, not null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
