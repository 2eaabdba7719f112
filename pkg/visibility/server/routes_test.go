// SPDX-License-Identifier: Apache-2.0

package server

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// everything are the rights to see all resources.
var everything = []string{
	"root list queues", "root get queues", "root list workloads", "root list holders", "root get holders", "root list history", "root list updates",
	"root list workloads team-a", "root list holders team-a", "root get pods/explanation team-a",
}

func amounts(names ...string) []v1alpha1.Amount {
	var all []v1alpha1.Amount
	for _, name := range names {
		class, capacity, _ := strings.Cut(name, "/")
		kind := v1alpha1.Device
		if capacity != "" {
			kind = v1alpha1.DeviceCapacity
		}
		all = append(all, v1alpha1.Amount{Dimension: v1alpha1.Dimension{Kind: kind, Name: class, Capacity: capacity}, Amount: resource.MustParse("1")})
	}
	return all
}

func holder(namespace, name, queue string, charged ...string) v1alpha1.Holder {
	return v1alpha1.Holder{Object: v1alpha1.Object{Kind: "Pod", Namespace: namespace, Name: name}, Queue: queue, Charged: amounts(charged...)}
}

func published() *visibility.Published {
	return &visibility.Published{
		Snapshot: v1alpha1.Snapshot{Session: "s1"},
		Queues:   []v1alpha1.Queue{{Name: "root"}, {Name: "a", Parent: "root"}, {Name: "a-1", Parent: "a"}, {Name: "b", Parent: "root"}},
		Workloads: []v1alpha1.Workload{
			{Namespace: "team-a", Name: "old", Queue: "a-1"}, {Namespace: "team-b", Name: "new", Queue: "b"},
		},
		Holders: []v1alpha1.Holder{
			holder("team-a", "p1", "a-1", "cpu", "h100"), holder("team-b", "p2", "b", "h100/memory"), holder("team-a", "p3", "a", "cpu"),
		},
	}
}

// newPublishedFixture returns a server with a publication that root may see.
func newPublishedFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.cluster.allow(everything...)
	f.publisher.Publish(published())
	return f
}

func TestListsAreOfWhatIsAskedFor(t *testing.T) {
	f := newPublishedFixture(t)
	names := func(told *v1alpha1.HolderList) (all []string) {
		for _, h := range told.Items {
			all = append(all, h.Name)
		}
		return all
	}
	for path, want := range map[string]string{
		"/holders":                                     "[p1 p2 p3]",
		"/namespaces/team-a/holders":                   "[p1 p3]",
		"/holders?queue=root":                          "[p1 p2 p3]",
		"/holders?queue=a":                             "[p1 p3]",
		"/holders?queue=b":                             "[p2]",
		"/holders?dimension=h100":                      "[p1 p2]",
		"/holders?dimension=h100/memory":               "[p2]",
		"/holders?dimension=cpu&queue=a-1":             "[p1]",
		"/namespaces/team-a/holders?dimension=nothing": "[]",
	} {
		if got := fmt.Sprint(names(told[v1alpha1.HolderList](f, token("root"), path))); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if told := told[v1alpha1.WorkloadList](f, token("root"), "/namespaces/team-a/workloads"); len(told.Items) != 1 || told.Items[0].Name != "old" || told.Snapshot.Session != "s1" {
		t.Errorf("workloads of a namespace: %+v", told)
	}
	if told := told[v1alpha1.QueueList](f, token("root"), "/queues/a"); len(told.Items) != 1 || told.Items[0].Name != "a" || told.Kind != "QueueList" {
		t.Errorf("one queue: %+v", told)
	}
	for _, path := range []string{"/queues/none", "/holders?queue=none"} {
		if status, body := f.ask(token("root"), versionPath+path); status != http.StatusNotFound || !strings.Contains(body, `queues.visibility.devicequota.io \"none\" not found`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestAReplicaThatDoesNotLeadSaysSo(t *testing.T) {
	f := newFixture(t, func(s *Server) { s.leading.Store(false) })
	f.cluster.allow(everything...)
	for _, path := range []string{"/queues", "/workloads", "/holders", "/history", "/updates", "/namespaces/team-a/pods/p/explanation"} {
		if status, body := f.ask(token("root"), versionPath+path); status != http.StatusServiceUnavailable || !strings.Contains(body, "this replica of the scheduler does not lead") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestAnAnswerWaitsForASessionForSomeTime(t *testing.T) {
	f := newFixture(t, func(s *Server) { s.patience = time.Second })
	f.cluster.allow(everything...)
	if status, body := f.ask(token("root"), versionPath+"/queues"); status != http.StatusServiceUnavailable || !strings.Contains(body, "no session of the scheduler has ended") {
		t.Errorf("%d %s", status, body)
	}
	f = newFixture(t)
	f.cluster.allow(everything...)
	go func() {
		for !f.publisher.Wanted() {
			time.Sleep(time.Millisecond)
		}
		f.publisher.Publish(published())
	}()
	told[v1alpha1.QueueList](f, token("root"), "/queues")
}

// session answers questions until the test ends.
func (f *fixture) session(answer func(*visibility.Question) (*v1alpha1.Explanation, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			f.publisher.AnswerQuestions(answer)
			time.Sleep(time.Millisecond)
		}
	}()
	f.t.Cleanup(func() { cancel(); <-ended })
}

func TestQuestionsReachTheSession(t *testing.T) {
	f := newFixture(t)
	f.cluster.allow("root get holders", "root get pods/explanation team-a", "root get podgroups/explanation team-a", "root get jobs/explanation team-a")
	f.publisher.Publish(published())
	f.session(func(q *visibility.Question) (*v1alpha1.Explanation, error) {
		switch q.Name {
		case "gone":
			return nil, visibility.ErrNotFound
		case "odd":
			return nil, errors.New("the pod has no queue")
		}
		return &v1alpha1.Explanation{Subject: v1alpha1.Object{Kind: q.Kind, Namespace: q.Namespace, Name: q.Name}}, nil
	})
	for resource, kind := range kinds {
		told := told[v1alpha1.Explanation](f, token("root"), "/namespaces/team-a/"+resource+"/x/explanation")
		if want := (v1alpha1.Object{Kind: kind, Namespace: "team-a", Name: "x"}); told.Subject != want || told.Kind != "Explanation" {
			t.Errorf("%s: %+v", resource, told)
		}
	}
	for resource, want := range map[string]string{
		"pods": "the scheduler knows no Pod team-a/gone", "podgroups": "the scheduler knows no PodGroup team-a/gone",
		"jobs": "the scheduler knows no Job of Volcano team-a/gone; it may be a Job of Kubernetes, whose pods can be explained",
	} {
		if _, body := f.ask(token("root"), versionPath+"/namespaces/team-a/"+resource+"/gone/explanation"); !strings.Contains(body, `"message":"`+want+`"`) {
			t.Errorf("%s: %s, want %q", resource, body, want)
		}
	}
	for name, want := range map[string]int{"gone": http.StatusNotFound, "odd": http.StatusInternalServerError} {
		if status, body := f.ask(token("root"), versionPath+"/namespaces/team-a/pods/"+name+"/explanation"); status != want {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestTooManyQuestionsAreRefused(t *testing.T) {
	f := newPublishedFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := 0
	for err := error(nil); !errors.Is(err, visibility.ErrBusy); waiting++ {
		short, stop := context.WithTimeout(ctx, time.Millisecond)
		defer stop()
		go f.publisher.Explain(ctx, "Pod", "team-a", fmt.Sprint("waits-", waiting))
		_, err = f.publisher.Explain(short, "Pod", "team-a", "asks")
	}
	status, body := f.ask(token("root"), versionPath+"/namespaces/team-a/pods/x/explanation")
	if status != http.StatusTooManyRequests || !strings.Contains(body, "too many questions") {
		t.Errorf("%d %s", status, body)
	}
}

func TestLargeAnswersAreCompressed(t *testing.T) {
	f := newFixture(t)
	f.cluster.allow(everything...)
	large := published()
	for i := range 2000 {
		large.Queues = append(large.Queues, v1alpha1.Queue{Name: fmt.Sprintf("queue-with-a-long-name-%d", i), Parent: "root", State: "Open"})
	}
	f.publisher.Publish(large)
	who := token("root")
	who.headers["Accept-Encoding"] = "gzip"
	response := f.request(t.Context(), who, http.MethodGet, versionPath+"/queues")
	defer response.Body.Close()
	if got := response.Header.Get("Content-Encoding"); got != "gzip" {
		t.Fatalf("Content-Encoding: %q", got)
	}
	var list v1alpha1.QueueList
	if err := json.NewDecoder(must(gzip.NewReader(response.Body))(t)).Decode(&list); err != nil || len(list.Items) != len(large.Queues) {
		t.Errorf("%d queues, %v", len(list.Items), err)
	}
}

func TestHistoryIsInOrder(t *testing.T) {
	f := newFixture(t)
	f.cluster.allow(everything...)
	values := map[visibility.SeriesKey]float64{}
	for _, queue := range []string{"b", "a"} {
		for _, class := range []string{"h100", "a100"} {
			values[visibility.SeriesKey{Queue: queue, Dimension: v1alpha1.Dimension{Kind: v1alpha1.Device, Name: class}}] = 1
		}
	}
	f.publisher.Record(values)
	var got []string
	for _, series := range told[v1alpha1.History](f, token("root"), "/history").Items {
		got = append(got, series.Queue+" "+series.Name)
	}
	if want := "[a a100 a h100 b a100 b h100]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestAnswersSayWhichSchedulerGivesThem(t *testing.T) {
	f := newPublishedFixture(t)
	for _, path := range []string{"/queues", "/workloads", "/holders"} {
		got := told[struct{ Snapshot v1alpha1.Snapshot }](f, token("root"), path).Snapshot
		if got.Scheduler != process.Host || got.Version != process.Version || got.Session != "s1" {
			t.Errorf("%s: %+v, want %+v and the session", path, got, process)
		}
	}
}

func TestTheConfigurationInForceIsToldToWhoMaySeeIt(t *testing.T) {
	f := newFixture(t)
	f.cluster.allow(everything...)
	if status, _ := f.ask(token("guest"), versionPath+"/configuration"); status != http.StatusForbidden {
		t.Errorf("without the right: %d", status)
	}
	f.cluster.allow("root list configuration")
	if got := told[v1alpha1.Configuration](f, token("root"), "/configuration"); got.Kind != "Configuration" || got.Text != process.Configuration() {
		t.Errorf("got %+v", got)
	}
}
