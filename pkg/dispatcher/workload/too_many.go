// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// maxTasks is how many tasks a Volcano Job may have. A task that takes three bytes in a request takes more than a kilobyte in memory: a single job could
	// use up that of all replicas.
	maxTasks = 1000
	// maxParts is how many containers, volumes, tolerations, and policies all of them may have. A container that takes a dozen bytes takes half a kilobyte,
	// and a multiple of that while it is decoded.
	maxParts = 10_000
	// maxObjects bounds everything else. Volcano Jobs of a thousand ordinary tasks have about half as many, in all that etcd stores of an object.
	maxObjects = 100_000
)

// countedJobs are one Volcano Job, or a list of them, of which the parts are counted. T has those of a task.
type countedJobs[T any] struct {
	metav1.TypeMeta `json:",inline"`
	countedJob[T]   `json:",inline"`
	Items           []countedJob[T] `json:"items"`
}

type countedJob[T any] struct {
	Spec struct {
		Tasks    []T        `json:"tasks"`
		Volumes  []struct{} `json:"volumes"`
		Policies []struct{} `json:"policies"`
	} `json:"spec"`
}

// countedTask counts the parts of a task without keeping them.
type countedTask struct {
	Policies []struct{} `json:"policies"`
	Template struct {
		Spec struct {
			Containers          []struct{} `json:"containers"`
			InitContainers      []struct{} `json:"initContainers"`
			EphemeralContainers []struct{} `json:"ephemeralContainers"`
			Volumes             []struct{} `json:"volumes"`
			Tolerations         []struct{} `json:"tolerations"`
		} `json:"spec"`
	} `json:"template"`
}

func (t *countedTask) parts() int {
	pod := &t.Template.Spec
	return len(t.Policies) + len(pod.Containers) + len(pod.InitContainers) + len(pod.EphemeralContainers) + len(pod.Volumes) + len(pod.Tolerations)
}

// TooManyTasks returns an error if a Volcano Job or one of a list has too many tasks, or too much in them, to be decoded.
func TooManyTasks(data []byte) error {
	_, err := tooManyTasks(data, nil)
	return err
}

// tooManyTasks is TooManyTasks with the kind of what it refuses. Defaults is the kind of data that names none, or nil.
func tooManyTasks(data []byte, defaults *schema.GroupVersionKind) (*schema.GroupVersionKind, error) {
	if len(data) <= maxTasks*len("{},") {
		return nil, nil
	}
	var read countedJobs[struct{}]
	_ = json.Unmarshal(data, &read) // the decoder says what is wrong
	kind := read.GroupVersionKind()
	if kind.Kind == "" && defaults != nil {
		kind = *defaults
	}
	if single := kind.GroupVersion().WithKind(strings.TrimSuffix(kind.Kind, "List")); single != VolcanoJob {
		return nil, nil
	}
	for _, job := range append(read.Items, read.countedJob) {
		if n := len(job.Spec.Tasks); n > maxTasks {
			return &kind, fmt.Errorf("spec.tasks has %d tasks: a job has at most %d", n, maxTasks)
		}
	}
	if len(data) <= maxParts*len("{},") {
		return nil, nil
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	_ = json.Unmarshal(data, &list)
	if strings.HasSuffix(kind.Kind, "List") {
		data = nil // it has as much as all of them
	}
	for _, one := range append(list.Items, data) {
		if err := tooManyParts(one); err != nil {
			return &kind, err
		}
	}
	return nil, nil
}

// tooManyParts returns an error if a Volcano Job that has not too many tasks has too much in them to be decoded.
func tooManyParts(data []byte) error {
	if len(data) <= maxParts*len("{},") {
		return nil
	}
	if n := objectsIn(data); n > maxObjects {
		return fmt.Errorf("it has %d JSON objects: a job has at most %d", n, maxObjects)
	}
	var read countedJob[countedTask]
	_ = json.Unmarshal(data, &read)
	n := len(read.Spec.Volumes) + len(read.Spec.Policies)
	for i := range read.Spec.Tasks {
		n += read.Spec.Tasks[i].parts()
	}
	if n > maxParts {
		return fmt.Errorf("spec.tasks have %d containers, volumes, tolerations, and policies in all: a job has at most %d", n, maxParts)
	}
	return nil
}

// objectsIn returns the number of objects in JSON.
func objectsIn(data []byte) (n int) {
	text := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case c == '{' && !text:
			n++
		}
	}
	return n
}
