// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
)

// tally counts the pods of a job.
type tally struct {
	// submitted reports whether the Job exists. Before that, all numbers are zero.
	submitted bool
	// waiting includes pods that have not been created yet.
	running, waiting, done int
	// why is the message of the last event about the quota, or empty if there is none.
	why string
}

// state is the state of an act in the API servers.
type state struct {
	jobs []tally
	// devices is the number of devices in the claims of all pods that have not ended, by member. cards is the number of
	// cards of a device plugin that pods with a node request.
	devices []int
	cards   int
	// pool counts, for each node of the act's pool, the cards of pods by their source.
	pool []served
}

// served counts the cards of pods on a node, by their source.
type served struct{ plugin, dra int }

func (s state) equal(other state) bool {
	return slices.Equal(s.jobs, other.jobs) && slices.Equal(s.devices, other.devices) && s.cards == other.cards && slices.Equal(s.pool, other.pool)
}

// inUse returns the number of devices in all members.
func (s state) inUse() int {
	sum := 0
	for _, n := range s.devices {
		sum += n
	}
	return sum
}

// reader reads the state of an act.
type reader struct {
	act *act
	// kube and volcano are clients of the API server for users. members are the clusters where pods run.
	kube    kubernetes.Interface
	volcano volcano.Interface
	members []kubernetes.Interface
}

func newReader(where *site, a *act) (*reader, error) {
	kube, err := kubernetes.NewForConfig(where.applier.Config())
	if err != nil {
		return nil, err
	}
	vc, err := volcano.NewForConfig(where.applier.Config())
	if err != nil {
		return nil, err
	}
	r := &reader{act: a, kube: kube, volcano: vc}
	for _, m := range where.members {
		client, err := kubernetes.NewForConfig(m.Config())
		if err != nil {
			return nil, err
		}
		r.members = append(r.members, client)
	}
	return r, nil
}

func (r *reader) read(ctx context.Context) (state, error) {
	all := metav1.ListOptions{}
	var s state
	var pods []corev1.Pod
	for _, m := range r.members {
		// Claims are read before pods, so the devices of a pod that appears in between are counted the next time.
		claims, err := m.ResourceV1().ResourceClaims(metav1.NamespaceDefault).List(ctx, all)
		if err != nil {
			return state{}, err
		}
		list, err := m.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, all)
		if err != nil {
			return state{}, err
		}
		pods = append(pods, list.Items...)
		s.devices = append(s.devices, devicesOf(claims.Items, list.Items))
	}
	jobs, err := r.volcano.BatchV1alpha1().Jobs(metav1.NamespaceDefault).List(ctx, all)
	if err != nil {
		return state{}, err
	}
	events, err := r.kube.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "reason=InsufficientScalarQuota"})
	if err != nil {
		return state{}, err
	}
	for _, job := range r.act.jobs {
		s.jobs = append(s.jobs, job.tally(jobs.Items, pods, events.Items))
	}
	for i := range pods {
		s.cards += cardsOf(&pods[i])
	}
	for _, node := range r.act.pool {
		s.pool = append(s.pool, servedOn(node, pods))
	}
	return s, nil
}

// devicesOf returns the number of devices in the claims of pods that have not ended.
func devicesOf(claims []resourcev1.ResourceClaim, pods []corev1.Pod) int {
	runs := map[types.UID]bool{}
	for i := range pods {
		runs[pods[i].UID] = pods[i].Status.Phase != corev1.PodSucceeded
	}
	devices := 0
	for _, claim := range claims {
		owner := metav1.GetControllerOf(&claim)
		if claim.Status.Allocation != nil && owner != nil && runs[owner.UID] {
			devices += len(claim.Status.Allocation.Devices.Results)
		}
	}
	return devices
}

func (j job) tally(jobs []batchv1alpha1.Job, pods []corev1.Pod, events []corev1.Event) tally {
	var t tally
	for i := range jobs {
		t.submitted = t.submitted || jobs[i].Name == j.name
	}
	if !t.submitted {
		return t
	}
	t.waiting = j.pods
	for i := range pods {
		if pods[i].Labels[batchv1alpha1.JobNameKey] == j.name {
			t.add(pods[i].Status.Phase)
		}
	}
	for _, event := range events {
		if strings.HasPrefix(event.InvolvedObject.Name, j.name+"-") {
			t.why = event.Message
		}
	}
	return t
}

func (t *tally) add(phase corev1.PodPhase) {
	switch phase {
	case corev1.PodRunning:
		t.running++
		t.waiting--
	case corev1.PodSucceeded:
		t.done++
		t.waiting--
	}
}

// servedOn counts the cards of pods on a node.
func servedOn(node string, pods []corev1.Pod) served {
	var s served
	for i := range pods {
		switch pod := &pods[i]; {
		case pod.Spec.NodeName != node:
		case pod.Status.ExtendedResourceClaimStatus != nil:
			s.dra += cardsOf(pod)
		default:
			s.plugin += cardsOf(pod)
		}
	}
	return s
}

// cardsOf returns the number of cards that a pod uses.
func cardsOf(pod *corev1.Pod) int {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	cards := pod.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"]
	return int(cards.Value())
}
