// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"slices"
	"strings"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/names"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// Sends reports whether Karmada has a Work with a permanent ID for a cluster, or a binding with that ID that goes there or whose grant
// names the cluster. If the cache shows none, it asks the API server, because the cache may lag behind.
func (c *Cache) Sends(ctx context.Context, id, cluster string) (bool, error) {
	works, err := c.workInformer.GetIndexer().ByIndex(byBinding, id)
	if err != nil || slices.ContainsFunc(works, func(o any) bool { return binding.ClusterOf(o.(*workv1alpha1.Work)) == cluster }) {
		return err == nil, err
	}
	shown, err := c.bindingInformer.GetIndexer().ByIndex(byBinding, id)
	if err != nil || slices.ContainsFunc(shown, func(o any) bool { return mayBeIn(o.(*workv1alpha2.ResourceBinding), cluster) }) {
		return err == nil, err
	}
	stored, err := c.clients.Karmada.WorkV1alpha2().ResourceBindings(metav1.NamespaceAll).List(ctx, oneOf(id))
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(stored.Items, func(rb workv1alpha2.ResourceBinding) bool { return mayBeIn(&rb, cluster) }) {
		return true, nil
	}
	return c.hasWorks(ctx, names.GenerateExecutionSpaceName(cluster), id)
}

// mayBeIn reports whether a part of a workload may be in a cluster according to its binding.
func mayBeIn(rb *workv1alpha2.ResourceBinding, cluster string) bool {
	clusters := binding.Clusters(rb)
	if grant := binding.Read(rb, nil).Grant; grant != nil {
		clusters = append(clusters, grant.Clusters...)
	}
	return slices.Contains(clusters, cluster)
}

// Lost returns workloads without bindings for the objects that Karmada has lost, with their needs. The last snapshot must be the
// snapshot of the session. Only the goroutine that takes snapshots may call it.
func (c *Cache) Lost(all []framework.Lost) []*framework.Workload {
	var workloads []*framework.Workload
	before := c.lost
	c.lost = map[*workload.Template]*needs.Counted{}
	for i := range all {
		lost := &all[i]
		if !lost.Template.Managed(c.config.ManageWorkloadsWithoutQueue) {
			continue
		}
		w := &framework.Workload{
			Binding: bindingOfLost(lost), Lost: lost.Cluster, State: binding.State{Deleting: true, MayRun: true}, Places: []string{lost.Cluster},
			Template: lost.Template, TemplateErr: lost.Err, Spread: framework.Spread{Copies: 1},
		}
		w.Queue = c.queueOf(&w.State, w.Template)
		k := &known{workload: w}
		if k.counted = before[lost.Template]; k.counted != nil {
			w.Needs, w.Err = k.counted.Needs, k.counted.Err
		}
		c.count(k)
		c.lost[lost.Template] = k.counted
		workloads = append(workloads, w)
	}
	return workloads
}

// bindingOfLost returns a binding that identifies a lost object. No real binding has such a name.
func bindingOfLost(lost *framework.Lost) *workv1alpha2.ResourceBinding {
	t := lost.Template
	return &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.Namespace, Name: fmt.Sprintf("%s-%s in %s", t.Name, strings.ToLower(t.Kind), lost.Cluster),
			UID: types.UID(lost.Cluster + "/" + string(t.UID)),
		},
		Spec: workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{
			APIVersion: lost.APIVersion, Kind: t.Kind, Namespace: t.Namespace, Name: t.Name,
		}},
	}
}
