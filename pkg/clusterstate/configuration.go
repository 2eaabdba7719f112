// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

// configurationKey is the key of the scheduler's configuration in its ConfigMap.
const configurationKey = "volcano-scheduler.conf"

// NoConfiguration says what to do about a state without the scheduler's configuration.
const NoConfiguration = "name a file with the scheduler's configuration with --scheduler-conf, for example one that " +
	"kubectl get configmap NAME -n NAMESPACE -o yaml has printed"

// UseConfiguration reads the scheduler's configuration from a file, which may contain a ConfigMap.
func (s *State) UseConfiguration(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var object corev1.ConfigMap
	if err := sigsyaml.Unmarshal(text, &object); err == nil && object.Kind == "ConfigMap" {
		found, err := configurationIn(&object)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		text = []byte(found)
	}
	if err := s.Configure(string(text)); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// configurationIn returns the value of configurationKey in a ConfigMap, or of its only key.
func configurationIn(object *corev1.ConfigMap) (string, error) {
	if text := object.Data[configurationKey]; text != "" {
		return text, nil
	}
	if len(object.Data) == 1 {
		for _, text := range object.Data {
			return text, nil
		}
	}
	return "", fmt.Errorf("it has no key %s", configurationKey)
}

// Configure sets the scheduler's configuration, without the section about the source of node usage. It may have a password, and a simulation
// does not use it.
func (s *State) Configure(text string) error {
	var content map[string]any
	if err := sigsyaml.Unmarshal([]byte(text), &content); err != nil {
		return fmt.Errorf("the scheduler's configuration is no YAML: %w", err)
	}
	if _, has := content["metrics"]; has {
		delete(content, "metrics")
		rest, err := sigsyaml.Marshal(content)
		if err != nil {
			return err
		}
		text = string(rest)
	}
	s.Configuration = text
	return nil
}
