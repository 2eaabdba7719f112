// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
)

func TestAnEventOfACluster(t *testing.T) {
	recorder := record.NewFakeRecorder(1)
	recorder.IncludeObject = true
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}}
	newEvents(recorder).Cluster(cluster, corev1.EventTypeWarning, "CardsAndDevicesNotRead", "secrets is forbidden")
	const want = "Warning CardsAndDevicesNotRead secrets is forbidden involvedObject{kind=Cluster,apiVersion=cluster.karmada.io/v1alpha1}"
	if got := <-recorder.Events; got != want {
		t.Errorf("the event is %q, want %q", got, want)
	}
}
