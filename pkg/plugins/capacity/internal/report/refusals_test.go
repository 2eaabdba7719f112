// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// exceeded is a refusal of four, with a total of five and a limit of three.
func exceeded(kind ledger.Kind, name string) *ledger.Refusal {
	return &ledger.Refusal{Queue: "q", Dimension: ledger.Dimension{Kind: kind, Name: name}, Requested: ledger.Units(4), WouldBe: ledger.Units(5), Limit: ledger.Units(3)}
}

// TestRefusals checks the words of every refusal.
func TestRefusals(t *testing.T) {
	const numbers = "requested <4>, total would be <5>, but capability is <3>; this does not fit even when the queue is empty: ask for less, or for more quota"
	for _, c := range []struct {
		refusal         Refusal
		reason, message string
	}{
		{QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.Resource, "cpu")}}, "InsufficientCPUQuota", "Queue <q> has insufficient <cpu> quota: " + numbers},
		{
			QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.Resource, "cpu")}, NoNode: "No node has as much <cpu> as a pod requests: the largest has <2>"}, "NeverFits",
			"No node has as much <cpu> as a pod requests: the largest has <2>. Queue <q> has insufficient <cpu> quota: " + numbers,
		},
		{
			QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.Resource, "memory")}}, "InsufficientMemoryQuota",
			"Queue <q> has insufficient <memory> quota: " + numbers,
		},
		{QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.Resource, "nvidia.com/gpu")}}, "InsufficientScalarQuota", "Queue <q> has insufficient <nvidia.com/gpu> quota: " + numbers},
		{QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.Card, "H100")}}, "InsufficientScalarQuota", "Queue <q> has insufficient <H100> quota: " + numbers},
		{QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.DeviceCount, "cpu")}}, "InsufficientScalarQuota", "Queue <q> has insufficient <cpu> quota: " + numbers},
		{
			QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.Card, "H100"), NoCardQuota: true}}, "EmptyQueueCapability",
			"Queue <q> has insufficient <H100> quota: " + numbers + "; the queue has no card quota: list the card in its annotation volcano.sh/card.quota",
		},
		{QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.DeviceCount, "h100"), NoCardQuota: true}}, "InsufficientScalarQuota", "Queue <q> has insufficient <h100> quota: " + numbers},
		{
			QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.Card, "H100")}, OtherCards: []string{"A", "B", "C", "D", "E"}}, "InsufficientScalarQuota",
			"Queue <q> has insufficient <H100> quota: " + numbers + "; nor is there quota for another card that the pod may get: A, B, C, D, E",
		},
		{
			QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.Card, "H100")}, OtherCards: []string{"A", "B", "C", "D", "E", "F", "G"}}, "InsufficientScalarQuota",
			"Queue <q> has insufficient <H100> quota: " + numbers + "; nor is there quota for another card that the pod may get: A, B, C, D, E, and 2 more",
		},
		{
			NoNodeForOtherCards{
				QuotaExceeded: QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.Card, "A")}}, Others: []string{"B"},
				Nodes: "0/3 nodes are unavailable: 1 Insufficient nvidia.com/gpu, 2 Queue <q> has insufficient <A> quota: " + numbers + ".",
			}, "InsufficientScalarQuota",
			"Queue <q> has insufficient <A> quota: " + numbers + "; there is quota for B, but no node for the pod: 0/3 nodes are unavailable: 1 Insufficient nvidia.com/gpu, 2 no quota for <A>.",
		},
		{
			QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.DeviceCount, "h100"), NoDeviceQuota: true}}, "EmptyQueueCapability",
			"Queue <q> has insufficient <h100> quota: " + numbers + "; no queue on the way to the root lists the class, which deviceQuotaRequired demands: list it in spec.dra.capability of the queue or of a queue above it",
		},
		{
			QuotaExceeded{Quota: refusals.Quota{Refusal: exceeded(ledger.DeviceCount, "h100")}, AskedFor: []string{"gpu", "any"}}, "InsufficientScalarQuota",
			"Queue <q> has insufficient <h100> quota: " + numbers + "; the pod asks for devices of gpu, any, and a device counts for every limited class that it matches",
		},
		{
			DevicesUnlisted{"q", "gpu"}, "EmptyQueueCapability",
			"Queue <q> has no quota for devices of class <gpu>, nor for another class that such a device matches: no queue on the way to the root lists the class, which deviceQuotaRequired demands: list it in spec.dra.capability of the queue or of a queue above it",
		},
		{PodUnknown{}, "", "The scheduler has not read the pod yet"},
		{Uncountable{errors.New("why")}, "GetTaskRequestResourceFailed", "The demand cannot be counted against the quota of the queue: why"},
		{
			Uncountable{fmt.Errorf("task t: %w", &dra.NotCreatedError{PodClaim: "gpu", Namespace: "ns", Template: "t"})}, "",
			"The demand cannot be counted against the quota of the queue: task t: the ResourceClaim for gpu has not been created from ResourceClaimTemplate ns/t yet",
		},
		{
			EachWay{[][]corev1.ResourceName{{"example.com/gpu"}, nil}, []Refusal{Unplaceable{errors.New("no devices")}, CardUnnamed{"example.com/gpu"}}}, "GetTaskRequestResourceFailed",
			"On nodes where DRA serves example.com/gpu: no devices; on nodes with device plugins: The demand cannot be counted against the quota of the queue: it requests example.com/gpu, and no node's labels say which card that is: label the nodes, as with nvidia.com/gpu.product",
		},
		{EachWay{[][]corev1.ResourceName{{"example.com/gpu"}, nil}, []Refusal{PodUnknown{}, PodUnknown{}}}, "", "The scheduler has not read the pod yet"},
		{
			CardUnnamed{"nvidia.com/gpu"}, "GetTaskRequestResourceFailed",
			"The demand cannot be counted against the quota of the queue: it requests nvidia.com/gpu, and no node's labels say which card that is: label the nodes, as with nvidia.com/gpu.product",
		},
		{Unplaceable{errors.New("ResourceClaim ns/c is full")}, "GetTaskRequestResourceFailed", "ResourceClaim ns/c is full"},
		{ClaimBusy{Claim: "ns/c", Why: "is losing devices"}, "", "ResourceClaim ns/c is losing devices"},
		{
			ProtectedByGangs{Refusal: Unplaceable{errors.New("No node has them.")}, Pods: 4}, "GetTaskRequestResourceFailed",
			"No node has them. The queue deserves them, but <4> pods that have them belong to gangs that need all their pods: the argument reclaimGangs of the plugin allows to evict whole gangs.",
		},
		{PickFailed{errors.New("why")}, "GetTaskRequestResourceFailed", "The scheduler cannot pick devices: why"},
		{UnknownCapacity{Claim: "ns/c", Capacity: "memroy"}, "GetTaskRequestResourceFailed", "ResourceClaim ns/c asks for a capacity memroy, which no device has: correct the name"},
		{
			InsufficientDevices{Classes: []string{"h100"}, Together: true}, "InsufficientDevices",
			"No HyperNode that the job may use has enough free devices of h100 on suitable nodes; the quota of the queue allows them.",
		},
		{InsufficientDevices{Classes: []string{"a100", "h100"}}, "InsufficientDevices", "No node has enough free devices of a100, h100; the quota of the queue allows them."},
		{
			InsufficientDevices{Classes: []string{"h100"}, AtRoot: []RootHolder{{"h100", 2, "pod ns/p"}}}, "InsufficientDevices",
			"No node has enough free devices of h100; the quota of the queue allows them. Devices that are held by no known queue, and charged to queue <root>: 2 of h100 by pod ns/p",
		},
		{
			CapacityInUseUnknown{
				Queue: "q", Capacity: ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "h100", Capacity: "memory"},
				Device: dra.DeviceID{Driver: "driver", Pool: "n1", Device: "gpu-0"}, Claim: "ns/c",
			}, "GetTaskRequestResourceFailed",
			"Queue <q> limits <h100/memory>, but no ResourceSlice lists device driver/n1/gpu-0 of ResourceClaim ns/c any more, so that its capacity is not known: start its driver again, or delete the claim",
		},
		{&NotReady{Subject: Devices, Why: "why"}, "", "The scheduler cannot allocate devices yet: why"},
		{&NotReady{Subject: Cards, Queue: "q", Why: "why"}, "", "Queue <q> cannot use cards: why"},
		{
			CatchingUp(Cards, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}), "",
			"The scheduler cannot allocate cards yet: the scheduler has just started and is still reading pods that hold devices or cards or have a nominated node, ns/p among them",
		},
	} {
		expectWords(t, c.refusal, c.reason, c.message)
	}
}
