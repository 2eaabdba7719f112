// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	queueGroup = "scheduling.volcano.sh"
	queueKind  = "Queue"
)

// cardAnnotations are the annotations of a queue for its quotas of cards.
var cardAnnotations = map[string]string{
	"capability": "volcano.sh/card.quota", "deserved": "volcano.sh/card.deserved", "guarantee": "volcano.sh/card.guarantee",
}

// SetSyntax says what Set takes.
const SetSyntax = "QUEUE[.deserved|.guarantee].CLASS.count=N, ….CLASS.capacity.NAME=QUANTITY, ….RESOURCE=QUANTITY, or ….cards.CARD=N; without a value, the limit goes"

// Set changes a quota of a queue in the state: of devices, such as team-a.nvidia-h100.count=4, of a capacity of devices, such as
// team-a.guarantee.nvidia-h100.capacity.memory=80Gi, of a resource, such as team-a.deserved.cpu=10, or of cards, such as
// team-a.cards.NVIDIA-H100=8. The default section is the capability. An empty value removes the quota. Set refuses names that the state lacks,
// because they are typing mistakes.
func (s *State) Set(change string) error {
	path, value, found := strings.Cut(change, "=")
	if !found {
		return fmt.Errorf("%s has no value: write %s", change, SetSyntax)
	}
	queue, path, err := s.queueOf(path)
	if err != nil {
		return fmt.Errorf("%s: %w", change, err)
	}
	if err := s.set(queue, path, value); err != nil {
		return fmt.Errorf("%s: %w", change, err)
	}
	queue.SetGeneration(queue.GetGeneration() + 1)
	return nil
}

// queueOf returns the queue at the start of a path. The longest name wins, because names of queues may have dots.
func (s *State) queueOf(path string) (*Object, string, error) {
	var best *Object
	var names []string
	for i := range s.Items {
		o := &s.Items[i]
		if gvk := o.GroupVersionKind(); gvk.Group != queueGroup || gvk.Kind != queueKind {
			continue
		}
		names = append(names, o.GetName())
		if strings.HasPrefix(path, o.GetName()+".") && (best == nil || len(o.GetName()) > len(best.GetName())) {
			best = o
		}
	}
	if best == nil {
		slices.Sort(names)
		return nil, "", fmt.Errorf("it begins with the name of no queue; there are %s", listed(names))
	}
	return best, strings.TrimPrefix(path, best.GetName()+"."), nil
}

// set changes the limit at a path within a queue, if the state knows the names in the path.
func (s *State) set(queue *Object, path, value string) error {
	section := "capability"
	for _, name := range sections {
		if rest, has := strings.CutPrefix(path, name+"."); has {
			section, path = name, rest
		}
	}
	if class, has := strings.CutSuffix(path, ".count"); has {
		if err := s.classes().refuse("DeviceClass", class, ""); err != nil {
			return err
		}
		return setCount(queue, section, class, value)
	}
	if at := strings.LastIndex(path, ".capacity."); at > 0 {
		class, name := path[:at], path[at+len(".capacity."):]
		if err := s.classes().refuse("DeviceClass", class, ""); err != nil {
			return err
		}
		if err := s.capacities().refuse("capacity", name, " of devices"); err != nil {
			return err
		}
		return setQuantity(queue, value, "spec", "dra", section, class, "capacity", name)
	}
	if name, has := strings.CutPrefix(path, "cards."); has {
		if err := s.cards().refuse("card", name, ""); err != nil {
			return err
		}
		return setCards(queue, cardAnnotations[section], name, value)
	}
	if err := s.resources().refuse("resource", path, " (for devices, write CLASS.count or CLASS.capacity.NAME; for cards, cards.CARD)"); err != nil {
		return err
	}
	if section == "guarantee" {
		return setQuantity(queue, value, "spec", section, "resource", path)
	}
	return setQuantity(queue, value, "spec", section, path)
}

func setCount(queue *Object, section, class, value string) error {
	if value == "" {
		unstructured.RemoveNestedField(queue.Object, "spec", "dra", section, class)
		return nil
	}
	n, err := number(value)
	if err != nil {
		return err
	}
	return unstructured.SetNestedField(queue.Object, n, "spec", "dra", section, class, "count")
}

func number(value string) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a number from 0", value)
	}
	return n, nil
}

func setQuantity(queue *Object, value string, fields ...string) error {
	if value == "" {
		unstructured.RemoveNestedField(queue.Object, fields...)
		return nil
	}
	if q, err := resource.ParseQuantity(value); err != nil || q.Sign() < 0 {
		return fmt.Errorf("%q is not a quantity from 0", value)
	}
	if fields[1] == "dra" {
		class := fields[:4]
		if _, has, _ := unstructured.NestedFieldNoCopy(queue.Object, append(slices.Clone(class), "count")...); !has {
			return fmt.Errorf("queue %s has no quota of %s: set its count, too", queue.GetName(), class[3])
		}
	}
	return unstructured.SetNestedField(queue.Object, value, fields...)
}

func setCards(queue *Object, annotation, card, value string) error {
	annotations := queue.GetAnnotations()
	quota := map[string]any{}
	if text := annotations[annotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &quota); err != nil {
			return fmt.Errorf("the annotation %s of queue %s: %w", annotation, queue.GetName(), err)
		}
	}
	if delete(quota, card); value != "" {
		n, err := number(value)
		if err != nil {
			return err
		}
		quota[card] = n
	}
	text, err := json.Marshal(quota)
	if err != nil {
		return err
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotation] = string(text)
	queue.SetAnnotations(annotations)
	return nil
}
