// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/clusterstate"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
	"github.com/devicequota/devicequota/pkg/simulation"
)

// scheduler is the name that pods of the simulated scheduler have in spec.schedulerName.
const scheduler = "volcano"

// harmless are kinds that files contain beside workloads. They create no pods.
var harmless = []string{
	"ConfigMap", "Secret", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "Ingress", "NetworkPolicy", "HorizontalPodAutoscaler",
}

// tried has the objects of the files.
type tried struct {
	// workloads are the objects that the simulation turns into pods, or tries as they are.
	workloads []clusterstate.Object
	// state has the objects that are added to the state of the cluster.
	state []clusterstate.Object
	// ignored names the objects and fields without effect.
	ignored []string
}

// read reads the files. Objects without a namespace get the namespace of the context.
func (c *command) read() (*tried, error) {
	namespace := "default"
	if named, _, err := c.Namespace(); err == nil {
		namespace = named
	}
	all := &tried{}
	for _, file := range c.files {
		objects, err := c.open(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(objects) == 0 {
			return nil, fmt.Errorf("%s has no objects", file)
		}
		for i := range objects {
			if err := all.add(&objects[i], namespace); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return all, nil
}

func (c *command) open(file string) ([]clusterstate.Object, error) {
	if file == "-" {
		return clusterstate.Objects(c.In)
	}
	opened, err := os.Open(file)
	if err != nil {
		return nil, errors.Unwrap(err) // the caller names the file
	}
	defer func(closer io.Closer) { _ = closer.Close() }(opened)
	return clusterstate.Objects(opened)
}

func (t *tried) add(object *clusterstate.Object, namespace string) error {
	if slices.Contains(harmless, object.GetKind()) {
		t.ignored = append(t.ignored, object.GetKind()+" "+object.GetName())
		return nil
	}
	if err := simulation.Check(object); err != nil {
		return err
	}
	for _, field := range simulation.UnknownFields(object) {
		t.ignored = append(t.ignored, fmt.Sprintf("%s %s, %s", object.GetKind(), object.GetName(), field))
	}
	if simulation.Namespaced(object) && object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	pods, replicated, err := simulation.PodsOf(object)
	if err != nil {
		return err
	}
	if !replicated {
		pods = []clusterstate.Object{*object}
	}
	for i := range pods {
		if err := forVolcano(object, &pods[i]); err != nil {
			return err
		}
	}
	t.workloads, t.state = append(t.workloads, *object), append(t.state, pods...)
	return nil
}

// adopt sets the UIDs of the owners of new pods. The pods then join the pods of the StatefulSet or ReplicaSet in the cluster.
func (t *tried) adopt(before *clusterstate.State) {
	for i := range t.state {
		owners := t.state[i].GetOwnerReferences()
		for j := range owners {
			group, _, _ := strings.Cut(owners[j].APIVersion, "/")
			if owner := before.Find(group, owners[j].Kind, t.state[i].GetNamespace(), owners[j].Name); owner != nil {
				owners[j].UID = owner.GetUID()
			}
		}
		if len(owners) > 0 {
			t.state[i].SetOwnerReferences(owners)
		}
	}
}

// forVolcano refuses a pod of another scheduler, because the simulation cannot place it.
func forVolcano(object, pod *clusterstate.Object) error {
	if pod.GetKind() != "Pod" {
		return nil
	}
	node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	name, _, _ := unstructured.NestedString(pod.Object, "spec", "schedulerName")
	if node != "" || name == scheduler {
		return nil
	}
	if name == "" {
		name = "default-scheduler"
	}
	return fmt.Errorf("%s %s: its pods are for the scheduler %s, which is not simulated: set schedulerName: %s", object.GetKind(), object.GetName(), name, scheduler)
}

// checkQuotas refuses new quotas that are not valid. The scheduler would ignore them and keep the former quotas.
func checkQuotas(before, after *clusterstate.State) error {
	for i := range after.Items {
		object := &after.Items[i]
		if object.GetKind() != "Queue" {
			continue
		}
		gvk := object.GroupVersionKind()
		if same := before.Find(gvk.Group, gvk.Kind, "", object.GetName()); same != nil && apiequality.Semantic.DeepEqual(same.Object, object.Object) {
			continue
		}
		var queue schedulingv1beta1.Queue
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &queue); err != nil {
			return fmt.Errorf("the Queue %s is not valid: %w", object.GetName(), err)
		}
		dimensions := &ledger.Dimensions{}
		_, err := quota.Devices(&queue, dimensions)
		for _, annotation := range quota.CardAnnotations {
			_, wrong := quota.Cards(&queue, annotation, dimensions)
			err = errors.Join(err, wrong)
		}
		if err != nil {
			return fmt.Errorf("the Queue %s is not valid: %w", object.GetName(), err)
		}
	}
	return nil
}
