// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"
	"sync"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// places has the clusters that any version of a binding named, until its grant names them. Karmada may choose a cluster and leave
// it between two snapshots, and pods may stay there.
type places struct {
	mu   sync.Mutex
	seen map[types.UID][]string
}

// see adds the clusters of a version of a binding, and reports whether some are new. It ignores bindings without a grant.
func (p *places) see(rb *workv1alpha2.ResourceBinding) (noted bool) {
	if rb.Annotations[binding.GrantAnnotation] == "" {
		return false
	}
	clusters := binding.Clusters(rb)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cluster := range clusters {
		if !slices.Contains(p.seen[rb.UID], cluster) {
			if p.seen == nil {
				p.seen = map[types.UID][]string{}
			}
			p.seen[rb.UID] = append(p.seen[rb.UID], cluster)
			noted = true
		}
	}
	return noted
}

// notePlaces notes the clusters of a version of a binding. A snapshot may have a later version already, without these clusters.
func (c *Cache) notePlaces(rb *workv1alpha2.ResourceBinding) {
	if c.places.see(rb) {
		c.changes.add(string(rb.UID))
	}
}

func (p *places) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, uid)
}

// of returns the clusters in which a part of a workload may run, sorted. It forgets clusters that the grant names.
func (p *places) of(rb *workv1alpha2.ResourceBinding, grant *binding.Grant, works []*workv1alpha1.Work) []string {
	all := binding.Clusters(rb)
	for _, work := range works {
		all = append(all, binding.ClusterOf(work))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if grant != nil {
		named := func(cluster string) bool { return slices.Contains(grant.Clusters, cluster) }
		all = append(all, grant.Clusters...)
		if seen, noted := p.seen[rb.UID]; noted {
			p.seen[rb.UID] = slices.DeleteFunc(seen, named)
			all = append(all, p.seen[rb.UID]...)
		}
		if len(p.seen[rb.UID]) == 0 {
			delete(p.seen, rb.UID)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
