// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"path/filepath"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Webhook is vc-webhook as a component.
const Webhook = "vc-webhook"

var webhookResource = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}

// StartWebhook runs vc-webhook with exactly the permissions in config/webhook, and returns once it is ready. Kill and Restart accept it.
func (c *Cluster) StartWebhook(ctx context.Context) error {
	if _, err := findBin(c.bin, []string{Webhook}, "build"); err != nil {
		return err
	}
	if err := c.installWebhook(ctx, 443); err != nil { // vc-webhook needs its Secret and its configuration to get ready
		return err
	}
	if err := c.run(ctx, c.webhook()); err != nil {
		return err
	}
	c.mu.Lock()
	port := c.ports[Webhook][0]
	c.mu.Unlock()
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return err
	}
	return c.installWebhook(ctx, number)
}

// StopWebhook ends vc-webhook, and removes its configuration.
func (c *Cluster) StopWebhook(ctx context.Context) error {
	if err := c.dynamic.Resource(webhookResource).Delete(ctx, Webhook, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return c.terminate(Webhook)
}

// WebhookMetricsURL returns the URL of the Prometheus metrics of vc-webhook.
func (c *Cluster) WebhookMetricsURL() string {
	return "http://" + c.addressOf(Webhook, 1) + "/metrics"
}

func (c *Cluster) webhook() component {
	return component{
		name:  Webhook,
		ports: 3,
		command: func(ports []string) []string {
			return c.role("guard", filepath.Join(c.bin, Webhook), "--kubeconfig="+c.kubeconfig(Webhook), "--webhook-bind-address=127.0.0.1", "--webhook-port="+ports[0],
				"--metrics-bind-address="+local(ports[1]), "--health-probe-bind-address="+local(ports[2]))
		},
		ready: c.serves("http", 2, "/readyz"),
	}
}

// installWebhook applies config/webhook without the Deployment. Services have no network here, so the Service is another name of this
// machine.
func (c *Cluster) installWebhook(ctx context.Context, port int64) error {
	shipped, err := embedded("webhook/rbac.yaml", "webhook/deployment.yaml", "webhook/webhook.yaml")
	if err != nil {
		return err
	}
	var all []manifest
	for _, m := range shipped {
		switch m.object.GetKind() {
		case "Deployment", "PodDisruptionBudget":
			continue
		case "Service":
			m.object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		case "ValidatingWebhookConfiguration":
			if err := setServicePort(m.object, port); err != nil {
				return err
			}
		}
		all = append(all, m)
	}
	return c.apply(ctx, all)
}

func setServicePort(configuration *unstructured.Unstructured, port int64) error {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, webhook := range webhooks {
		if err := unstructured.SetNestedField(webhook.(map[string]any), port, "clientConfig", "service", "port"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}
