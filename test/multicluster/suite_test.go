// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	karmadaclient "github.com/karmada-io/karmada/pkg/generated/clientset/versioned"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"

	"github.com/devicequota/devicequota/pkg/client/clientset/versioned"
	"github.com/devicequota/devicequota/test/cluster"
)

// timeout bounds every wait for a condition. It is generous, because only a failing test waits so long.
const timeout = 4 * time.Minute

// The members.
const (
	east = "east"
	west = "west"
)

// clients are the clients of one API server.
type clients struct {
	kube   kubernetes.Interface
	vc     volcano.Interface
	queues versioned.Interface
}

var (
	multicluster *cluster.Karmada
	// hub has the clients of Karmada's own API server. Members has the clients of the members, by name.
	hub     clients
	members map[string]clients
	karmada karmadaclient.Interface
	// record has all changes on Karmada's API server.
	record *history
	// sampled has samples of the pods of all members.
	sampled *samples
)

func TestMulticluster(t *testing.T) {
	RegisterFailHandler(Fail)
	format.MaxLength = 0 // failures contain long histories
	SetDefaultEventuallyTimeout(timeout)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	if !RunSpecs(t, "devicequota with Karmada") {
		fmt.Println(strings.Join(reasons, "\n")) // last, because a part of the output may be all that is seen of a run
	}
}

// reasons say in short why specs failed.
var reasons []string

var _ = ReportAfterEach(func(spec SpecReport) {
	if spec.Failed() {
		why := spec.FailureMessage()
		reasons = append(reasons, fmt.Sprintf("%s: %s", spec.LeafNodeText, why[max(0, len(why)-600):]))
		for _, more := range spec.AdditionalFailures { // such as a program that has ended
			reasons = append(reasons, "and: "+more.Failure.Message)
		}
	}
})

var _ = BeforeSuite(func(context.Context) {
	both := filepath.Join("testdata", "both")
	member := cluster.Options{Manifests: []string{both, filepath.Join("testdata", "member")}, SchedulerArgs: []string{"--schedule-period=100ms"}}
	var err error
	multicluster, err = cluster.StartKarmada(context.Background(), cluster.KarmadaOptions{
		Manifests: []string{both, filepath.Join("testdata", "karmada")},
		Members:   []cluster.Member{{Name: east, Options: member}, {Name: west, Options: member}},
		OnReady: func(component string, took time.Duration) {
			GinkgoWriter.Printf("%-32s ready in %4.1f s\n", component, took.Seconds())
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(multicluster.Stop)
	hub = connect(multicluster.Config())
	members = map[string]clients{}
	for _, name := range []string{east, west} {
		members[name] = connect(multicluster.Member(name).Config())
	}
	karmada = karmadaclient.NewForConfigOrDie(multicluster.Config())
	record, err = watchHistory(multicluster.Config())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(record.end)
	sampled = samplePods(members[east].kube, members[west].kube)
	DeferCleanup(sampled.end)
	startDispatcher(context.Background(), "main", dispatcherConfig("", ""))
}, NodeTimeout(5*time.Minute))

func connect(config *rest.Config) clients {
	return clients{kubernetes.NewForConfigOrDie(config), volcano.NewForConfigOrDie(config), versioned.NewForConfigOrDie(config)}
}

var _ = AfterEach(func() {
	select {
	case err := <-multicluster.Failed():
		Fail(err.Error())
	default:
	}
})
