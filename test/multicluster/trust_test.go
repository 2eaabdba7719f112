// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// The users of the specs below. Roles allow both to write everything.
const (
	writer = "writer"
	// karmadas is a subject of the ClusterRoleBinding vc-dispatcher-trusted.
	karmadas = "system:karmada:karmada-controller-manager"
)

var _ = Describe("What decisions rest on", Ordered, func() {
	var f *fixture
	var walk *trustWalk

	BeforeAll(func(ctx context.Context) {
		f = newFixture(ctx)
		f.propagateAll(ctx)
		team := f.queue(ctx, "team", "root", capable(cores("2")))
		f.deployment(ctx, workload{name: "web", queue: team, pods: 2, in: east})
		f.expectRunningIn(ctx, east, "web", 2)
		f.deployment(ctx, workload{name: "waits", queue: team, pods: 2, in: east})
		f.expectHeld(ctx, deployments, "waits", "InsufficientCPUQuota", team)
		letWrite(ctx, writer, karmadas)
		walk = &trustWalk{fixture: f, work: f.workOf(ctx, "web-deployment")}
		Eventually(func() error { // the API server reads policies and roles after a while
			return walk.try(ctx, writer, walk.refused()["ResourceBinding: metadata.annotations"])
		}).WithContext(ctx).Should(MatchError(ContainSubstring("may not write resourcebindings.work.karmada.io")))
	})

	It("is written by users nowhere where docs/multicluster.md says so, and by Karmada everywhere", func(ctx context.Context) {
		refused := walk.refused()
		Expect(slices.Collect(maps.Keys(refused))).To(ConsistOf(documented("policy")), "what the page lists, and what this spec tries")
		for what, r := range refused {
			Expect(walk.try(ctx, writer, r)).To(MatchError(ContainSubstring("user writer may not write "+r.resource.Resource)), what)
			Eventually(func() error { return walk.try(ctx, karmadas, r) }).WithContext(ctx).Should(Succeed(), what)
		}
	})

	It("is written by nobody but the dispatcher where docs/multicluster.md says so", func(ctx context.Context) {
		undone := slices.Collect(maps.Keys(walk.undone(nil)))
		Expect(undone).To(ConsistOf(documented("webhook")), "what the page lists, and what this spec tries")
		for _, what := range undone {
			Eventually(func(g Gomega) { // others, who write the status and finalizers, may change it between the two requests
				r := walk.undone(f.existing(ctx, deployments, "web").Finalizers)[what]
				before, err := walk.client(karmadas, r).Get(ctx, r.name, metav1.GetOptions{})
				g.Expect(err).NotTo(HaveOccurred())
				after, err := walk.patch(ctx, karmadas, r)
				if err != nil {
					g.Expect(err).To(MatchError(ContainSubstring("because vc-dispatcher holds")), what)
					return
				}
				for _, field := range []string{"metadata", "spec"} {
					g.Expect(after.Object[field]).To(Equal(withoutManagedFields(before).Object[field]), what)
				}
			}).WithContext(ctx).Should(Succeed())
		}
	})
})

// letWrite allows users to write everything, as far as roles go. The verb use on queues is not included.
func letWrite(ctx context.Context, users ...string) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "writers"}}
	role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "create", "update", "patch", "delete"}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}
	for _, user := range users {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
	}
	roles := hub.kube.RbacV1()
	_, err := roles.ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = roles.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) {
		Expect(roles.ClusterRoleBindings().Delete(ctx, binding.Name, metav1.DeleteOptions{})).To(Succeed())
		Expect(roles.ClusterRoles().Delete(ctx, role.Name, metav1.DeleteOptions{})).To(Succeed())
	})
}

// workOf returns the only Work of a binding.
func (f *fixture) workOf(ctx context.Context, binding string) *workv1alpha1.Work {
	GinkgoHelper()
	works, err := karmada.WorkV1alpha1().Works("karmada-es-"+east).List(ctx, metav1.ListOptions{})
	f.Expect(err).NotTo(HaveOccurred())
	works.Items = slices.DeleteFunc(works.Items, func(w workv1alpha1.Work) bool {
		return w.Annotations[workv1alpha2.ResourceBindingNamespaceAnnotationKey] != f.namespace || w.Annotations[workv1alpha2.ResourceBindingNameAnnotationKey] != binding
	})
	f.Expect(works.Items).To(HaveLen(1))
	return &works.Items[0]
}

// documented returns the entries of docs/multicluster.md that are protected in some way.
func documented(by string) []string {
	GinkgoHelper()
	page, err := os.ReadFile("../../docs/multicluster.md")
	Expect(err).NotTo(HaveOccurred())
	_, section, _ := strings.Cut(string(page), "\n### What decisions rest on\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var all []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]*?): ([^|]*) \|[^|]*\| `+by+` \|$`).FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			all = append(all, row[1]+": "+name[1])
		}
	}
	return all
}

// trustWalk sends requests about a granted binding, a held binding, and a Work. None of them is stored.
type trustWalk struct {
	*fixture
	work *workv1alpha1.Work
}

// write is one request: a merge patch, a creation, or a deletion.
type write struct {
	resource        schema.GroupVersionResource
	namespace, name string
	patch, create   string
	remove          bool
}

func (w write) subresources() []string {
	if strings.HasPrefix(w.patch, "{status:") {
		return []string{"status"}
	}
	return nil
}

func (t *trustWalk) client(user string, w write) dynamic.ResourceInterface {
	config := rest.CopyConfig(multicluster.Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	client := dynamic.NewForConfigOrDie(config).Resource(w.resource)
	if w.namespace == "" {
		return client
	}
	return client.Namespace(w.namespace)
}

// try sends a request. It returns the error of the API server.
func (t *trustWalk) try(ctx context.Context, user string, w write) error {
	dry := []string{metav1.DryRunAll}
	switch {
	case w.remove:
		return t.client(user, w).Delete(ctx, w.name, metav1.DeleteOptions{DryRun: dry})
	case w.create != "":
		object := &unstructured.Unstructured{}
		Expect(yaml.UnmarshalStrict([]byte(w.create), &object.Object)).To(Succeed(), w.create)
		_, err := t.client(user, w).Create(ctx, object, metav1.CreateOptions{DryRun: dry})
		return err
	}
	_, err := t.patch(ctx, user, w)
	return err
}

func (t *trustWalk) patch(ctx context.Context, user string, w write) (*unstructured.Unstructured, error) {
	GinkgoHelper()
	patch, err := yaml.YAMLToJSON([]byte(w.patch))
	Expect(err).NotTo(HaveOccurred(), w.patch)
	object, err := t.client(user, w).Patch(ctx, w.name, types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, w.subresources()...)
	if err != nil {
		return nil, err
	}
	return withoutManagedFields(object), nil
}

func withoutManagedFields(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	object.SetManagedFields(nil)
	return object
}

// refused returns the requests that the policy refuses, by their names in the page.
func (t *trustWalk) refused() map[string]write {
	all := map[string]write{}
	binding := write{resource: bindingResource, namespace: t.namespace, name: "web-deployment"}
	work := write{resource: workResource, namespace: t.work.Namespace, name: t.work.Name}
	for object, of := range map[string]struct {
		write
		create  string
		patches []string
	}{
		"ResourceBinding": {binding, `{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: forged}, spec: {resource: {apiVersion: v1, kind: ConfigMap, name: c}}}`, []string{
			`{metadata: {finalizers: []}}`, `{metadata: {labels: {propagationpolicy.karmada.io/permanent-id: other}}}`,
			`{metadata: {annotations: {policy.karmada.io/applied-placement: "{}"}}}`, `{spec: {resource: {name: waits}}}`, `{spec: {replicas: 0}}`,
			`{spec: {replicaRequirements: null}}`, `{spec: {components: []}}`, `{spec: {clusters: [{name: west, replicas: 2}]}}`,
			`{spec: {requiredBy: [{namespace: ns, name: other, clusters: [{name: east, replicas: 2}]}]}}`,
			`{spec: {gracefulEvictionTasks: []}}`, `{spec: {placement: null}}`, `{spec: {suspension: {dispatching: true}}}`, `{spec: {preserveResourcesOnDeletion: true}}`,
			`{status: {aggregatedStatus: [{clusterName: east, status: {state: {phase: Completed}}}]}}`, `{status: {conditions: []}}`,
			`{status: {schedulerObservedGeneration: 1}}`, `{status: {lastScheduledTime: null}}`,
		}},
		"Work": {work, `{apiVersion: work.karmada.io/v1alpha1, kind: Work, metadata: {name: forged}, spec: {workload: {}}}`, []string{
			`{metadata: {finalizers: []}}`, `{metadata: {labels: {resourcebinding.karmada.io/permanent-id: other}}}`, `{spec: {workload: {manifests: []}}}`,
			`{status: {conditions: []}}`, `{status: {manifestStatuses: []}}`,
		}},
	} {
		create, remove := of.write, of.write
		create.create, remove.remove = of.create, true
		all[object+": create"], all[object+": delete"] = create, remove
		for _, patch := range of.patches {
			change := of.write
			change.patch = patch
			all[object+": "+fieldOf(patch)] = change
		}
	}
	maps.Copy(all, t.replacements())
	return all
}

// fieldOf returns the first two levels of the field that a patch changes.
func fieldOf(patch string) string {
	parts := strings.FieldsFunc(patch, func(r rune) bool { return strings.ContainsRune("{}: ", r) })
	return parts[0] + "." + parts[1]
}

// replacements create objects that make clusters run something else than the counted object.
func (t *trustWalk) replacements() map[string]write {
	all := map[string]write{}
	for _, r := range []struct {
		kind, version, resource, spec string
		namespaced                    bool
	}{
		{"OverridePolicy", "policy.karmada.io/v1alpha1", "overridepolicies", "{overrideRules: []}", true},
		{"ClusterOverridePolicy", "policy.karmada.io/v1alpha1", "clusteroverridepolicies", "{overrideRules: []}", false},
		{"ResourceInterpreterCustomization", "config.karmada.io/v1alpha1", "resourceinterpretercustomizations",
			"{target: {apiVersion: example.com/v1, kind: Example}, customizations: {replicaResource: {luaScript: 'function GetReplicas(o) return 0, nil end'}}}", false},
		{"ResourceInterpreterWebhookConfiguration", "config.karmada.io/v1alpha1", "resourceinterpreterwebhookconfigurations", "", false},
		{"ClusterResourceBinding", "work.karmada.io/v1alpha2", "clusterresourcebindings", "{resource: {apiVersion: v1, kind: Namespace, name: other}}", false},
	} {
		version, err := schema.ParseGroupVersion(r.version)
		Expect(err).NotTo(HaveOccurred())
		w := write{resource: version.WithResource(r.resource), create: fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: forged}", r.version, r.kind)}
		if r.spec == "" {
			w.create += ", webhooks: []}"
		} else {
			w.create += ", spec: " + r.spec + "}"
		}
		if r.namespaced {
			w.namespace = t.namespace
		}
		all["What clusters run in the place of an object: "+r.kind] = w
	}
	return all
}

// undone returns the requests that change nothing, or that the webhook refuses, by their names in the page. One of them removes
// the dispatcher's finalizer from those of the granted binding.
func (t *trustWalk) undone(finalizers []string) map[string]write {
	all := map[string]write{}
	others := strings.Join(slices.DeleteFunc(slices.Clone(finalizers), func(name string) bool { return name == "volcano.sh/charged" }), ", ")
	for name, patch := range map[string]string{
		"volcano.sh/granted":                      `{metadata: {annotations: {volcano.sh/granted: null}}}`,
		"volcano.sh/requeued":                     `{metadata: {annotations: {volcano.sh/requeued: '{"attempts": 9}'}}}`,
		"volcano.sh/changing":                     `{metadata: {annotations: {volcano.sh/changing: '{"replaces": "1"}'}}}`,
		"volcano.sh/charged":                      `{metadata: {finalizers: [` + others + `]}}`,
		"policy.karmada.io/applied-placement":     `{metadata: {annotations: {policy.karmada.io/applied-placement: null}}}`,
		"resourcebinding.karmada.io/permanent-id": `{metadata: {labels: {resourcebinding.karmada.io/permanent-id: other}}}`,
	} {
		all["ResourceBinding: "+name] = write{resource: bindingResource, namespace: t.namespace, name: "web-deployment", patch: patch}
	}
	for name, patch := range map[string]string{
		"volcano.sh/hold": `{metadata: {annotations: {volcano.sh/hold: null}}}`,
		"spec.suspension": `{spec: {suspension: null}}`,
		"spec.clusters":   `{spec: {clusters: [{name: east, replicas: 2}]}}`,
		"spec.requiredBy": `{spec: {requiredBy: [{namespace: ns, name: other, clusters: [{name: east, replicas: 2}]}]}}`,
	} {
		all["ResourceBinding: "+name] = write{resource: bindingResource, namespace: t.namespace, name: "waits-deployment", patch: patch}
	}
	return all
}
