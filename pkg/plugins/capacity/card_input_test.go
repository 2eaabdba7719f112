package capacity

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/card"
)

// TestQuotasThatCannotBeRead: the last good one holds; who never had one may use no card.
func TestQuotasThatCannotBeRead(t *testing.T) {
	p := &plugin{process: newProcess(), problems: map[problem]string{}}
	queue := func(quota string) *schedulingv1beta1.Queue {
		return &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "q", UID: types.UID("1"), Annotations: map[string]string{schedulingv1beta1.CardQuotaAnnotation: quota}}}
	}
	for _, step := range []struct {
		name, quota, want, problem string
		none                       bool
	}{
		{name: "never a good one", quota: "8 H100", problem: "is wrong at character 1: it is not an object; write a JSON object of card names and whole numbers, such as {\"NVIDIA-H200\": 8}; until then, none of its pods may use a card"},
		{name: "a good one", quota: `{"H100": 8}`, want: "H100:8"},
		{name: "a bad one", quota: `{"H100": -8}`, want: "H100:8", problem: "-8 for H100 is not a whole number from 0 to 9223372036854775807"},
		{name: "still a bad one", quota: `{"H100": 8`, want: "H100:8", problem: "until then, its last quota holds"},
		{name: "taken away", none: true},
		{name: "and then a bad one", quota: `[]`, problem: "none of its pods may use a card"},
	} {
		clear(p.problems)
		object := queue(step.quota)
		if step.none {
			object.Annotations = nil
		}
		cards, lists := p.cardQuota(object)
		var got []string
		for _, e := range cards {
			got = append(got, p.process.dimensions.Dimension(e.Dimension).Name+":"+e.Amount.String())
		}
		if strings.Join(got, " ") != step.want || lists == step.none {
			t.Errorf("%s: %v, a list: %t", step.name, got, lists)
		}
		if message := p.problems[problem{"q", quotaNotRead}]; !strings.Contains(message, step.problem) || step.problem == "" && message != "" {
			t.Errorf("%s: problem %q, want %q", step.name, message, step.problem)
		}
	}
}

func TestNodesThatCannotBeReadAreReportedOnce(t *testing.T) {
	s := newScene(8).model(1, "H100").queue("root", "", nil)
	s.Nodes[0].Labels["nvidia.com/gpu.memory"] = "80GB"
	ssn := s.open(t)
	expectEvent(t, ssn.KubeClient(), "Node", "n1", cardsNotRead, `its label nvidia.com/gpu.memory is "80GB": write a whole number of MiB`)
	events := record.NewFakeRecorder(10)
	known := pluginOf(ssn).process.cards
	known.noteAll()
	known.refresh(nil, events)
	if len(events.Events) != 0 {
		t.Errorf("the same again: %s", <-events.Events)
	}
}

// TestStartWaitsForPodsThatHoldCards: what is not known yet is not given away again.
func TestStartWaitsForPodsThatHoldCards(t *testing.T) {
	s := newScene(8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil).queue("free", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 2}`})
	s.queue("unread", "root", nil) // the informer does not have it yet
	stranger := gpuPod("stranger", "n1", 1, "")
	stranger.Annotations[scheduling.KubeGroupNameAnnotationKey] = "not-read-yet"
	s.job("j", "q", inqueue, nil, gpuPod("next", "", 1, "H100")).job("k", "free", inqueue, nil, gpuPod("unlimited", "", 1, "H100"))
	s.job("l", "unread", inqueue, nil, gpuPod("unread", "", 1, "H100"))
	ssn := s.open(t)
	p := pluginOf(ssn)
	expect := func(what string, next bool) {
		t.Helper()
		for queue, pod := range map[string]string{"q": "next", "free": "unlimited", "unread": "unread"} {
			if got, want := ssn.Allocatable(ssn.Queues[api.QueueID(queue)], taskOf(ssn, pod)), queue == "free" || queue == "q" && next; got != want {
				t.Errorf("%s: pod %s may run: %t, want %t", what, pod, got, want)
			}
		}
	}
	expect("all pods are known", true)
	if err := ssn.InformerFactory().Core().V1().Pods().Informer().GetStore().Add(stranger); err != nil {
		t.Fatal(err)
	}
	p.process.caughtUp = false
	p.behind = p.whyBehind()
	expect("one is not known", false)
	p.process.startTime = p.process.startTime.Add(-catchUpLimit)
	p.behind = p.whyBehind()
	expect("one will never be known", true)
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		name      string
		arguments framework.Arguments
		want      card.ResourceNames
	}{
		{name: "none"},
		{name: "a list", arguments: framework.Arguments{cardResourceNames: []any{"nvidia.com/gpu", "nvidia.com/mig-*"}}, want: card.ResourceNames{"nvidia.com/gpu", "nvidia.com/mig-*"}},
		{name: "a string", arguments: framework.Arguments{cardResourceNames: "nvidia.com/gpu, nvidia.com/mig-*"}, want: card.ResourceNames{"nvidia.com/gpu", "nvidia.com/mig-*"}},
		{name: "no strings", arguments: framework.Arguments{cardResourceNames: []any{1}}},
		{name: "no list", arguments: framework.Arguments{cardResourceNames: 1}},
		{name: "no pattern", arguments: framework.Arguments{cardResourceNames: "nvidia.com/["}},
	} {
		if got := readSettings(Name, c.arguments).cardResources; !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if s := readSettings(CardName, nil); !s.cardQuotaRequired || !s.cardsOnly || s.nodeOrderWeight != 1 || s.unlimitedCards {
		t.Errorf("defaults of %s are %+v", CardName, s)
	}
	if s := readSettings(Name, framework.Arguments{nodeOrderWeight: 0.5}); s.cardQuotaRequired || s.cardsOnly || s.nodeOrderWeight != 0.5 {
		t.Errorf("settings of %s are %+v", Name, s)
	}
}
