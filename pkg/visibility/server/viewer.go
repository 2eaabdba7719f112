// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/visibility"
)

const (
	// hidden replaces a name that a viewer may not know.
	hidden = "(hidden)"
	// maxNamespaces limits the checked namespaces for one answer. All other namespaces are hidden.
	maxNamespaces = 100
)

// objectName matches namespace/name in messages. Namespaces have no dots, unlike the domains of resources and annotations.
var objectName = regexp.MustCompile(`[a-zA-Z0-9][-a-zA-Z0-9_.]*(?:/[-a-zA-Z0-9_.]+)+`)

// viewer is the user of a request. Without the right to get holders in a namespace, a viewer does not see the names of its pods and claims.
type viewer struct {
	ctx        context.Context
	user       user.Info
	authorizer authorizer.Authorizer
	// all reports whether the viewer may see all names.
	all bool
	// namespaces caches whether the viewer may see a namespace.
	namespaces map[string]bool
	// dimensions are names with a slash that do not name objects.
	dimensions map[string]bool
	// texts caches messages without hidden names. Many pods wait for the same reason.
	texts map[string]string
	// err is the error of a check of the viewer's rights.
	err error
}

func (s *Server) newViewer(ctx context.Context, published *visibility.Published) *viewer {
	v := &viewer{ctx: ctx, authorizer: s.access, namespaces: map[string]bool{}, texts: map[string]string{}}
	caller, found := request.UserFrom(ctx)
	if !found {
		v.err = errors.New("the request has no user")
		return v
	}
	v.user = caller
	if v.all = v.mayGetHolders(""); v.all {
		return v
	}
	v.dimensions = map[string]bool{}
	for i := range published.Queues {
		for j := range published.Queues[i].Figures {
			if d := &published.Queues[i].Figures[j].Dimension; d.Capacity != "" {
				v.dimensions[d.String()] = true
			}
		}
	}
	return v
}

// maySee reports whether the viewer may see the names of a namespace.
func (v *viewer) maySee(namespace string) bool {
	if v.all {
		return true
	}
	may, known := v.namespaces[namespace]
	if !known && len(v.namespaces) < maxNamespaces {
		may = v.mayGetHolders(namespace)
		v.namespaces[namespace] = may
	}
	return may
}

func (v *viewer) mayGetHolders(namespace string) bool { return v.mayGet("holders", namespace, "") }

// mayKnowQueue reports whether the viewer may know that a queue exists.
func (v *viewer) mayKnowQueue(name string) bool { return v.mayGet("queues", "", name) }

func (v *viewer) mayGet(resource, namespace, name string) bool {
	decision, _, err := v.authorizer.Authorize(v.ctx, authorizer.AttributesRecord{
		User: v.user, Verb: "get", APIGroup: v1alpha1.GroupName, APIVersion: v1alpha1.SchemeGroupVersion.Version, Resource: resource,
		Namespace: namespace, Name: name, ResourceRequest: true,
	})
	if err != nil && decision != authorizer.DecisionAllow {
		v.err = err
	}
	return decision == authorizer.DecisionAllow
}

// text hides names in a message.
func (v *viewer) text(message string) string {
	if v.all || !strings.Contains(message, "/") {
		return message
	}
	if shown, known := v.texts[message]; known {
		return shown
	}
	v.texts[message] = objectName.ReplaceAllStringFunc(message, func(found string) string {
		namespace, _, _ := strings.Cut(found, "/")
		name := strings.TrimRight(found, ".") // the end of a sentence is not part of a name
		if strings.Contains(namespace, ".") || v.dimensions[name] || v.maySee(namespace) {
			return found
		}
		return namespace + "/" + hidden + found[len(name):]
	})
	return v.texts[message]
}

func (v *viewer) queues(items []v1alpha1.Queue) []v1alpha1.Queue {
	if v.all {
		return items
	}
	shown := slices.Clone(items)
	for i := range shown {
		shown[i].Problems = slices.Clone(shown[i].Problems)
		for j := range shown[i].Problems {
			shown[i].Problems[j].Message = v.text(shown[i].Problems[j].Message)
		}
	}
	return shown
}

func (v *viewer) workloads(items []v1alpha1.Workload) []v1alpha1.Workload {
	if v.all {
		return items
	}
	shown := slices.Clone(items)
	for i := range shown {
		w := &shown[i]
		w.Waits = v.refusal(w.Waits)
		if w.Owner != nil && w.Owner.Kind == "Pod" && !v.maySee(w.Namespace) {
			w.Owner = &v1alpha1.Object{Kind: w.Owner.Kind, Namespace: w.Namespace}
		}
	}
	return shown
}

// refusal returns a copy with hidden names.
func (v *viewer) refusal(r *v1alpha1.Refusal) *v1alpha1.Refusal {
	if r == nil {
		return nil
	}
	shown := *r
	shown.Message = v.text(r.Message)
	return &shown
}

// explanation returns a copy with hidden names.
func (v *viewer) explanation(e *v1alpha1.Explanation) *v1alpha1.Explanation {
	shown := e.DeepCopy()
	if v.all {
		return shown
	}
	shown.Cause = v.refusal(shown.Cause)
	v.checks(shown.Checks)
	for i := range shown.Nodes {
		shown.Nodes[i].Message = v.text(shown.Nodes[i].Message)
	}
	v.holders(shown.Holders)
	if shown.Eviction != nil {
		shown.Eviction.Message = v.text(shown.Eviction.Message)
		v.holders(shown.Eviction.Victims)
	}
	if shown.LastEviction != nil {
		shown.LastEviction.Message = v.text(shown.LastEviction.Message)
	}
	for i := range shown.Pods {
		pods := &shown.Pods[i]
		pods.Cause = *v.refusal(&pods.Cause)
		v.checks(pods.Checks)
	}
	return shown
}

func (v *viewer) checks(checks []v1alpha1.Check) {
	for i := range checks {
		checks[i].Message = v.text(checks[i].Message)
	}
}

// holders hides the names of holders. Claims are named after their pods, and the devices of a claim reveal the claim.
func (v *viewer) holders(holders []v1alpha1.Holder) {
	for i := range holders {
		if h := &holders[i]; !v.maySee(h.Namespace) {
			h.Name, h.UID, h.Workload, h.Devices = "", "", "", nil
		}
	}
}
