// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// backend stands for an API server. It answers each request with a ConfigMap, and sends to watches what is put into events.
type backend struct {
	events chan string

	mu    sync.Mutex
	asked []string
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.asked = append(b.asked, r.Method)
	b.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	object := func(name string) corev1.ConfigMap {
		return corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	if r.URL.Query().Get("watch") == "" {
		_ = encoder.Encode(object("c"))
		return
	}
	w.WriteHeader(http.StatusOK)
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case name := <-b.events:
			_ = encoder.Encode(map[string]any{"type": "ADDED", "object": object(name)})
		case <-r.Context().Done():
			return
		}
	}
}

// written returns the number of writes that reached the backend.
func (b *backend) written() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(b.asked), func(method string) bool { return method == http.MethodGet }))
}

type fixture struct {
	t       *testing.T
	backend *backend
	proxy   *Proxy
	kube    kubernetes.Interface
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, backend: &backend{events: make(chan string, 10)}}
	server := httptest.NewServer(f.backend)
	t.Cleanup(server.Close)
	f.proxy = must(t)(StartFor(&rest.Config{Host: server.URL}, 1))
	t.Cleanup(f.proxy.Stop)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := f.proxy.WriteKubeconfig(file); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	f.kube = kubernetes.NewForConfigOrDie(config)
	return f
}

func must(t *testing.T) func(*Proxy, error) *Proxy {
	return func(p *Proxy, err error) *Proxy {
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func (f *fixture) update(ctx context.Context) error {
	_, err := f.kube.CoreV1().ConfigMaps("n").Update(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.UpdateOptions{})
	return err
}

func (f *fixture) get(ctx context.Context) error {
	_, err := f.kube.CoreV1().ConfigMaps("n").Get(ctx, "c", metav1.GetOptions{})
	return err
}

func (f *fixture) watch() (watch.Interface, error) {
	w, err := f.kube.CoreV1().ConfigMaps("n").Watch(f.t.Context(), metav1.ListOptions{})
	if err == nil {
		f.t.Cleanup(w.Stop)
	}
	return w, err
}

// expectEvents checks the next events of a watch. The name of the end of a watch is empty.
func (f *fixture) expectEvents(w watch.Interface, names ...string) {
	f.t.Helper()
	for _, want := range names {
		got := ""
		if event, open := <-w.ResultChan(); open {
			if object, added := event.Object.(*corev1.ConfigMap); added {
				got = object.Name
			}
		}
		if got != want {
			f.t.Errorf("the next event is of %q, want %q", got, want)
		}
	}
}

func TestWithoutFaultsEverythingPasses(t *testing.T) {
	f := newFixture(t)
	w, err := f.watch()
	if err != nil {
		t.Fatal(err)
	}
	f.backend.events <- "first"
	f.backend.events <- "second"
	f.expectEvents(w, "first", "second")
	if err := f.update(t.Context()); err != nil || f.backend.written() != 1 {
		t.Errorf("%d writes, %v", f.backend.written(), err)
	}
	if got := f.proxy.Counts(); got["update configmaps"] != 1 || got["watch configmaps"] != 1 || len(got) != 2 {
		t.Errorf("counts are %v", got)
	}
}

func TestARefusedRequestDoesNotReachTheAPIServer(t *testing.T) {
	f := newFixture(t)
	f.proxy.Set(Faults{Refuse: 1})
	seen := map[metav1.StatusReason]bool{}
	for range 20 {
		// The client asks again after 429. A deadline ends that.
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		seen[apierrors.ReasonForError(f.update(ctx))] = true
		cancel()
	}
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonConflict, metav1.StatusReasonInternalError, metav1.StatusReasonTimeout} {
		if !seen[reason] {
			t.Errorf("no request was refused because of %s, but because of %v", reason, slices.Collect(maps.Keys(seen)))
		}
	}
	if counts := f.proxy.Counts(); counts["refused 429"] == 0 || counts["refused 409"] == 0 || f.backend.written() != 0 {
		t.Errorf("%d writes passed, counts are %v", f.backend.written(), counts)
	}
	f.proxy.Set(Faults{})
	if err := f.update(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestALostAnswerIsThatOfAWriteThatWasCarriedOut(t *testing.T) {
	f := newFixture(t)
	f.proxy.Set(Faults{Lose: 1})
	seen := map[metav1.StatusReason]bool{}
	for i := range 20 {
		err := f.update(t.Context())
		if err == nil || f.backend.written() != i+1 {
			t.Fatalf("%d writes were carried out, want %d; the client gets %v", f.backend.written(), i+1, err)
		}
		seen[apierrors.ReasonForError(err)] = true
	}
	if !seen[metav1.StatusReasonUnknown] || !seen[metav1.StatusReasonTimeout] {
		t.Errorf("the client gets no answer in some cases, and 504 in others: %v", seen)
	}
	if err := f.get(t.Context()); err != nil {
		t.Errorf("the answer to a read is lost: %v", err)
	}
}

func TestAStalledWriteReachesNobodyWhileTheClientWaits(t *testing.T) {
	f := newFixture(t)
	f.proxy.Set(Faults{Stall: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := f.update(ctx); !errors.Is(err, context.DeadlineExceeded) || f.backend.written() != 0 || f.proxy.Counts()["stall"] != 1 {
		t.Errorf("the client gets %v, and %d writes pass", err, f.backend.written())
	}
	if err := f.get(t.Context()); err != nil {
		t.Errorf("a read does not pass: %v", err)
	}
	f.proxy.Set(Faults{})
	if err := f.update(t.Context()); err != nil || f.backend.written() != 1 {
		t.Errorf("without faults, the client gets %v, and %d writes pass", err, f.backend.written())
	}
}

func TestAWatchThatIsDroppedMustListAgain(t *testing.T) {
	f := newFixture(t)
	f.proxy.Set(Faults{Drop: 1})
	w, err := f.watch()
	if err != nil {
		t.Fatal(err)
	}
	drop := func() {
		f.backend.events <- "lost"
		f.expectEvents(w, "")
	}
	drop()
	if _, err := f.watch(); !apierrors.IsResourceExpired(err) {
		t.Errorf("the next watch gets %v", err)
	}
	if w, err = f.watch(); err != nil {
		t.Fatal(err)
	}
	drop()
	f.proxy.Set(Faults{})
	if w, err = f.watch(); err != nil {
		t.Fatalf("the first watch without faults gets %v", err)
	}
	f.backend.events <- "next"
	f.expectEvents(w, "next")
}

func TestHeldEventsComeInTheirOrderWhenTheLastHolderReleasesThem(t *testing.T) {
	f := newFixture(t)
	w, err := f.watch()
	if err != nil {
		t.Fatal(err)
	}
	first, second := f.proxy.Hold("configmaps"), f.proxy.Hold("configmaps")
	f.backend.events <- "one"
	f.backend.events <- "two"
	first()
	first()
	if err := f.get(t.Context()); err != nil {
		t.Errorf("a request does not pass: %v", err)
	}
	select {
	case <-w.ResultChan():
		t.Error("an event passes")
	default:
	}
	second()
	f.expectEvents(w, "one", "two")
}

func TestNothingPassesAProxyThatIsCut(t *testing.T) {
	f := newFixture(t)
	restore := f.proxy.Cut()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := f.update(ctx); err == nil || f.backend.written() != 0 {
		t.Errorf("a write passes: %v", err)
	}
	answered := make(chan error)
	go func() { answered <- f.get(t.Context()) }()
	restore()
	if err := <-answered; err != nil {
		t.Errorf("a client that waits gets %v", err)
	}
}

func TestOneSeedMakesTheSameChoicesWhateverElseHappens(t *testing.T) {
	choices := func(seed uint64, disturbed bool) (all []time.Duration) {
		p := must(t)(StartFor(&rest.Config{Host: "https://127.0.0.1:1"}, seed))
		defer p.Stop()
		p.Set(Faults{Lag: map[string]time.Duration{"pods": time.Hour, "nodes": time.Hour}})
		for range 5 {
			if disturbed {
				p.fate("nodes")
			}
			lag, _ := p.fate("pods")
			all = append(all, lag)
		}
		return all
	}
	if first := choices(1, false); !slices.Equal(first, choices(1, true)) || slices.Equal(first, choices(2, false)) {
		t.Errorf("the choices are not a function of the seed: %v, %v, %v", first, choices(1, true), choices(2, false))
	}
}
