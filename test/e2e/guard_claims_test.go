// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// editor has only the role edit in the guarded namespace.
const editor = "editor"

const (
	protection = "resource.kubernetes.io/delete-protection"
	ownedByPod = "ownerReferences: [{apiVersion: v1, kind: Pod, name: decoy, uid: decoy, controller: true}]"
	isExtended = `annotations: {resource.kubernetes.io/extended-resource-claim: "true"}`
)

// claimWith returns a ResourceClaim. If device is not empty, it is allocated to the claim.
func claimWith(metadata, device string) string {
	text := "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {" + metadata +
		"}\nspec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: nvidia-h100}}]}}\n"
	if device != "" {
		// The controller of claims leaves claims alone if anything other than a pod uses them.
		text += "status: {reservedFor: [{apiGroup: example.com, resource: workloads, name: w, uid: w}], " +
			"allocation: {devices: {results: [{request: gpu, driver: none.example.com, pool: none, device: " + device + "}]}}}\n"
	}
	return text
}

func guardOfClaims() {
	mayNot := func(message string, a attempt) judged {
		j := judged{a, []string{scheduler, administrator, volcanos, replicaSets}, map[string]string{}}
		for _, user := range []string{member, stranger, operator} {
			j.refused[user] = message
		}
		return j
	}
	const finalized = "finalizers: [" + protection + "]"
	DescribeTable("keeps users from changing who uses a claim:", func(ctx context.Context, j judged) { j.check(ctx) },
		Entry("the finalizer of a claim with devices", mayNot("leave its finalizer", attempt{existing: claimWith(finalized, "gpu-0"), patch: "metadata: {finalizers: null}"})),
		Entry("the owner of a claim with devices", mayNot("to another owner", attempt{existing: claimWith("", "gpu-0"), patch: "metadata: {" + ownedByPod + "}"})),
		Entry("a claim that looks like one for extended resources", mayNot("schedulers alone write", attempt{create: claimWith(isExtended, "")})),
		Entry("a claim that is made to look like one", mayNot("schedulers alone write", attempt{existing: claimWith("", "gpu-0"), patch: "metadata: {" + isExtended + "}"})),
		Entry("a claim that looks like one no more", mayNot("schedulers alone write", attempt{existing: claimWith(isExtended, "gpu-0"),
			patch: "metadata: {annotations: {resource.kubernetes.io/extended-resource-claim: null}}"})),
		Entry("a template of claims that look like it", mayNot("schedulers alone write", attempt{create: "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\n" +
			"metadata: {}\nspec: {metadata: {" + isExtended + "}, spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: nvidia-h100}}]}}}"})),
		Entry("a claim of another namespace", mayNot("to another owner", attempt{namespace: "default", existing: claimWith("", "gpu-0"), patch: "metadata: {" + ownedByPod + "}"})),
		Entry("a claim without devices", everybody(attempt{existing: claimWith("", ""), patch: "metadata: {" + ownedByPod + ", " + finalized + "}"})),
		Entry("a label of a claim with devices", everybody(attempt{existing: claimWith(finalized, "gpu-0"), patch: "metadata: {labels: {a: b}}"})),
		Entry("the deletion of a claim with devices, which waits for its pods", everybody(attempt{existing: claimWith("", "gpu-0"), remove: true})),
	)
}

// trustBoundary returns attempts to write the fields in docs/guard.md, by field.
func trustBoundary() map[string]attempt {
	running := asPod(template("", "nodeName: nobody"))
	group := "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {}\nspec: {queue: default, minMember: 1}"
	return map[string]attempt{
		"the node of a Pod":                                                   {subresource: "binding", create: "apiVersion: v1\nkind: Binding\nmetadata: {name: attempt}\ntarget: {kind: Node, name: node}"},
		"`volcano.sh/charged-queue` of a Pod":                                 {existing: running, patch: "metadata: {annotations: {volcano.sh/charged-queue: root}}"},
		"`volcano.sh/charged-cards` of a Pod":                                 {existing: running, patch: "metadata: {annotations: {volcano.sh/charged-cards: '{}'}}"},
		"`volcano.sh/charged-claims` of a Pod":                                {existing: running, patch: "metadata: {annotations: {volcano.sh/charged-claims: '[]'}}"},
		"`volcano.sh/card.name` of a Pod with a node":                         {existing: running, patch: "metadata: {annotations: {volcano.sh/card.name: A}}"},
		"`scheduling.volcano.sh/queue-name` of a Pod":                         {existing: running, patch: "metadata: {annotations: {scheduling.volcano.sh/queue-name: foreign}}"},
		"`scheduling.k8s.io/group-name` of a Pod":                             {existing: running, patch: "metadata: {annotations: {scheduling.k8s.io/group-name: foreign}}"},
		"`volcano.sh/charged-queue` of a ResourceClaim":                       {existing: claimWith("", "gpu-0"), patch: "metadata: {annotations: {volcano.sh/charged-queue: root}}"},
		"`metadata.finalizers` of a ResourceClaim":                            {existing: claimWith("finalizers: ["+protection+"]", "gpu-0"), patch: "metadata: {finalizers: null}"},
		"`metadata.ownerReferences` of a ResourceClaim":                       {existing: claimWith("", "gpu-0"), patch: "metadata: {" + ownedByPod + "}"},
		"`resource.kubernetes.io/extended-resource-claim` of a ResourceClaim": {existing: claimWith("", "gpu-0"), patch: "metadata: {" + isExtended + "}"},
		"`spec.queue` of a PodGroup":                                          {existing: strings.Replace(group, "default", "foreign", 1), patch: "spec: {queue: default}"}, // which the user may use
		"`status` of a PodGroup":                                              {existing: group, patch: "status: {phase: Inqueue}"},
		"`priorityClassName` of a Pod, a job, or a PodGroup":                  {existing: group, patch: "spec: {priorityClassName: system-cluster-critical}"},
		"`volcano.sh/queue-name` of a Pod":                                    {existing: running, patch: "metadata: {annotations: {volcano.sh/queue-name: foreign}}"},
		"`metadata.ownerReferences` of a Pod": {existing: running,
			patch: "metadata: {ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: foreign, uid: foreign, controller: true}]}"},
		"`metadata.deletionTimestamp` of a Pod": {existing: asPod(template("", "schedulerName: volcano, nodeName: nobody")), remove: true, grace: ptr.To[int64](0)},
	}
}

func guardOfTrustBoundary() {
	It("keeps each field that docs/guard.md lists from a user with the role edit", func(ctx context.Context) {
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: editor}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"}}
		binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: editor}}
		must(kube.RbacV1().RoleBindings(guarded).Create(ctx, binding, metav1.CreateOptions{}))
		Eventually(func() bool { return mayWrite(ctx, "", "pods") && mayWrite(ctx, "resource.k8s.io", "resourceclaims") }).WithContext(ctx).Should(BeTrue())
		text := must(os.ReadFile("../../docs/guard.md"))
		_, section, found := strings.Cut(string(text), "## The trust boundary")
		Expect(found).To(BeTrue())
		section, _, _ = strings.Cut(section, "\n## ")
		attempts := trustBoundary()
		for line := range strings.Lines(section) {
			cells := strings.Split(strings.TrimSpace(line), " | ")
			if len(cells) != 4 || strings.HasPrefix(line, "| field") {
				continue
			}
			field, enforced := strings.TrimPrefix(cells[0], "| "), strings.TrimSuffix(cells[3], " |")
			if _, resource, rbac := strings.Cut(enforced, "RBAC: `"); rbac {
				resource, _, _ = strings.Cut(resource, "`")
				group := ""
				if strings.HasPrefix(resource, "resourceclaims") {
					group = "resource.k8s.io"
				}
				Expect(mayWrite(ctx, group, resource)).To(BeFalse(), "%s", field)
			}
			_, policy, byPolicy := strings.Cut(enforced, "`devicequota-")
			if !byPolicy {
				continue
			}
			tried, listed := attempts[field]
			Expect(listed).To(BeTrue(), "nobody tries %s", field)
			policy, _, _ = strings.Cut(policy, "`")
			tried.as = stranger // the stranger has at least the rights of edit
			Expect(tried.try(ctx)).To(MatchError(ContainSubstring("'devicequota-"+policy+"'")), "%s", field)
			delete(attempts, field)
		}
		Expect(attempts).To(BeEmpty(), "docs/guard.md does not list what is tried")
	})
}

// mayWrite asks the API server whether the editor may create, update, or patch a resource.
func mayWrite(ctx context.Context, group, resource string) bool {
	GinkgoHelper()
	resource, subresource, _ := strings.Cut(resource, "/")
	for _, verb := range []string{"create", "update", "patch"} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: editor, Groups: []string{"system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: guarded, Group: group, Resource: resource, Subresource: subresource, Verb: verb}}}
		answer := must(kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{}))
		if answer.Status.Allowed {
			return true
		}
	}
	return false
}
