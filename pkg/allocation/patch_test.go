// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"encoding/json"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/devicequota/devicequota/pkg/chargerecord"
)

// newer is a claim of a possible API server of Kubernetes 1.37, with fields that this client does not know.
const newer = `{
	"metadata": {"name": "c", "namespace": "ns", "uid": "c-uid", "resourceVersion": "7", "inTheFuture": true},
	"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "derivedAttributes": [{"name": "a/b", "expression": "1"}]}}], "inTheFuture": 1}},
	"status": {
		"allocation": {"devices": {"results": [{"request": "r", "driver": "driver", "pool": "pool", "device": "gpu-0", "skipNodeOperations": ["*"]}]}},
		"reservedFor": [{"resource": "pods", "name": "a", "uid": "a", "inTheFuture": true}, {"resource": "pods", "name": "b", "uid": "b"}],
		"devices": [{"driver": "driver", "pool": "pool", "device": "gpu-0", "conditions": null, "inTheFuture": 1}],
		"inTheFuture": {}
	}
}`

// TestAPatchLeavesWhatThisClientDoesNotKnow applies a patch to a claim with unknown fields.
func TestAPatchLeavesWhatThisClientDoesNotKnow(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*resourceapi.ResourceClaim)
		patch  string
	}{
		{
			name: "finalizer and record",
			change: func(c *resourceapi.ResourceClaim) {
				c.Finalizers = append(c.Finalizers, resourceapi.Finalizer)
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, chargerecord.QueueAnnotation, "root/q")
			},
			patch: `{"metadata":{"annotations":{"volcano.sh/charged-queue":"root/q"},"finalizers":["resource.kubernetes.io/delete-protection"],"resourceVersion":"7","uid":"c-uid"}}`,
		},
		{
			name: "one more pod",
			change: func(c *resourceapi.ResourceClaim) {
				c.Status.ReservedFor = append(c.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: "d", UID: "d"})
			},
			patch: `{"metadata":{"resourceVersion":"7","uid":"c-uid"},"status":{"$setElementOrder/reservedFor":[{"uid":"a"},{"uid":"b"},{"uid":"d"}],"reservedFor":[{"name":"d","resource":"pods","uid":"d"}]}}`,
		},
		{
			name:   "one pod less",
			change: func(c *resourceapi.ResourceClaim) { c.Status.ReservedFor = c.Status.ReservedFor[:1] },
			patch:  `{"metadata":{"resourceVersion":"7","uid":"c-uid"},"status":{"$setElementOrder/reservedFor":[{"uid":"a"}],"reservedFor":[{"$patch":"delete","uid":"b"}]}}`,
		},
		{
			name:   "no allocation",
			change: func(c *resourceapi.ResourceClaim) { c.Status = resourceapi.ResourceClaimStatus{} },
			patch:  `{"metadata":{"resourceVersion":"7","uid":"c-uid"},"status":{"allocation":null,"devices":null,"reservedFor":null}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := decoded(t, []byte(newer))
			now := before.DeepCopy()
			c.change(now)
			patch, err := difference(before, now)
			if err != nil {
				t.Fatal(err)
			}
			if string(patch) != c.patch {
				t.Errorf("the patch is %s", patch)
			}
			after, err := strategicpatch.StrategicMergePatch([]byte(newer), patch, resourceapi.ResourceClaim{})
			if err != nil {
				t.Fatal(err)
			}
			want, _ := json.Marshal(now)
			if got, _ := json.Marshal(decoded(t, after)); string(got) != string(want) {
				t.Errorf("the claim is %s, want %s", got, want)
			}
		})
	}
}

func decoded(t *testing.T, data []byte) *resourceapi.ResourceClaim {
	t.Helper()
	claim := &resourceapi.ResourceClaim{}
	if err := json.Unmarshal(data, claim); err != nil {
		t.Fatal(err)
	}
	return claim
}
