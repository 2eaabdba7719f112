// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
)

// tally counts the pods of a job.
type tally struct {
	// submitted says that the Job exists. Before that, all numbers are zero.
	submitted bool
	// waiting includes pods that have not been created yet.
	running, waiting, done int
	// why is the message of the last event about the quota; empty if there is none.
	why string
}

// state is the state of an act in the API server.
type state struct {
	jobs [2]tally
	// devices is the number of devices in the claims of all pods, cards the number of cards of a device
	// plugin that pods with a node request.
	devices, cards int
}

// reader reads the state of an act.
type reader struct {
	act     *act
	kube    kubernetes.Interface
	volcano volcano.Interface
}

func newReader(config *rest.Config, a *act) (*reader, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	vc, err := volcano.NewForConfig(config)
	return &reader{act: a, kube: kube, volcano: vc}, err
}

func (r *reader) read(ctx context.Context) (state, error) {
	all := metav1.ListOptions{}
	// Claims are read before pods: the devices of a pod that appears in between are counted the next time.
	claims, err := r.kube.ResourceV1().ResourceClaims(metav1.NamespaceDefault).List(ctx, all)
	if err != nil {
		return state{}, err
	}
	pods, err := r.kube.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, all)
	if err != nil {
		return state{}, err
	}
	jobs, err := r.volcano.BatchV1alpha1().Jobs(metav1.NamespaceDefault).List(ctx, all)
	if err != nil {
		return state{}, err
	}
	events, err := r.kube.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "reason=InsufficientScalarQuota"})
	if err != nil {
		return state{}, err
	}
	var s state
	for i, job := range r.act.jobs {
		s.jobs[i] = job.tally(jobs.Items, pods.Items, events.Items)
	}
	for i := range pods.Items {
		s.cards += cardsOf(&pods.Items[i])
	}
	for _, claim := range claims.Items {
		if claim.Status.Allocation != nil {
			s.devices += len(claim.Status.Allocation.Devices.Results)
		}
	}
	return s, nil
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

// cardsOf returns the number of cards that a pod uses.
func cardsOf(pod *corev1.Pod) int {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	cards := pod.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"]
	return int(cards.Value())
}
