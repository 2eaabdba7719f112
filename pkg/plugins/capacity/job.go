package capacity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// minimum appends to a list, which may be nil, what a job needs at least to run, of resources.
func (p *plugin) minimum(job *api.JobInfo, list ledger.Amounts) ledger.Amounts {
	if job.PodGroup.Spec.MinResources == nil {
		return list
	}
	return p.process.resources.list(*job.PodGroup.Spec.MinResources, list)
}

// held is what a job's pods, as far as they exist, have and want of devices.
type held struct {
	// needed is what nobody has been charged for yet of what the job needs at least.
	needed ledger.Amounts
	// elastic is what the job has beyond what it needs at least.
	elastic ledger.Amounts
	// charged is what the job's pods have of devices, chargedCards of cards.
	charged, chargedCards ledger.Amounts
	// request is all that the job has and wants.
	request ledger.Amounts
	// cards is what nobody has been charged for yet of the cards that the job needs at least.
	cards demand.Least
	// any says that the job asks for devices or cards at all.
	any bool
}

// devicesOf takes as many pods as the job needs at least for its minimum, those that have
// something first, then the older ones.
func (p *plugin) devicesOf(job *api.JobInfo) held {
	var h held
	tasks := make([]*api.TaskInfo, 0, len(job.Tasks))
	for _, task := range job.Tasks {
		known := p.lookAt(task)
		h.any = h.any || known.hasClaims || known.cards != nil
		if api.AllocatedStatus(task.Status) || task.Status == api.Pending {
			tasks = append(tasks, task)
		}
	}
	if !h.any {
		return h
	}
	slices.SortFunc(tasks, func(a, b *api.TaskInfo) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), olderFirst(a, b))
	})
	seen := map[*ledger.Part]bool{}
	for i, task := range tasks {
		least := i < int(job.PodGroup.Spec.MinMember)
		h.addCards(task, p.lookAt(task), least)
		for _, claim := range p.lookAt(task).claims {
			if seen[claim.Part] {
				continue
			}
			seen[claim.Part] = true
			h.request = plus(h.request, claim.Part.Amounts)
			charged := p.ledger.Charged(claim.Part)
			if charged {
				h.charged = plus(h.charged, claim.Part.Amounts)
			}
			switch {
			case least && !charged && !task.SchGated:
				h.needed = plus(h.needed, claim.Part.Amounts)
			case !least && charged:
				h.elastic = plus(h.elastic, claim.Part.Amounts)
			}
		}
	}
	return h
}

// addCards adds what a pod has or wants of cards. Least says that the pod is one of those that the
// job needs at least. What all pods have is requested, too, and added elsewhere.
func (h *held) addCards(task *api.TaskInfo, known *pod, least bool) {
	cards := known.cards
	switch {
	case cards == nil:
	case api.AllocatedStatus(task.Status):
		h.chargedCards = plus(h.chargedCards, cards.part.Amounts)
		if !least {
			h.elastic = plus(h.elastic, cards.part.Amounts)
		}
	case known.cardsErr != nil:
		// It gets none before that is mended.
	default:
		h.request = plus(h.request, cards.Preferred())
		if !least || task.SchGated {
			return
		}
		if err := h.cards.Add(cards.Cards, 1); err != nil {
			klog.V(3).InfoS("The cards of a pod are not counted", "pod", klog.KObj(task.Pod), "reason", err.Error())
		}
	}
}

// rank sorts pods that have a node before those that wait for one.
func rank(task *api.TaskInfo) int {
	if api.AllocatedStatus(task.Status) {
		return 0
	}
	return 1
}

// needs is what a job needs at least.
type needs struct {
	amounts ledger.Amounts
	// choices are devices, splits cards, that pods may choose among.
	choices []demand.Choice
	splits  []ledger.Split
	// devices says that the job asks for devices or cards at all, cards that it asks for cards.
	devices, cards bool
}

// neededDevices is what a job that has what h says needs at least of devices and cards in addition: by
// its pods if there are enough of them, else by the templates that they will be made from, or by what
// the job says itself. The error says why it cannot be told.
func (p *plugin) neededDevices(job *api.JobInfo, h held) (needs, error) {
	n := needs{amounts: h.needed, devices: h.any}
	if enough := len(job.Tasks) >= int(job.PodGroup.Spec.MinMember); enough && len(job.Tasks) > 0 {
		n.addCards(h.cards)
		return n, nil
	}
	object, err := p.volcanoJob(job)
	if err != nil {
		return n, err
	}
	before, err := p.cardsBeforePods(job, object)
	if err != nil {
		return n, err
	}
	if !before.Empty() {
		h.cards = before.Without(h.chargedCards) // pods are being made
	}
	if object != nil && p.source.devices != nil {
		minimum, err := demand.OfJob(object, p.source, p.process.claims, p.priorityOf)
		if err != nil {
			return needs{}, err
		}
		n.amounts, n.choices = minimum.Amounts.Beyond(h.charged, nil), minimum.Choices
		for _, claim := range minimum.Named {
			if !p.ledger.Charged(claim.Part) {
				n.amounts = plus(n.amounts, claim.Part.Amounts)
			}
		}
		n.devices = n.devices || len(minimum.Amounts)+len(minimum.Choices)+len(minimum.Named) > 0
	}
	n.addCards(h.cards)
	return n, nil
}

func (n *needs) addCards(cards demand.Least) {
	n.amounts, n.splits = plus(n.amounts, cards.Amounts), cards.Splits
	n.cards = !cards.Empty()
	n.devices = n.devices || n.cards
}

// cardsBeforePods is what a job without enough pods needs of cards in all: by the templates of a Volcano Job or
// else, if those ask for none, by what the job says itself.
func (p *plugin) cardsBeforePods(job *api.JobInfo, object *batchv1alpha1.Job) (demand.Least, error) {
	fleet, dimensions := &p.process.cards.fleet, &p.process.dimensions
	// What it says itself is read in any case, so that mistakes in it are told.
	request, err := demand.OfRequest(job.PodGroup.Annotations, fleet, dimensions)
	if object == nil || err != nil {
		return request, wrongCards(err)
	}
	least, err := demand.CardsOfJob(object, fleet, dimensions, p.priorityOf)
	if err == nil && least.Empty() {
		return request, nil
	}
	return least, wrongCards(err)
}

// cardsError says that what a job asks for of cards makes no sense.
type cardsError struct{ error }

func wrongCards(err error) error {
	if err == nil {
		return nil
	}
	return cardsError{err}
}

// volcanoJob returns the Job that a PodGroup was made for; nil when it was made for something
// else.
func (p *plugin) volcanoJob(job *api.JobInfo) (*batchv1alpha1.Job, error) {
	owner := metav1.GetControllerOf(&job.PodGroup.PodGroup)
	if owner == nil || owner.Kind != "Job" || !strings.HasPrefix(owner.APIVersion, batchv1alpha1.GroupName+"/") || p.process.jobs == nil {
		return nil, nil
	}
	object, err := p.process.jobs.Jobs(job.Namespace).Get(owner.Name)
	if err != nil || object.UID != owner.UID {
		return nil, fmt.Errorf("its Job %s/%s has not been read from the API server yet; if this lasts, check that the scheduler may list and watch jobs.batch.volcano.sh", job.Namespace, owner.Name)
	}
	return object, nil
}

// priorityOf is the value of a PriorityClass; zero when there is none.
func (p *plugin) priorityOf(class string) int32 {
	if class == "" {
		return 0
	}
	object, err := p.session.InformerFactory().Scheduling().V1().PriorityClasses().Lister().Get(class)
	if err != nil {
		return 0
	}
	return object.Value
}
