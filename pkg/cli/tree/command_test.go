// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/cli/clitest"
)

// scheduler serves queues that allocate one more device with each update. Each connection has two updates.
func scheduler(t *testing.T, connections int) http.Handler {
	queues := clitest.Read[v1alpha1.QueueList](t, "queues.yaml")
	mux := http.NewServeMux()
	const api = "/apis/visibility.devicequota.io/v1alpha1"
	mux.HandleFunc(api+"/queues", func(w http.ResponseWriter, r *http.Request) {
		clitest.Answer(t, queues)(w, r)
		queues.Items[3].Figures[1].Allocated.Add(resource.MustParse("1"))
	})
	mux.HandleFunc(api+"/updates", func(w http.ResponseWriter, _ *http.Request) {
		if connections > 0 {
			fmt.Fprint(w, "data: {}\n\ndata: {}\n\n")
		}
		connections--
	})
	return mux
}

func TestWatchDrawsAfterEachUpdateUntilTheSchedulerIsGone(t *testing.T) {
	stdout, _, err := clitest.Run(t, scheduler(t, 2), New, "vision", "--watch", "-d", "NVIDIA-L4")
	if got, want := fmt.Sprint(err), "the scheduler has ended the stream of updates: run the command again"; got != want {
		t.Errorf("got the error %q, want %q", got, want)
	}
	for devices := range 7 { // each of three connections draws at once, and two draw after two updates
		if want := fmt.Sprintf("   %d       2   vision", devices); !strings.Contains(stdout, want) {
			t.Errorf("never drew %q:\n%s", want, stdout)
		}
	}
}

func TestProgramsGetWhatPeopleSee(t *testing.T) {
	stdout, _, err := clitest.Run(t, scheduler(t, 0), New, "vision", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var got v1alpha1.QueueList
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Items) != 1 || got.Items[0].Name != "vision" || len(got.Items[0].Figures) != 2 {
		t.Errorf("got %+v, want the two figures of vision", got.Items)
	}
}

func TestADimensionThatNoQueueHasIsSaid(t *testing.T) {
	stdout, _, err := clitest.Run(t, scheduler(t, 0), New, "-d", "nvidia-h1000")
	if want := "No queue has or lists nvidia-h1000; they have or list "; stdout != "" || err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("printed %q, and the error %v, want nothing, and %s", stdout, err, want)
	}
}

func TestCompletionOffersQueues(t *testing.T) {
	o, _, _ := clitest.Options(t, scheduler(t, 0))
	cmd := New(o)
	cmd.SetContext(t.Context())
	names, _ := cmd.ValidArgsFunction(cmd, nil, "r")
	if got, want := strings.Join(names, " "), "research root"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if names, _ := cmd.ValidArgsFunction(cmd, []string{"research"}, ""); len(names) > 0 {
		t.Errorf("offers a second queue: %v", names)
	}
}
