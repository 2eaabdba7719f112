// SPDX-License-Identifier: Apache-2.0

package members

import (
	"errors"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"

	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestWhatAMemberReportsDecidesAndFollowsItsObjects(t *testing.T) {
	c := newControl(t, tokenOf("member1", "t"))
	kube := c.serve("e", "t", cardNodeOf("n", "H20", 8), cardPodOn("p", "n", 2), classOf("any", ""), sliceOf(deviceOf("d1", "H20", ""), deviceOf("d2", "H20", "")))
	c.create(pushed("member1", "e"))
	c.eventually("six cards are free", h20, 6, true)
	c.eventually("no more", h20, 7, false)
	c.eventually("both devices are free", anyGPUs, 2, true)
	c.eventually("there is no third", anyGPUs, 3, false)
	c.awaitWatch(kube, "nodes", "pods", "resourceclaims", "resourceslices")
	ctx, created := c.live()
	c.must(kube.ResourceV1().ResourceClaims("ns").Create(ctx, claimOf("claim", "d1"), created))
	c.eventually("a claim takes one", anyGPUs, 2, false)
	c.must(kube.CoreV1().Nodes().Create(ctx, cardNodeOf("m", "H20", 8), created))
	c.eventually("another node comes", h20, 14, true)
	c.must(nil, kube.CoreV1().Pods("ns").Delete(ctx, "p", metav1.DeleteOptions{}))
	c.eventually("the pod ends", h20, 16, true)
	c.must(nil, kube.ResourceV1().ResourceClaims("ns").Delete(ctx, "claim", metav1.DeleteOptions{}))
	c.eventually("the claim goes", anyGPUs, 2, true)
	slice := sliceOf(deviceOf("d1", "H20", ""))
	c.must(kube.ResourceV1().ResourceSlices().Update(ctx, slice, metav1.UpdateOptions{}))
	c.eventually("a device goes", anyGPUs, 2, false)
}

func TestMembersComeAndGoWithTheirClusters(t *testing.T) {
	c := newControl(t, tokenOf("member1", "t1"), tokenOf("member2", "t2"))
	c.serve("e1", "t1", cardNodeOf("n", "H20", 2))
	c.serve("e2", "t2", cardNodeOf("n", "H20", 8))
	c.create(pushed("member1", "e1"))
	c.eventually("two cards are there", h20, 2, true)
	c.eventually("eight are not", h20, 8, false)
	c.create(pushed("member2", "e2"))
	c.eventually("the second cluster has eight", h20, 8, true)
	c.must(nil, c.karmada.ClusterV1alpha1().Clusters().Delete(c.ctx, "member2", metav1.DeleteOptions{}))
	c.eventually("the second cluster is gone", h20, 8, false)
	c.create(pushed("member2", "e2"))
	c.eventually("the second cluster is back", h20, 8, true)
}

func TestAnotherSecretOrEndpointIsAnotherConnectionAndTheLastFiguresCountMeanwhile(t *testing.T) {
	c := newControl(t, tokenOf("member1", "t1"))
	c.serve("e1", "t1", cardNodeOf("n", "H20", 2))
	c.create(pushed("member1", "e1"))
	c.eventually("two cards are there", h20, 2, true)
	c.awaitWatch(c.secrets, "secrets")

	_, err := c.secrets.CoreV1().Secrets("karmada-cluster").Update(c.ctx, tokenOf("member1", "wrong"), metav1.UpdateOptions{})
	c.must(nil, err)
	c.told("member1 CardsAndDevicesNotRead The cards and devices of cluster member1 are not read, and what was read last counts: connect to it: nobody answers")
	c.eventually("the last figures count", h20, 2, true)
	c.eventually("nothing else", h20, 3, false)

	c.serve("e1", "t2", cardNodeOf("n", "H20", 4))
	c.must(c.secrets.CoreV1().Secrets("karmada-cluster").Update(c.ctx, tokenOf("member1", "t2"), metav1.UpdateOptions{}))
	c.eventually("the new token reads four cards", h20, 4, true)
	c.told("member1 CardsAndDevicesRead")

	c.serve("e2", "t2", cardNodeOf("n", "H20", 8))
	c.update(pushed("member1", "e2"))
	c.eventually("the new endpoint has eight", h20, 8, true)
}

func TestAMemberThatCannotBeReadBoundsNeitherCardsNorDevices(t *testing.T) {
	pull := pushed("member1", "")
	pull.Spec.SyncMode = clusterv1alpha1.Pull
	forbidden := func(resource string) clienttesting.ReactionFunc {
		return func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
		}
	}
	for name, tc := range map[string]struct {
		cluster *clusterv1alpha1.Cluster
		secrets []runtime.Object
		prepare func(*control)
		why     string
	}{
		"nothing connects to a member that pulls": {cluster: pull, why: "its syncMode is Pull"},
		"its Secret does not exist":               {cluster: pushed("member1", "e"), why: "there is no Secret karmada-cluster/member1"},
		"its Secret has no token":                 {cluster: pushed("member1", "e"), secrets: []runtime.Object{tokenOf("member1", "")}, why: "the Secret karmada-cluster/member1 has no token"},
		"the Secret may not be read": {
			cluster: pushed("member1", "e"), prepare: func(c *control) { c.secrets.PrependReactor("list", "secrets", forbidden("secrets")) },
			why: "the Secret karmada-cluster/member1 cannot be read: ",
		},
		"the nodes may not be read": {
			cluster: pushed("member1", "e"), secrets: []runtime.Object{tokenOf("member1", "t")},
			prepare: func(c *control) { c.serve("e", "t").PrependReactor("list", "nodes", forbidden("nodes")) },
			why:     "nodes cannot be read: nodes is forbidden: no: allow it to the user of the cluster's Secret",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newControl(t, tc.secrets...)
			if tc.prepare != nil {
				tc.prepare(c)
			}
			c.create(tc.cluster)
			c.eventually("a workload fits whatever cards it needs", h20, 100, true)
			c.eventually("and devices", anyGPUs, 100, true)
			c.told("member1 CardsAndDevicesNotRead The cards and devices of cluster member1 are not read, and a workload fits whatever cards and devices it needs: " + tc.why)
			c.eventually("cores count nevertheless", cpu, 10, false)
			if len(c.notices) != 1 {
				t.Errorf("notices %q", c.notices)
			}
		})
	}
}

func TestAMemberThatDoesNotServeResourceClaimsHasNoDevices(t *testing.T) {
	c := newControl(t, tokenOf("member1", "t"))
	kube := c.serve("e", "t", cardNodeOf("n", "H20", 2))
	for _, resource := range []string{"deviceclasses", "resourceslices", "resourceclaims"} {
		kube.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Group: resourceapi.GroupName, Resource: resource}, "")
		})
	}
	c.create(pushed("member1", "e"))
	c.eventually("it has cards", h20, 2, true)
	c.eventually("it has no devices", anyGPUs, 1, false)
}

func TestNobodyConnectsToMembersWhileNothingAsksForCardsOrDevices(t *testing.T) {
	c := newControl(t)
	c.dimensions = &ledger.Dimensions{}
	c.create(pushed("member1", "e"))
	c.eventually("it fits", cpu, 9, true)
	if len(c.secrets.Actions()) != 0 {
		t.Errorf("the control plane is asked for %v", c.secrets.Actions())
	}
}
