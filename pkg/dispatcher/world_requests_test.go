// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"maps"
	"slices"
	"strconv"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	k8stesting "k8s.io/client-go/testing"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// serve answers the requests of a dispatcher.
func (w *world) serve(r *replica, fakes ...*k8stesting.Fake) {
	for _, fake := range fakes {
		fake.PrependReactor("*", "*", func(action k8stesting.Action) (bool, runtime.Object, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			resource := resourceOf(action.GetResource())
			if w.store[resource] == nil {
				return false, nil, nil
			}
			switch a := action.(type) {
			case k8stesting.PatchAction:
				rb, err := w.patch(a.GetNamespace()+"/"+a.GetName(), a.GetPatch())
				return true, rb, err
			case k8stesting.GetAction:
				if o := w.store[resource][a.GetNamespace()+"/"+a.GetName()]; o != nil {
					return true, o.DeepCopyObject(), nil
				}
				return true, nil, apierrors.NewNotFound(action.GetResource().GroupResource(), a.GetName())
			case k8stesting.ListAction:
				return true, w.list(resource, kindOf(action) == "fake-metadata-client-group"), nil
			}
			return false, nil, nil
		})
		fake.PrependWatchReactor("*", func(action k8stesting.Action) (bool, watch.Interface, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			resource := resourceOf(action.GetResource())
			if w.store[resource] == nil {
				return false, nil, nil
			}
			r.setWatch(resource, watch.NewRaceFreeFake())
			return true, r.watch(resource), nil
		})
	}
}

func resourceOf(gvr schema.GroupVersionResource) string {
	if gvr.Group == batchv1alpha1.GroupName {
		return gvr.Resource + "." + gvr.Group
	}
	return gvr.Resource
}

func (w *world) list(resource string, metadataOnly bool) runtime.Object {
	var list runtime.Object
	switch resource {
	case bindings:
		list = &workv1alpha2.ResourceBindingList{}
	case works:
		list = &workv1alpha1.WorkList{}
	case clusters:
		list = &clusterv1alpha1.ClusterList{}
	case queues:
		list = &schedulingv1beta1.QueueList{}
	case jobs:
		list = &batchv1alpha1.JobList{}
	case deployments:
		list = &appsv1.DeploymentList{}
	default:
		list = &schedulingv1.PriorityClassList{}
	}
	var items []runtime.Object
	for _, key := range slices.Sorted(maps.Keys(w.store[resource])) {
		o := w.store[resource][key].DeepCopyObject().(object)
		if metadataOnly {
			m := &metav1.PartialObjectMetadata{}
			m.Namespace, m.Name, m.UID, m.Labels, m.ResourceVersion = o.GetNamespace(), o.GetName(), o.GetUID(), o.GetLabels(), o.GetResourceVersion()
			items = append(items, m)
			continue
		}
		items = append(items, o)
	}
	if metadataOnly {
		all := &metav1.List{}
		for _, item := range items {
			all.Items = append(all.Items, runtime.RawExtension{Object: item})
		}
		list = all
	} else if err := meta.SetList(list, items); err != nil {
		w.t.Fatal(err)
	}
	accessor, _ := meta.ListAccessor(list)
	accessor.SetResourceVersion(strconv.Itoa(w.version))
	return list
}

// kindOf returns the group of the kind that a client lists.
func kindOf(action k8stesting.Action) string {
	if list, is := action.(k8stesting.ListActionImpl); is {
		return list.Kind.Group
	}
	return ""
}
