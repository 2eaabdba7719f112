// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// WebPage is the path of the scheduler's web page on the API server.
	WebPage = "/apis/visibility.devicequota.io/v1alpha1/ui/"
	// visibilityService is the name of the APIService.
	visibilityService = "v1alpha1.visibility.devicequota.io"
)

var apiServiceResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// forwardVisibility makes the API server forward requests for visibility.devicequota.io to the scheduler, as config/visibility does.
// Services have no network here, so the Service is another name of this machine. Other schedulers do not serve the group.
func (c *Cluster) forwardVisibility(ctx context.Context) error {
	c.mu.Lock()
	port, scheduler := c.ports[VolcanoScheduler][2], c.options.Scheduler
	c.mu.Unlock()
	if scheduler != Ours {
		return c.stopForwarding(ctx)
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return err
	}
	all, err := embedded("visibility/service.yaml", "visibility/apiservice.yaml", "visibility/roles.yaml")
	if err != nil {
		return err
	}
	for _, m := range all {
		switch m.object.GetKind() {
		case "Service":
			m.object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		case "APIService":
			if err := unstructured.SetNestedField(m.object.Object, number, "spec", "service", "port"); err != nil {
				return err
			}
		}
	}
	if err := c.apply(ctx, all); err != nil {
		return err
	}
	if _, err := c.waitForCondition(ctx, apiServiceResource, visibilityService, "Available"); err != nil {
		return fmt.Errorf("waiting for APIService %s to be available: %w", visibilityService, err)
	}
	return nil
}

func (c *Cluster) stopForwarding(ctx context.Context) error {
	err := c.dynamic.Resource(apiServiceResource).Delete(ctx, visibilityService, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
