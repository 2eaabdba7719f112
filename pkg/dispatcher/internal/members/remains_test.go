// SPDX-License-Identifier: Apache-2.0

package members

import (
	"errors"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	clusterlisters "github.com/karmada-io/karmada/pkg/generated/listers/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// pushed returns a cluster that is reachable and ready.
func pushed(name, endpoint string) *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec = clusterv1alpha1.ClusterSpec{
		SyncMode: clusterv1alpha1.Push, APIEndpoint: endpoint, InsecureSkipTLSVerification: true,
		SecretRef: &clusterv1alpha1.LocalSecretReference{Namespace: "karmada-cluster", Name: name},
	}
	c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionTrue}}
	return c
}

func tokenOf(cluster, token string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-cluster", Name: cluster}, Data: map[string][]byte{"token": []byte(token)}}
}

// there returns an object in a member. The owner of a pod is its kind and name.
func there(apiVersion, kind, name string, change ...func(*metav1.PartialObjectMetadata)) runtime.Object {
	o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	for _, c := range change {
		c(o)
	}
	return o
}

func podFor(apiVersion, kind, name string) runtime.Object {
	return there("v1", "Pod", strings.ReplaceAll("pod-of-"+apiVersion+"-"+kind+"-"+name, "/", "-"), ownedBy(apiVersion, kind, name))
}

func ownedBy(apiVersion, kind, name string) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) {
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, Controller: ptr.To(true)}}
	}
}

// setSeen returns a StatefulSet of which the controller has seen a generation.
func setSeen(generation, seen int64) runtime.Object {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"namespace": "ns", "name": "web", "generation": generation},
		"status": map[string]any{"observedGeneration": seen},
	}}
}

func TestWhatAMemberHasOfAWorkload(t *testing.T) {
	sent := func(uid string) func(*metav1.PartialObjectMetadata) {
		return func(o *metav1.PartialObjectMetadata) {
			o.Annotations = map[string]string{workv1alpha2.ResourceTemplateUIDAnnotation: uid, workv1alpha2.ResourceTemplateGenerationAnnotationKey: "7"}
		}
	}
	forbidden := func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
	}
	const volcano = "batch.volcano.sh/v1alpha1"
	for _, tc := range []struct {
		name       string
		apiVersion string
		kind       string
		objects    []runtime.Object
		react      clienttesting.ReactionFunc
		// whole are objects with their status.
		whole      []runtime.Object
		generation string
		pods       int64
		problem    string
	}{
		{name: "nothing", apiVersion: "apps/v1", kind: "Deployment", objects: []runtime.Object{podFor("apps/v1", "ReplicaSet", "web-2-abc"), podFor("apps/v1", "StatefulSet", "web")}},
		{name: "pods of a Deployment that is gone", apiVersion: "apps/v1", kind: "Deployment", objects: []runtime.Object{podFor("apps/v1", "ReplicaSet", "web-abc"), podFor("apps/v1", "ReplicaSet", "web-def")}, pods: 2},
		{name: "a Deployment without pods", apiVersion: "apps/v1", kind: "Deployment", objects: []runtime.Object{there("apps/v1", "Deployment", "web", sent("uid"))}, generation: "7"},
		{name: "a Volcano Job and not a Job", apiVersion: volcano, kind: "Job", objects: []runtime.Object{podFor(volcano, "Job", "web"), podFor("batch/v1", "Job", "web")}, pods: 1},
		{name: "a CronJob", apiVersion: "batch/v1", kind: "CronJob", objects: []runtime.Object{podFor("batch/v1", "Job", "web-29"), podFor("batch/v1", "Job", "web")}, pods: 1},
		{name: "a CronJob and its Job", apiVersion: "batch/v1", kind: "CronJob", objects: []runtime.Object{
			there("batch/v1", "Job", "web-29", ownedBy("batch/v1", "CronJob", "web")), podFor("batch/v1", "Job", "web-29")}, pods: 1},
		{name: "a Job that its CronJob left", apiVersion: "batch/v1", kind: "CronJob", objects: []runtime.Object{
			there("batch/v1", "Job", "web-29"), podFor("batch/v1", "Job", "web-29")}, pods: 1},
		{name: "Jobs of others with such names", apiVersion: "batch/v1", kind: "CronJob", objects: []runtime.Object{
			there("batch/v1", "Job", "web-29", sent("job")), podFor("batch/v1", "Job", "web-29"), there("batch/v1", "Job", "web-30", ownedBy("batch/v1", "CronJob", "web-30")),
			podFor("batch/v1", "Job", "web-30"), there("batch/v1", "Job", "web-manual"), podFor("batch/v1", "Job", "web-manual"), podFor("batch/v1", "Job", "web-by-hand")}},
		{name: "a Pod", apiVersion: "v1", kind: "Pod", objects: []runtime.Object{there("v1", "Pod", "web", sent("uid"))}, generation: "7", pods: 1},
		{name: "somebody else's", apiVersion: "apps/v1", kind: "StatefulSet", objects: []runtime.Object{there("apps/v1", "StatefulSet", "web", sent("other"))}, problem: "another object of this name"},
		{name: "an object before the one of the binding", apiVersion: "apps/v1", kind: "Deployment", objects: []runtime.Object{
			there("apps/v1", "Deployment", "web", sent("other"), func(o *metav1.PartialObjectMetadata) {
				o.Labels = map[string]string{workv1alpha2.ResourceBindingPermanentIDLabel: "id"}
			}), podFor("apps/v1", "ReplicaSet", "web-abc"),
		}, generation: "of the object before", pods: 1},
		{name: "a StatefulSet that its controller has seen", apiVersion: "apps/v1", kind: "StatefulSet", objects: []runtime.Object{there("apps/v1", "StatefulSet", "web", sent("uid"))},
			whole: []runtime.Object{setSeen(4, 4)}, generation: "7"},
		{name: "a StatefulSet that its controller has not seen", apiVersion: "apps/v1", kind: "StatefulSet", objects: []runtime.Object{there("apps/v1", "StatefulSet", "web", sent("uid"))},
			whole: []runtime.Object{setSeen(4, 3)}, generation: "that its controller has not seen"},
		{name: "a StatefulSet that has just gone", apiVersion: "apps/v1", kind: "StatefulSet", objects: []runtime.Object{there("apps/v1", "StatefulSet", "web", sent("uid"))}, generation: "7"},
		{name: "pods must not be read", apiVersion: "apps/v1", kind: "StatefulSet", react: forbidden, problem: "forbidden"},
		{name: "a kind that is not read", apiVersion: "example.com/v1", kind: "Train", problem: "is not known"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := metav1.AddMetaToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			member := metadatafake.NewSimpleMetadataClient(scheme, tc.objects...)
			if tc.react != nil {
				member.PrependReactor("list", "pods", tc.react)
			}
			s := subject{tc.apiVersion, tc.kind, "ns", "web", "uid", "id"}
			left, err := s.in(t.Context(), Client{member, dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), tc.whole...)})
			switch {
			case tc.problem != "":
				if err == nil || !strings.Contains(err.Error(), tc.problem) {
					t.Errorf("got %+v, %v, want %q", left, err, tc.problem)
				}
			case err != nil || left.Generation != tc.generation || left.Pods != tc.pods:
				t.Errorf("got %+v, %v", left, err)
			}
		})
	}
}

// TestRemainsOfAWorkload asks a member that answers, fails, and answers again. Until then, the last answer counts.
func TestRemainsOfAWorkload(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kube := metadatafake.NewSimpleMetadataClient(scheme, podFor("apps/v1", "ReplicaSet", "web-abc"))
	clusters := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	if err := clusters.Add(pushed("member1", "e")); err != nil {
		t.Fatal(err)
	}
	answered := make(chan struct{}, 100)
	r := &Remains{
		Secrets: fake.NewClientset(tokenOf("member1", "t")), Clusters: clusterlisters.NewClusterLister(clusters),
		Connect: func(*rest.Config) (Client, error) { return Client{Interface: kube}, nil }, Changed: func() { answered <- struct{}{} },
	}
	r.Start(t.Context())
	t.Cleanup(r.Shutdown)
	w := &framework.Workload{Binding: &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{UID: "b"}}}
	w.Binding.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns", Name: "web", UID: "uid"}
	began := time.Now()
	ask := func(after time.Time) framework.Left {
		r.Of(w, "member1", after)
		<-answered
		return r.Of(w, "member1", after)
	}
	if left := ask(began); left.Err != nil || left.Pods != 1 {
		t.Errorf("got %+v", left)
	}
	kube.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no answer") })
	r.look(r.answers[question{"b", "member1"}], "member1", subject{"apps/v1", "Deployment", "ns", "web", "uid", "id"})
	<-answered
	if left := r.Of(w, "member1", began); left.Err != nil || left.Pods != 1 {
		t.Errorf("the member does not answer: got %+v", left)
	}
	if left := ask(time.Now()); left.Err == nil {
		t.Errorf("what was seen before counts for what was told later: got %+v", left)
	}
	if left := r.Of(w, "another", began); left.Err == nil {
		t.Errorf("a cluster that has not been asked: got %+v", left)
	}
	<-answered
	if left := r.Of(w, "another", began); left.Err != nil || left.Pods != 0 {
		t.Errorf("a cluster that is not there: got %+v", left)
	}
}
