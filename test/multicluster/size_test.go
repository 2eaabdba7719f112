// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// tally is an amount by dimension: thousandths of resources such as cpu, cards as card/NAME, devices as class/NAME, and their
// capacity as class/NAME/CAPACITY. The tests do not calculate with code of the product.
type tally map[string]int64

func (t tally) add(other tally, times int64) {
	for dimension, n := range other {
		t[dimension] += n * times
	}
}

// most returns the larger amount in each dimension.
func most(a, b tally) tally {
	m := tally{}
	m.add(a, 1)
	for dimension, n := range b {
		m[dimension] = max(m[dimension], n)
	}
	return m
}

func (t tally) addResources(list corev1.ResourceList) {
	for name, quantity := range list {
		t[string(name)] += quantity.MilliValue()
	}
}

// sizer calculates the maximum use of workloads. All alternatives count.
type sizer struct {
	// claims has the amounts of a claim from each template, by name.
	claims map[string]tally
}

// size returns what all pods of an object may use together, according to the object.
func (s sizer) size(object []byte) (tally, error) {
	var kind struct{ APIVersion, Kind string }
	if err := json.Unmarshal(object, &kind); err != nil {
		return nil, err
	}
	t := tally{}
	switch kind.APIVersion + "/" + kind.Kind {
	case "batch.volcano.sh/v1alpha1/Job":
		var job batchv1alpha1.Job
		if err := json.Unmarshal(object, &job); err != nil {
			return nil, err
		}
		for i := range job.Spec.Tasks {
			t.add(s.pod(&job.Spec.Tasks[i].Template), int64(job.Spec.Tasks[i].Replicas))
		}
	case "batch/v1/Job":
		var job batchv1.Job
		if err := json.Unmarshal(object, &job); err != nil {
			return nil, err
		}
		t.add(s.pod(&job.Spec.Template), int64(min(orOne(job.Spec.Parallelism), orOne(job.Spec.Completions))))
	case "apps/v1/Deployment", "apps/v1/StatefulSet", "apps/v1/ReplicaSet":
		var deployment appsv1.Deployment // all fields that are read are the same
		if err := json.Unmarshal(object, &deployment); err != nil {
			return nil, err
		}
		t.add(s.pod(&deployment.Spec.Template), int64(orOne(deployment.Spec.Replicas)))
	case "v1/Pod":
		var pod corev1.Pod
		if err := json.Unmarshal(object, &pod); err != nil {
			return nil, err
		}
		t.add(s.pod(&corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}), 1)
	}
	return t, nil
}

func orOne(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func (s sizer) pod(template *corev1.PodTemplateSpec) tally {
	t := tally{}
	for i := range template.Spec.Containers {
		t.addResources(template.Spec.Containers[i].Resources.Requests)
	}
	if names := template.Annotations["volcano.sh/card.name"]; names != "" {
		for _, name := range strings.Split(names, "|") {
			t["card/"+name] += t[cardResource] / 1000
		}
	}
	for _, claim := range template.Spec.ResourceClaims {
		if claim.ResourceClaimTemplateName != nil {
			t.add(s.claims[*claim.ResourceClaimTemplateName], 1)
		}
	}
	return t
}

// claim returns the amounts of a claim.
func claim(spec *resourcev1.ResourceClaimSpec) tally {
	t := tally{}
	add := func(class string, count int64, capacity *resourcev1.CapacityRequirements) {
		t["class/"+class] += max(count, 1)
		if capacity != nil {
			for name, quantity := range capacity.Requests {
				t["class/"+class+"/"+string(name)] += quantity.Value() * max(count, 1)
			}
		}
	}
	for _, request := range spec.Devices.Requests {
		if request.Exactly != nil {
			add(request.Exactly.DeviceClassName, request.Exactly.Count, request.Exactly.Capacity)
		}
		for _, alternative := range request.FirstAvailable {
			add(alternative.DeviceClassName, alternative.Count, alternative.Capacity)
		}
	}
	return t
}

// grantAnnotation has the grant of a binding by the dispatcher.
const grantAnnotation = "volcano.sh/granted"

// grantedBy returns the amounts in a grant, and the time of the decision.
func grantedBy(annotation string) (tally, time.Time, error) {
	var grant struct {
		Decided metav1.Time
		Amounts []struct {
			Kind, Name, Capacity string
			Amount               resource.Quantity
		}
	}
	if err := json.Unmarshal([]byte(annotation), &grant); err != nil {
		return nil, time.Time{}, err
	}
	t := tally{}
	for _, a := range grant.Amounts {
		switch a.Kind {
		case "Resource":
			t[a.Name] = a.Amount.MilliValue()
		case "Card":
			t["card/"+a.Name] = a.Amount.Value()
		case "DeviceCount":
			t["class/"+a.Name] = a.Amount.Value()
		case "DeviceCapacity":
			t["class/"+a.Name+"/"+a.Capacity] = a.Amount.Value()
		default:
			return nil, time.Time{}, fmt.Errorf("a grant has the kind %q", a.Kind)
		}
	}
	return t, grant.Decided.Time, nil
}

// capability returns the limits of a queue. Dimensions that are not listed have no limit.
func capability(queue *schedulingv1beta1.Queue) tally {
	limits := tally{}
	limits.addResources(queue.Spec.Capability)
	cards := map[string]int64{}
	_ = json.Unmarshal([]byte(queue.Annotations[schedulingv1beta1.CardQuotaAnnotation]), &cards) // some cases have a malformed quota
	for name, n := range cards {
		limits["card/"+name] = n
	}
	if queue.Spec.DRA != nil {
		for class, quota := range queue.Spec.DRA.Capability {
			limits["class/"+class] = quota.Count
			for name, quantity := range quota.Capacity {
				limits["class/"+class+"/"+name] = quantity.Value()
			}
		}
	}
	return limits
}
