// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
)

// StoredClaims asks the API server for claims and claim templates. It asks once for all of a kind in a namespace: a workload may name many, and the user
// of many workloads must not keep others waiting.
type StoredClaims struct {
	client metadata.Interface

	mu    sync.Mutex
	lists map[listed]func() (map[string]framework.ClaimRead, error)
}

// listed identifies a list.
type listed struct {
	namespace, resource string
}

// StoredClaims returns the claims and claim templates that the API server has from now on. Each is read when somebody asks for one of its namespace.
func (c *Cache) StoredClaims() *StoredClaims {
	return &StoredClaims{client: c.clients.Metadata, lists: map[listed]func() (map[string]framework.ClaimRead, error){}}
}

// Differ reports whether some claims or claim templates of a namespace are others than those that were read, or are gone.
func (s *StoredClaims) Differ(ctx context.Context, namespace string, read []framework.ClaimRead) (bool, error) {
	for _, r := range read {
		list := listed{namespace, "resourceclaims"}
		if r.IsTemplate {
			list.resource = "resourceclaimtemplates"
		}
		stored, err := s.of(ctx, list)
		if err != nil || stored[r.Name] != r {
			return err == nil, err
		}
	}
	return false, nil
}

// of returns the objects of a list by name. Those who ask at the same time wait for one answer.
func (s *StoredClaims) of(ctx context.Context, list listed) (map[string]framework.ClaimRead, error) {
	s.mu.Lock()
	answer := s.lists[list]
	if answer == nil {
		answer = sync.OnceValues(func() (map[string]framework.ClaimRead, error) { return s.ask(ctx, list) })
		s.lists[list] = answer
	}
	s.mu.Unlock()
	return answer()
}

func (s *StoredClaims) ask(ctx context.Context, list listed) (map[string]framework.ClaimRead, error) {
	all, err := s.client.Resource(resourceapi.SchemeGroupVersion.WithResource(list.resource)).Namespace(list.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	stored := make(map[string]framework.ClaimRead, len(all.Items))
	for i := range all.Items {
		o := &all.Items[i]
		stored[o.Name] = framework.ClaimRead{
			IsTemplate: list.resource == "resourceclaimtemplates", Name: o.Name, UID: o.UID, Most: o.Annotations[needs.MaxDevicesAnnotation],
		}
	}
	return stored, nil
}
