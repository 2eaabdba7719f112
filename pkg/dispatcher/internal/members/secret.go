// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
)

// secret follows the Secret of a member. It watches no other Secret, so that the right to read these few is enough. A nil secret
// follows nothing.
type secret struct {
	ref    clusterv1alpha1.LocalSecretReference
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	current *corev1.Secret
	err     error
}

// followSecret begins to follow a Secret. It calls wake after each change.
func followSecret(ctx context.Context, kube kubernetes.Interface, ref clusterv1alpha1.LocalSecretReference, wake func()) (*secret, error) {
	s := &secret{ref: ref}
	informer := coreinformers.NewFilteredSecretInformer(kube, ref.Namespace, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()
	})
	missing := fmt.Errorf("there is no Secret %s/%s, which its spec.secretRef names: create it", ref.Namespace, ref.Name)
	registration, err := informer.AddEventHandler(s.handler(missing, wake))
	if err == nil {
		err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
				s.fail(fmt.Errorf("the Secret %s/%s cannot be read: %w: allow the dispatcher to get, list, and watch it", ref.Namespace, ref.Name, err))
				wake()
			}
		})
	}
	if err != nil {
		return nil, fmt.Errorf("follow the Secret %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	ctx, s.cancel = context.WithCancel(ctx)
	s.done.Go(func() { informer.RunWithContext(ctx) })
	s.done.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			s.fail(missing)
			wake()
		}
	})
	return s, nil
}

// handler notes each change of the Secret. Missing is the error if it is deleted.
func (s *secret) handler(missing error, wake func()) cache.ResourceEventHandlerFuncs {
	set := func(current *corev1.Secret, err error) {
		s.mu.Lock()
		s.current, s.err = current, err
		s.mu.Unlock()
		wake()
	}
	note := func(object any) {
		if current := object.(*corev1.Secret); current.Name == s.ref.Name {
			set(current, nil)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(_, object any) { note(object) },
		DeleteFunc: func(object any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil && key == s.ref.Namespace+"/"+s.ref.Name {
				set(nil, missing)
			}
		},
	}
}

// fail notes an error unless the Secret has been read. What was read last counts until it is known to be gone.
func (s *secret) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		s.err = err
	}
}

// get returns the Secret, or why it cannot be read. Both are nil while it is being read.
func (s *secret) get() (*corev1.Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, s.err
}

// stop stops to follow the Secret, and waits for that.
func (s *secret) stop() {
	if s == nil {
		return
	}
	s.cancel()
	s.done.Wait()
}
