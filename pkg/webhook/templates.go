// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// annotated has the fields to read in pods, and in all objects with pod templates.
type annotated struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metadata `json:"metadata"`
	Spec            spec     `json:"spec"`
}

type metadata struct {
	Annotations map[string]string `json:"annotations"`
}

// spec has the templates of Deployments and similar kinds, of Volcano Jobs, and of CronJobs of both kinds of jobs.
type spec struct {
	Template *template `json:"template"`
	Tasks    []struct {
		Template template `json:"template"`
	} `json:"tasks"`
	JobTemplate *struct {
		Spec spec `json:"spec"`
	} `json:"jobTemplate"`
}

type template struct {
	Metadata metadata `json:"metadata"`
}

// readTemplates reads the annotations about cards in a pod, in pod templates, and in a job or PodGroup.
func readTemplates(raw []byte) (readings []reading, warnings []string, err error) {
	object := &annotated{}
	if err := json.Unmarshal(raw, object); err != nil {
		return nil, nil, err
	}
	annotations := object.Metadata.Annotations
	if text, found := annotations[card.RequestAnnotation]; found {
		_, err := demand.OfCardRequest(annotations, &card.Fleet{}, &ledger.Dimensions{})
		readings = append(readings, reading{card.RequestAnnotation + ": " + text, err})
	}
	if object.Kind == "Pod" {
		return append(readings, namesIn(annotations, "")...), nil, nil
	}
	return append(readings, object.Spec.readings("spec.")...), nil, nil
}

// readings reads the names of cards in all templates. The path leads to the spec.
func (s *spec) readings(path string) []reading {
	var all []reading
	if s.Template != nil {
		all = namesIn(s.Template.Metadata.Annotations, path+"template")
	}
	for i := range s.Tasks {
		all = append(all, namesIn(s.Tasks[i].Template.Metadata.Annotations, fmt.Sprintf("%stasks[%d].template", path, i))...)
	}
	if s.JobTemplate != nil {
		all = append(all, s.JobTemplate.Spec.readings(path+"jobTemplate.spec.")...)
	}
	return all
}

// namesIn reads the names of cards in a pod or template. The path is empty for a pod.
func namesIn(annotations map[string]string, path string) []reading {
	_, found, err := demand.CardNames(annotations)
	if !found {
		return nil
	}
	if err != nil && path != "" {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return []reading{{card.NameAnnotation + ": " + annotations[card.NameAnnotation], err}}
}
