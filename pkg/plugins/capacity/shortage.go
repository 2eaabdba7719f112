package capacity

import (
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dra"
)

// mostOutsiders bounds how many of those who hold devices are named.
const mostOutsiders = 5

// outsider holds devices that are charged to no queue.
type outsider struct {
	class string
	count int
	who   string
}

// scarce is the refusal of a pod that the quota allows devices that no node has free. It names who
// holds such devices without being in any queue, where nobody would look.
func (p *plugin) scarce(a *attempt) refusal {
	var classes []string
	for _, claim := range a.wanting {
		for _, name := range claim.Usage.Capacities() {
			if !p.catalog.HasCapacity(name) {
				return refusal{reason: taskRequestFailed, message: fmt.Sprintf("ResourceClaim %s/%s asks for a capacity %s, which no device has: correct the name",
					claim.Object.Namespace, claim.Object.Name, name)}
			}
		}
		for class := range claim.Usage.Classes {
			if !slices.Contains(classes, class) {
				classes = append(classes, class)
			}
		}
	}
	slices.Sort(classes)
	message := "No node has the devices that it asks for free, of " + strings.Join(classes, ", ") + "; its queue's quota would allow them."
	var named []string
	for _, o := range p.outsiders() {
		if slices.Contains(classes, o.class) {
			named = append(named, fmt.Sprintf("%d of %s by %s", o.count, o.class, o.who))
		}
	}
	if more := len(named) - mostOutsiders; more > 0 {
		named = append(named[:mostOutsiders], fmt.Sprintf("and %d more", more))
	}
	if len(named) > 0 {
		message += " Devices held outside of Volcano's queues: " + strings.Join(named, ", ")
	}
	return refusal{reason: insufficientDevices, message: message}
}

// outsiders are looked for once in a session, and only if somebody lacks devices.
func (p *plugin) outsiders() []outsider {
	if p.outside != nil {
		return p.outside
	}
	p.outside = []outsider{}
	claims, err := p.source.Claims()
	if err != nil {
		klog.ErrorS(err, "Failed to list claims")
	}
	charged := map[*resourceapi.ResourceClaim]bool{}
	for claim := range p.process.claims.All {
		_, leaves := p.leaving[claim.Part]
		charged[claim.Object] = leaves || p.ledger.Charged(claim.Part)
	}
	for _, claim := range claims {
		if claim.Status.Allocation == nil || charged[claim] {
			continue
		}
		usage, err := dra.Allocated(&claim.Spec, claim.Status.Allocation, p.catalog)
		if err != nil {
			continue
		}
		counts := map[string]int{}
		for class := range usage.Classes {
			counts[class]++
		}
		for class, n := range counts {
			p.outside = append(p.outside, outsider{class: class, count: n, who: p.consumerOf(claim)})
		}
	}
	slices.SortFunc(p.outside, func(a, b outsider) int { return strings.Compare(a.who+a.class, b.who+b.class) })
	return p.outside
}

// consumerOf says who uses a claim, by the first consumer if there are several.
func (p *plugin) consumerOf(claim *resourceapi.ResourceClaim) string {
	if len(claim.Status.ReservedFor) == 0 {
		return "ResourceClaim " + claim.Namespace + "/" + claim.Name + ", which nobody uses"
	}
	consumer := claim.Status.ReservedFor[0]
	who := fmt.Sprintf("%s %s/%s", strings.TrimSuffix(consumer.Resource, "s"), claim.Namespace, consumer.Name)
	pod, err := p.session.InformerFactory().Core().V1().Pods().Lister().Pods(claim.Namespace).Get(consumer.Name)
	if err == nil && pod.UID == consumer.UID {
		who += " of " + pod.Spec.SchedulerName
	}
	return who
}
