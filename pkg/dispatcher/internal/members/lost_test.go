// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	clusterlisters "github.com/karmada-io/karmada/pkg/generated/listers/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// memberWithLost is a member with given objects. Karmada has bindings for the IDs in known.
type memberWithLost struct {
	*Remains
	t        *testing.T
	metadata *metadatafake.FakeMetadataClient
	objects  *dynamicfake.FakeDynamicClient
	clusters cache.Indexer
	known    []string
}

func newMemberWithLost(t *testing.T) *memberWithLost {
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	m := &memberWithLost{t: t, metadata: metadatafake.NewSimpleMetadataClient(scheme), known: []string{"known"}}
	m.objects = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	m.clusters = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	m.setReady(true)
	m.Remains = &Remains{
		Secrets: fake.NewClientset(tokenOf("member1", "t")), Clusters: clusterlisters.NewClusterLister(m.clusters), Changed: func() {},
		Connect: func(*rest.Config) (Client, error) { return Client{m.metadata, m.objects}, nil },
		Sends: func(_ context.Context, id, cluster string) (bool, error) {
			return cluster == "member1" && slices.Contains(m.known, id), nil
		},
	}
	m.Start(t.Context())
	t.Cleanup(m.Shutdown)
	return m
}

func (m *memberWithLost) setReady(ready bool) {
	cluster := pushed("member1", "e")
	if !ready {
		cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionFalse}}
	}
	if err := m.clusters.Update(cluster); err != nil {
		m.t.Fatal(err)
	}
}

// has adds an object to the member, with YAML of its spec and status. Karmada made it from a binding with an ID.
func (m *memberWithLost) has(kind schema.GroupVersionKind, name, id, text string, change ...func(*metav1.PartialObjectMetadata)) {
	m.t.Helper()
	version := kind.GroupVersion().String()
	o := there(version, kind.Kind, name, change...).(*metav1.PartialObjectMetadata)
	o.UID = types.UID("uid of " + name)
	metav1.SetMetaDataLabel(&o.ObjectMeta, "karmada.io/managed", "true")
	metav1.SetMetaDataLabel(&o.ObjectMeta, workv1alpha2.ResourceBindingPermanentIDLabel, id)
	whole := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &whole.Object); err != nil {
		m.t.Fatal(err)
	}
	meta, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		m.t.Fatal(err)
	}
	whole.Object["metadata"] = meta["metadata"]
	whole.SetGroupVersionKind(kind)
	if err := errors.Join(m.metadata.Tracker().Add(o), m.objects.Tracker().Add(whole)); err != nil {
		m.t.Fatal(err)
	}
}

// expect surveys the member as if it had come back, and compares the found objects: kind, name, queue, and number of pods.
func (m *memberWithLost) expect(want ...string) {
	m.t.Helper()
	m.setReady(false)
	m.Lost()
	m.setReady(true)
	m.Await()
	all, next := m.Lost()
	var got []string
	for _, l := range all {
		if l.Cluster != "member1" || l.Err != nil {
			m.t.Errorf("got %+v", l)
		}
		got = append(got, fmt.Sprintf("%s %s of %s with %d", l.Template.Kind, l.Template.Name, l.Template.Queue, l.Template.Replicas()))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		m.t.Errorf("lost are %q, want %q", got, want)
	}
	if wait := time.Until(next); wait <= 0 || wait > lookAgain {
		m.t.Errorf("the member is asked again in %s", wait)
	}
}

const web = `{spec: {replicas: 3, template: {metadata: {annotations: {scheduling.volcano.sh/queue-name: team}}}}}`

func TestWhatKarmadaHasLostIsFound(t *testing.T) {
	m := newMemberWithLost(t)
	m.has(workload.Deployment, "web", "known", web)
	m.has(workload.Deployment, "gone", "unknown", web)
	m.has(workload.Deployment, "own", "", web)
	m.has(workload.VolcanoJob, "train", "unknown", `{spec: {queue: team, tasks: [{name: a, replicas: 2}]}}`)
	m.has(workload.PodGroup, "of-train", "unknown", `{spec: {queue: team}}`, func(o *metav1.PartialObjectMetadata) {
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Name: "train", Controller: ptr.To(true)}}
	})
	m.has(workload.Job, "ended", "unknown", `{spec: {}, status: {conditions: [{type: Complete, status: "True"}]}}`)
	m.expect("Deployment gone of team with 3", "Job train of team with 2")

	m.known = append(m.known, "unknown") // Karmada's API server did not show it
	m.expect()
}

func TestWhatKarmadaHasLostCountsUntilItsPodsHaveEnded(t *testing.T) {
	m := newMemberWithLost(t)
	m.has(workload.Deployment, "web", "unknown", web, func(o *metav1.PartialObjectMetadata) {
		o.Annotations = map[string]string{workv1alpha2.ResourceTemplateUIDAnnotation: "template"}
	})
	const found = "Deployment web of team with 3"
	m.expect(found)
	no := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no answer") }
	m.metadata.PrependReactor("list", "deployments", no)
	m.expect(found)
	m.metadata.ReactionChain = m.metadata.ReactionChain[1:]
	if all, _ := m.Lost(); len(all) != 1 {
		t.Errorf("lost are %v", all)
	}

	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	if err := m.metadata.Tracker().Add(podFor("apps/v1", "ReplicaSet", "web-abc")); err != nil {
		t.Fatal(err)
	}
	if err := m.metadata.Tracker().Delete(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "ns", "web"); err != nil {
		t.Fatal(err)
	}
	m.expect(found)
	if err := m.metadata.Tracker().Delete(pods, "ns", strings.ReplaceAll("pod-of-apps/v1-ReplicaSet-web-abc", "/", "-")); err != nil {
		t.Fatal(err)
	}
	m.expect()
}
