// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubelet acts as the kubelets of a real cluster: it runs the programs of this project's Deployments.
type kubelet struct {
	*environment
	// running has the process of each Deployment, and started the content that it was started from.
	running map[string]*program
	started map[string]string
}

func newKubelet(e *environment) *kubelet {
	return &kubelet{environment: e, running: map[string]*program{}, started: map[string]string{}}
}

// bindPods binds the pods of the namespace volcano-system to a node, as kube-scheduler does, until the test ends.
func (e *environment) bindPods() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			e.bindPodsOnce(ctx)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	e.t.Cleanup(func() { cancel(); <-done })
}

// bindPodsOnce ignores errors. The next call tries again.
func (e *environment) bindPodsOnce(ctx context.Context) {
	pods, err := e.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
	if err != nil {
		return
	}
	for _, pod := range pods.Items {
		_ = e.kube.CoreV1().Pods(namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "gpu-0"},
		}, metav1.CreateOptions{})
	}
}

// follow starts, restarts, and stops schedulers and the webhook. Afterwards, each Deployment with replicas has one process.
func (k *kubelet) follow() {
	k.t.Helper()
	wanted := map[string]string{}
	deployments, err := k.kube.AppsV1().Deployments(namespace).List(k.ctx, metav1.ListOptions{})
	k.Expect(err).NotTo(HaveOccurred())
	for _, d := range deployments.Items {
		configuration := ""
		for _, volume := range d.Spec.Template.Spec.Volumes {
			if volume.Name == "scheduler-config" {
				configuration = volume.ConfigMap.Name
			}
		}
		if configuration == "" && d.Name != webhook || *d.Spec.Replicas == 0 {
			continue
		}
		var data map[string]string
		if configuration != "" {
			text, err := k.kube.CoreV1().ConfigMaps(namespace).Get(k.ctx, configuration, metav1.GetOptions{})
			k.Expect(err).NotTo(HaveOccurred())
			data = text.Data
		}
		from, err := json.Marshal([]any{d.UID, d.Spec.Template, data})
		k.Expect(err).NotTo(HaveOccurred())
		wanted[d.Name] = string(from)
	}
	for name, process := range k.running {
		if wanted[name] != k.started[name] {
			process.expectNothingForbidden()
			process.stop()
			delete(k.running, name)
		}
	}
	for name, from := range wanted {
		switch {
		case k.running[name] == nil && name == webhook:
			k.running[name], k.started[name] = k.runWebhook(), from
		case k.running[name] == nil:
			k.running[name], k.started[name] = k.runScheduler(name), from
		}
	}
	if k.running[webhook] != nil {
		k.running[webhook].forward()
	}
}
