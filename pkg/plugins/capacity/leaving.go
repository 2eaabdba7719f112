package capacity

import (
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// leaving is a claim, or the cards, of a pod that is about to go. They are not charged any more where it is
// decided who may preempt, or one pod after the other would be asked to go for the same
// devices; but nobody gets them before they are back.
type leaving struct {
	queue  ledger.QueueID
	holder ledger.Holder
}

// leave stops charging a claim for a pod that is about to go.
func (p *plugin) leave(part *ledger.Part, l leaving) {
	if !p.ledger.Charged(part) {
		p.leaving[part] = l
	}
}

// held is the ledger with what pods that are about to go hold still: what counts where devices
// are handed out for good.
func (p *plugin) held() *ledger.Ledger {
	if len(p.leaving) == 0 {
		return p.ledger
	}
	if p.heldView != nil {
		return p.heldView
	}
	books := p.ledger.View()
	for part, l := range p.leaving {
		if err := books.Charge(l.queue, l.holder, ledger.Demand{part}); err != nil {
			klog.ErrorS(err, "Failed to charge a claim of a pod that is about to go", "holder", l.holder)
		}
	}
	p.heldView = books
	return books
}
