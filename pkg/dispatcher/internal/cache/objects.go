// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// objects reads the objects that bindings propagate.
type objects struct {
	kinds map[schema.GroupVersionKind]*kind
}

func newObjects(kinds []*kind) *objects {
	o := &objects{kinds: map[schema.GroupVersionKind]*kind{}}
	for _, k := range kinds {
		o.kinds[k.gvk] = k
	}
	return o
}

// shown returns the object of a binding from the informer. It returns false for an unknown kind. The error says why there is no object.
func (o *objects) shown(ref *workv1alpha2.ObjectReference) (runtime.Object, bool, error) {
	k := o.kinds[schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)]
	if k == nil {
		return nil, false, nil
	}
	if !k.informer.HasSynced() {
		return nil, true, fmt.Errorf("%s %s/%s cannot be read: the API server does not serve %s in %s, or objects of that kind have not been read yet",
			ref.Kind, ref.Namespace, ref.Name, ref.Kind, ref.APIVersion)
	}
	stored, exists, err := k.informer.GetStore().GetByKey(cache.NewObjectName(ref.Namespace, ref.Name).String())
	if err != nil || !exists {
		return nil, true, missing(ref)
	}
	object := stored.(runtime.Object)
	if accessor, err := meta.Accessor(object); err != nil || ref.UID != "" && accessor.GetUID() != ref.UID {
		return nil, true, missing(ref)
	}
	return object, true, nil
}

func missing(ref *workv1alpha2.ObjectReference) error {
	return fmt.Errorf("%s %s/%s does not exist: create it again, or delete its ResourceBinding", ref.Kind, ref.Namespace, ref.Name)
}
