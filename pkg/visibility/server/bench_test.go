// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/clock"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// largePublication has a number of queues and pods. Each queue counts cpu, memory, a class and its memory. Each pod has a device.
func largePublication(queues, pods int) *visibility.Published {
	dimensions := []v1alpha1.Dimension{
		{Kind: v1alpha1.Resource, Name: "cpu"}, {Kind: v1alpha1.Resource, Name: "memory"},
		{Kind: v1alpha1.Device, Name: "nvidia-h100"}, {Kind: v1alpha1.DeviceCapacity, Name: "nvidia-h100", Capacity: "memory"},
	}
	all := &visibility.Published{Snapshot: v1alpha1.Snapshot{Time: metav1.NowMicro(), Session: "session"}}
	quantity := func(i int) resource.Quantity { return *resource.NewQuantity(int64(i)<<20, resource.BinarySI) }
	for i := range queues {
		q := v1alpha1.Queue{Name: fmt.Sprintf("queue-%d", i), Parent: "root", State: "Open"}
		for j, d := range dimensions {
			limit := quantity(i + j + 1)
			q.Figures = append(q.Figures, v1alpha1.Figures{Dimension: d, Allocated: quantity(i), Request: quantity(i), Capability: &limit, Deserved: &limit, Limit: &limit})
		}
		all.Queues = append(all.Queues, q)
	}
	for i := range pods {
		var charged []v1alpha1.Amount
		for _, d := range dimensions {
			charged = append(charged, v1alpha1.Amount{Dimension: d, Amount: quantity(i + 1)})
		}
		namespace, name, queue, since := fmt.Sprintf("team-%d", i%100), fmt.Sprintf("pod-%d", i), fmt.Sprintf("queue-%d", i%queues), metav1.Now()
		all.Holders = append(all.Holders, v1alpha1.Holder{
			Object: v1alpha1.Object{Kind: "Pod", Namespace: namespace, Name: name, UID: "0ba1cd1c-5f0b-4b43-9bb1-1a2b3c4d5e6f"},
			Queue:  queue, Node: "node-1", State: v1alpha1.Holds, Since: &since, Charged: charged,
			Devices: []v1alpha1.DeviceID{{Claim: name + "-gpu-x7x2z", Driver: "gpu.example.com", Pool: "node-1", Device: "gpu-0"}},
		})
		all.Workloads = append(all.Workloads, v1alpha1.Workload{
			Namespace: namespace, Name: name, UID: "0ba1cd1c-5f0b-4b43-9bb1-1a2b3c4d5e6f", Queue: queue, Phase: "Inqueue", MinMember: 1, Created: since,
			Charged: charged, Waits: &v1alpha1.Refusal{Reason: "QuotaExceeded", Message: "Waits on node <node-1> for 1 pod to leave: team-1/pod-1", Pods: 1},
		})
	}
	return all
}

// BenchmarkAnswer measures answers to an administrator, and to a user with hidden names, with 1,000 queues and 10,000 pods.
func BenchmarkAnswer(b *testing.B) {
	publisher := visibility.New(clock.RealClock{})
	publisher.Publish(largePublication(1000, 10_000))
	for _, who := range []string{"administrator", "tenant"} {
		allowed := authorizer.AuthorizerFunc(func(_ context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
			if who == "administrator" || asked.GetResource() != "holders" || asked.GetNamespace() != "" {
				return authorizer.DecisionAllow, "", nil
			}
			return authorizer.DecisionNoOpinion, "", nil
		})
		s := &Server{publisher: publisher, access: &access{Authorizer: allowed}}
		s.leading.Store(true)
		handler := filters.WithRequestInfo(s.routes(), requestInfo)
		for _, path := range []string{"/queues", "/holders", "/holders?queue=queue-1", "/workloads", "/namespaces/team-1/workloads"} {
			b.Run(who+path, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					asked := httptest.NewRequest(http.MethodGet, versionPath+path, nil)
					asked.Header.Set("Accept-Encoding", "gzip")
					response := httptest.NewRecorder()
					handler.ServeHTTP(response, asked.WithContext(request.WithUser(asked.Context(), &user.DefaultInfo{Name: who})))
					if response.Code != http.StatusOK {
						b.Fatal(response.Body)
					}
				}
			})
		}
	}
}
