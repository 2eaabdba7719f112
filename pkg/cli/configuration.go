// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// Volcano's installation keeps the scheduler's configuration in this key of this ConfigMap.
	configurationNamespace, configurationName, configurationKey = "volcano-system", "volcano-scheduler-configmap", "volcano-scheduler.conf"
)

// configurationTimeout limits how long the scheduler may take to answer. The answer needs no session.
const configurationTimeout = 10 * time.Second

// SchedulerConfiguration returns the configuration of the scheduler that answers. Only the scheduler knows which file it has read, and whether the
// file was valid. If the scheduler does not answer, SchedulerConfiguration reads Volcano's ConfigMap and prints the reason.
func (o *Options) SchedulerConfiguration(ctx context.Context) (string, error) {
	scheduler, err := o.Client()
	if err != nil {
		return "", err
	}
	patience, cancel := context.WithTimeout(ctx, configurationTimeout)
	defer cancel()
	told, untold := scheduler.Configuration(patience)
	if untold == nil {
		return told.Text, nil
	}
	untold = Remedy(untold)
	text, err := o.volcanosConfiguration(ctx)
	if err != nil {
		return "", fmt.Errorf("the scheduler does not tell its configuration: %w; %w", untold, err)
	}
	fmt.Fprintf(o.ErrOut, "The scheduler does not tell its configuration, so that of ConfigMap %s/%s is used: %v\n",
		configurationNamespace, configurationName, untold)
	return text, nil
}

func (o *Options) volcanosConfiguration(ctx context.Context) (string, error) {
	config, err := o.RESTConfig()
	if err != nil {
		return "", err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	object, err := kube.CoreV1().ConfigMaps(configurationNamespace).Get(ctx, configurationName, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("ConfigMap %s/%s: %w", configurationNamespace, configurationName, err)
	}
	if object.Data[configurationKey] == "" {
		return "", fmt.Errorf("ConfigMap %s/%s has no key %s", configurationNamespace, configurationName, configurationKey)
	}
	return object.Data[configurationKey], nil
}
