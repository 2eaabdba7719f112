package main

import (
	"bytes"
	"context"
	"io/fs"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/config"
	"github.com/devicequota/devicequota/test/cluster"
)

// apply applies a sample manifest, or all of a folder.
func apply(ctx context.Context, c *cluster.Cluster, sample string) error {
	var all bytes.Buffer
	err := fs.WalkDir(config.FS, sample, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := config.FS.ReadFile(path)
		all.WriteString("---\n")
		all.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	return c.ApplyYAML(ctx, "config/"+sample, all.Bytes())
}

// tally is how a job stands.
type tally struct {
	running, waiting, done int
	// why is what the last event about the quota says; empty if there is none.
	why string
}

// state is what a look at the API server shows.
type state struct {
	jobs [2]tally
	// devices is how many devices the claims of all pods hold, cards how many cards of a device plugin
	// pods with a node hold.
	devices, cards int
}

func observe(ctx context.Context, client kubernetes.Interface, a *act) (state, error) {
	// Claims before pods: a device that is taken is never missed, because the quota only
	// matters while its pod exists.
	claims, err := client.ResourceV1().ResourceClaims(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return state{}, err
	}
	pods, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return state{}, err
	}
	events, err := client.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: "reason=InsufficientScalarQuota"})
	if err != nil {
		return state{}, err
	}
	var s state
	for i, job := range a.jobs {
		s.jobs[i].waiting = job.pods
		for _, event := range events.Items {
			if strings.HasPrefix(event.InvolvedObject.Name, job.name+"-") {
				s.jobs[i].why = event.Message
			}
		}
		for k := range pods.Items {
			if pod := &pods.Items[k]; pod.Labels[batchv1alpha1.JobNameKey] == job.name {
				s.jobs[i].add(pod)
				s.cards += cardsOf(pod)
			}
		}
	}
	for _, claim := range claims.Items {
		if claim.Status.Allocation != nil {
			s.devices += len(claim.Status.Allocation.Devices.Results)
		}
	}
	return s, nil
}

// cardsOf is what a pod holds of cards.
func cardsOf(pod *corev1.Pod) int {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	cards := pod.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"]
	return int(cards.Value())
}

func (t *tally) add(pod *corev1.Pod) {
	switch pod.Status.Phase {
	case corev1.PodRunning:
		t.running++
		t.waiting--
	case corev1.PodSucceeded:
		t.done++
		t.waiting--
	}
}
