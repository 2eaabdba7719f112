// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// Session describes one session.
type Session struct {
	// Snapshot has the ledger of the session, its queues, and its jobs.
	Snapshot *snapshot.Snapshot
	// Report knows the reported reasons why jobs and pods wait.
	Report *report.Reporter
	// Promised returns what a pipelined pod is charged in place of its claims.
	Promised func(*api.TaskInfo) ledger.Demand
	// Time and ID are the time and ID of the session. Incomplete says what is not known yet. It is empty if everything is known.
	Time       time.Time
	ID         types.UID
	Incomplete string
	// Outsiders finds what waits outside the session. It is nil if Volcano's objects are not read.
	Outsiders *snapshot.Outsiders
	// Places says where the nodes, cards, and devices are, for totals and explanations.
	Places Places
}

// Info says which session the answers are from.
func (s *Session) Info() v1alpha1.Snapshot {
	return v1alpha1.Snapshot{Time: metav1.NewMicroTime(s.Time), Session: string(s.ID), Incomplete: s.Incomplete}
}

// Published returns what the session publishes to users.
func (s *Session) Published() *visibility.Published {
	holders, charged := s.Holders()
	return &visibility.Published{
		Snapshot: s.Info(), Queues: s.Queues(), Workloads: s.Workloads(charged, s.outsiders()), Holders: holders,
	}
}

// Object names an object. The kind is a parameter, because objects of informers lack it.
func Object(kind string, meta *metav1.ObjectMeta) v1alpha1.Object {
	return v1alpha1.Object{Kind: kind, Namespace: meta.Namespace, Name: meta.Name, UID: string(meta.UID)}
}

// Owner names the controller of an object, nil if it has none.
func Owner(object metav1.Object) *v1alpha1.Object {
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return nil
	}
	return &v1alpha1.Object{Kind: owner.Kind, Namespace: object.GetNamespace(), Name: owner.Name, UID: string(owner.UID)}
}
