// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

func TestAFenceLetsNoWritePassWhenTheLeaseIsStale(t *testing.T) {
	written := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			written++
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"train"}}`))
	}))
	defer server.Close()
	c := &clock{now: time.Now()}
	l := lockOf(t, fake.NewClientset(), c)
	config := &rest.Config{Host: server.URL}
	config.Wrap(l.Fence(10 * time.Second))
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("team")
	bind := func() error {
		return pods.Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "train"}}, metav1.CreateOptions{})
	}
	for _, step := range []struct {
		what    string
		before  func()
		refused string
	}{
		{"before the process leads", func() {}, ""},
		{"while it leads", func() { hold(t, l) }, ""},
		{"as long as nobody else can lead", func() { c.advance(10 * time.Second) }, ""},
		{"when somebody else may lead", func() { c.advance(time.Millisecond) }, "the lease volcano-system/vc-test was last renewed 10.001s ago, so that another replica may lead"},
		{"when it has renewed the lease", func() { hold(t, l) }, ""},
	} {
		step.before()
		before := written
		err := bind()
		if step.refused == "" && (err != nil || written != before+1) || step.refused != "" && (err == nil || !strings.Contains(err.Error(), step.refused) || written != before) {
			t.Errorf("%s: %d are written, err is %v", step.what, written-before, err)
		}
		if _, err := pods.Get(t.Context(), "train", metav1.GetOptions{}); err != nil {
			t.Errorf("%s: a read does not pass: %v", step.what, err)
		}
	}
}
