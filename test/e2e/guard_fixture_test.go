// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// Users of the specs about admission. All of them may write every object, inside and outside guarded namespaces.
const (
	// member is in the group team-a of config/samples/guard.
	member = "member"
	// stranger may use only the default queue.
	stranger = "stranger"
	// reader is a stranger in docs/guard.md.
	reader = "bob"
	// operator is a controller of custom resources, with a service account of the team's namespace.
	operator      = "system:serviceaccount:team-a:operator"
	administrator = "administrator"
	replicaSets   = "system:serviceaccount:kube-system:replicaset-controller"
	volcanos      = "system:serviceaccount:volcano-system:volcano-controllers"
	scheduler     = "system:serviceaccount:volcano-system:volcano-scheduler"
)

var groupsOf = map[string][]string{
	member:        {"team-a"},
	operator:      {"system:serviceaccounts", "system:serviceaccounts:team-a"},
	administrator: {"system:masters"},
}

// guarded is the namespace of config/samples/guard.
const guarded = "team-a"

// All specs of the guard share the namespace.
var _ = Describe("The guard", Ordered, ContinueOnFailure, func() {
	BeforeAll(applyGuard)
	Context("of queues", guardOfQueues)
	Context("of PodGroups", guardOfPodGroups)
	Context("of namespaces", guardOfNamespaces)
	Context("of devices", guardOfDevices)
	Context("of deletions", guardOfDeletions)
	Context("of records", guardOfRecords)
	Context("of claims", guardOfClaims)
	Context("at the trust boundary", guardOfTrustBoundary)
	Context("of numbers", guardOfNumbers)
	Context("of annotations about cards", guardOfCards)
	Context("of teams", guardOfTeams)
	Context("", guardInDocs)
})

// applyGuard applies config/samples/guard, and waits until the policies are in force and the roles are known.
func applyGuard(ctx context.Context) {
	GinkgoHelper()
	Expect(controlPlane.Apply(ctx, "../../config/samples/guard")).To(Succeed())
	writers := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "guard-writers"}}
	writers.Rules = []rbacv1.PolicyRule{{
		APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "create", "update", "patch", "delete", "deletecollection"},
	}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: writers.Name}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: writers.Name}
	for _, user := range []string{member, stranger, reader, operator, replicaSets, volcanos, scheduler} {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
	}
	roles := kube.RbacV1()
	must(roles.ClusterRoles().Create(ctx, writers, metav1.CreateOptions{}))
	must(roles.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}))
	DeferCleanup(func(ctx context.Context) {
		now := metav1.DeleteOptions{}
		Expect(roles.ClusterRoleBindings().Delete(ctx, binding.Name, now)).To(Succeed())
		Expect(roles.ClusterRoles().Delete(ctx, writers.Name, now)).To(Succeed())
		deleteNamespace(ctx, guarded)
		Expect(queues.SchedulingV1beta1().Queues().Delete(ctx, "team-a", now)).To(Succeed())
	})
	Eventually(func(g Gomega) {
		g.Expect(mayUse(ctx, member, "team-a")).To(BeTrue())
		g.Expect(mayUse(ctx, stranger, "team-a")).To(BeFalse())
		g.Expect(attempt{as: stranger, create: podIn("team-a")}.try(ctx)).To(MatchError(ContainSubstring("may not use queue team-a")))
		g.Expect(attempt{as: member, create: podIn("team-a")}.try(ctx)).To(Succeed())
	}).WithContext(ctx).Should(Succeed())
}

// mayUse asks the API server like `kubectl auth can-i use queues.scheduling.volcano.sh/<queue>`.
func mayUse(ctx context.Context, user, queue string) bool {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: append(groupsOf[user], "system:authenticated"),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: "scheduling.volcano.sh", Resource: "queues", Name: queue, Namespace: guarded, Verb: "use",
		},
	}}
	answer := must(kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{}))
	return answer.Status.Allowed
}

// as returns the configuration of a client that acts as a user.
func as(user string) *rest.Config {
	config := rest.CopyConfig(controlPlane.Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groupsOf[user]}
	return config
}

// attempt is one request of a user. It creates an object, or changes or deletes an object of the administrator. Nothing of it is stored.
type attempt struct {
	as string
	// create is the object to create.
	create string
	// existing is an object that the administrator creates first. Status is set separately if it is a subresource.
	existing string
	// patch is a merge patch of the existing object. Subresource is the subresource that it is sent to.
	patch, subresource string
	// apply is the existing object with its changes, for a server-side apply.
	apply string
	// remove deletes the existing object. RemoveAll deletes all objects of its kind. Grace, if not nil, is the grace period in seconds.
	remove, removeAll bool
	grace             *int64
	// evict is an Eviction of the existing pod.
	evict string
	// namespace is the namespace, the guarded one if empty.
	namespace string
}

// pods is the number of pods that attempts have created.
var pods int

// try makes the attempt, and returns the error of the API server.
func (a attempt) try(ctx context.Context) error {
	dry := []string{metav1.DryRunAll}
	if a.create != "" {
		object := parseObject(a.create)
		_, err := a.client(object, a.as).Create(ctx, object, metav1.CreateOptions{DryRun: dry}, a.subresources()...)
		return err
	}
	object := parseObject(a.existing)
	object.SetName("existing")
	if object.GetKind() == "Pod" { // the stand-in for kubelets deletes pods by name, and may be late
		pods++
		object.SetName(fmt.Sprint("existing-", pods))
	}
	all := a.client(object, administrator)
	must(all.Create(ctx, object, metav1.CreateOptions{}))
	patchAll := func(patch string, subresources ...string) {
		must(all.Patch(ctx, object.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...))
	}
	if status, found := object.Object["status"]; found && object.GetKind() == "ResourceClaim" { // its status is a subresource
		text := must(json.Marshal(map[string]any{"status": status}))
		patchAll(string(text), "status")
	}
	defer func() {
		if object.GetKind() == "ResourceClaim" {
			patchAll(`{"status": null}`, "status")
			patchAll(`{"metadata": {"finalizers": null}}`)
		}
		Expect(all.Delete(ctx, object.GetName(), *metav1.NewDeleteOptions(0))).To(Succeed())
		Eventually(func() error {
			_, err := all.Get(ctx, object.GetName(), metav1.GetOptions{})
			return err
		}).WithContext(ctx).Should(MatchError(ContainSubstring("not found")))
	}()
	client := a.client(object, a.as)
	switch {
	case a.remove:
		return client.Delete(ctx, object.GetName(), metav1.DeleteOptions{DryRun: dry, GracePeriodSeconds: a.grace})
	case a.evict != "":
		eviction := parseObject(a.evict)
		eviction.SetName(object.GetName())
		_, err := client.Create(ctx, eviction, metav1.CreateOptions{DryRun: dry}, "eviction")
		return err
	case a.removeAll:
		// The garbage collector first deletes what earlier attempts left, such as the PodGroups of their pods.
		Eventually(func(g Gomega) {
			left, err := all.List(ctx, metav1.ListOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(left.Items).To(HaveLen(1))
		}).WithContext(ctx).Should(Succeed())
		return client.DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dry, GracePeriodSeconds: a.grace}, metav1.ListOptions{})
	case a.apply != "":
		desired := parseObject(a.apply)
		desired.SetName(object.GetName())
		_, err := client.Apply(ctx, object.GetName(), desired, metav1.ApplyOptions{DryRun: dry, Force: true, FieldManager: "spec"})
		return err
	}
	patch := must(yaml.YAMLToJSON([]byte(a.patch)))
	kind := types.StrategicMergePatchType
	if strings.Contains(object.GetAPIVersion(), ".sh/") { // custom resources support only merge patches
		kind = types.MergePatchType
	}
	_, err := client.Patch(ctx, object.GetName(), kind, patch, metav1.PatchOptions{DryRun: dry}, a.subresources()...)
	return err
}

func (a attempt) subresources() []string {
	if a.subresource == "" {
		return nil
	}
	return []string{a.subresource}
}

// client returns a client for the kind of an object. A Binding is a subresource of the pod.
func (a attempt) client(object *unstructured.Unstructured, user string) dynamic.ResourceInterface {
	GinkgoHelper()
	if guardMapper == nil {
		guardMapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kubernetes.NewForConfigOrDie(controlPlane.Config()).Discovery()))
	}
	kind := object.GroupVersionKind()
	mapping := must(guardMapper.RESTMapping(kind.GroupKind(), kind.Version))
	resource := mapping.Resource
	if kind.Kind == "Binding" && a.subresource != "" {
		resource.Resource = "pods"
	}
	client := dynamic.NewForConfigOrDie(as(user)).Resource(resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return client
	}
	if a.namespace != "" {
		return client.Namespace(a.namespace)
	}
	return client.Namespace(guarded)
}

var guardMapper meta.RESTMapper

func parseObject(text string) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	Expect(yaml.UnmarshalStrict([]byte(text), &object.Object)).To(Succeed(), "%s", text)
	if object.GetName() == "" && object.GetGenerateName() == "" {
		object.SetName("attempt")
	}
	return object
}
