// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"strings"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// HasID reports whether Karmada has a binding or a Work with a permanent ID. It asks the API server about those that the cache does
// not show: it may lag behind.
func (c *Cache) HasID(ctx context.Context, id string) (bool, error) {
	for _, informer := range []cache.SharedIndexInformer{c.bindingInformer, c.workInformer} {
		if keys, err := informer.GetIndexer().IndexKeys(byBinding, id); err != nil || len(keys) > 0 {
			return true, err
		}
	}
	bindings, err := c.clients.Karmada.WorkV1alpha2().ResourceBindings(metav1.NamespaceAll).List(ctx, oneOf(id))
	if err != nil || len(bindings.Items) > 0 {
		return true, err
	}
	return c.hasWorks(ctx, id)
}

// Lost returns what members have and Karmada has lost as workloads without bindings, with what they need. The last snapshot must
// be that of the session, and only the goroutine that takes snapshots may call it.
func (c *Cache) Lost(all []framework.Lost) []*framework.Workload {
	var workloads []*framework.Workload
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
		c.count(&known{workload: w})
		workloads = append(workloads, w)
	}
	return workloads
}

// bindingOfLost says what a lost object is. No binding has such a name.
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
