package capacity

import (
	"errors"

	resourceapi "k8s.io/api/resource/v1"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/dra"
)

// errNoDRA is what a pod with claims is told where the scheduler cannot serve it.
var errNoDRA = errors.New("this scheduler runs without dynamic resource allocation: start it with --feature-gates=DynamicResourceAllocation=true")

// source reads what pods refer to from the scheduler's caches.
type source struct {
	manager k8sframework.SharedDRAManager
	claims  resourcelisters.ResourceClaimLister
	// templates is nil until it has read them all; only the wording of a message hangs on it.
	templates resourcelisters.ResourceClaimTemplateLister
}

var _ dra.Source = source{}

func newSource(ssn *framework.Session, p *process) source {
	s := source{manager: ssn.SharedDRAManager()}
	if s.manager == nil {
		return s
	}
	s.claims = ssn.InformerFactory().Resource().V1().ResourceClaims().Lister()
	if p.templatesSynced() {
		s.templates = p.templates
	}
	return s
}

// Claim implements dra.Source. The manager knows of this scheduler's allocations before
// the informer does, but right after the start it lags behind the informer, whose handlers
// fill it.
func (s source) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	if s.manager == nil {
		return nil, errNoDRA
	}
	if claim, err := s.manager.ResourceClaims().Get(namespace, name); err == nil {
		return claim, nil
	}
	return s.claims.ResourceClaims(namespace).Get(name)
}

// ClaimTemplateExists implements dra.Source.
func (s source) ClaimTemplateExists(namespace, name string) error {
	if s.manager == nil {
		return errNoDRA
	}
	if s.templates == nil {
		return nil
	}
	_, err := s.templates.ResourceClaimTemplates(namespace).Get(name)
	return err
}

// DeviceClassExists implements dra.Source.
func (s source) DeviceClassExists(name string) error {
	if s.manager == nil {
		return errNoDRA
	}
	_, err := s.manager.DeviceClasses().Get(name)
	return err
}

// inUse returns the claim as it is now, and whether its devices are, or may become, taken:
// it is allocated, or its allocation is on the way to the API server.
func (s source) inUse(claim *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, bool) {
	now, err := s.Claim(claim.Namespace, claim.Name)
	if err != nil || now.UID != claim.UID {
		return nil, false
	}
	return now, now.Status.Allocation != nil || s.manager.ResourceClaims().ClaimHasPendingAllocation(now.UID)
}
