// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"encoding/json"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	draapiv1beta1 "k8s.io/dynamic-resource-allocation/api/v1beta1"
	draapiv1beta2 "k8s.io/dynamic-resource-allocation/api/v1beta2"
)

// conversions contains the conversions between the versions of resource.k8s.io.
var conversions = runtime.NewScheme()

func init() {
	utilruntime.Must(draapiv1beta1.AddToScheme(conversions))
	utilruntime.Must(draapiv1beta2.AddToScheme(conversions))
}

// patch writes the difference between two states of a claim, in the version that the API server serves. The error is a conflict if the
// claim has changed since it was read. An update of the whole claim would drop fields of a newer API server that this client does not
// know. The API server refuses such updates of the spec and of an allocation, and then no pod could use the claim. subresources is "status" for
// changes of the status.
//
// Metadata and status are the same in all versions. The client of k8s.io/dynamic-resource-allocation v0.34.1 has no patches.
func (w *Writer) patch(ctx context.Context, before, now *resourceapi.ResourceClaim, subresources ...string) (*resourceapi.ResourceClaim, error) {
	data, err := difference(before, now)
	if err != nil {
		return nil, fmt.Errorf("find out what has changed: %w", err)
	}
	options := metav1.PatchOptions{}
	switch w.reader.Served() {
	case "V1beta1":
		return converted(w.kube.ResourceV1beta1().ResourceClaims(now.Namespace).Patch(ctx, now.Name, types.StrategicMergePatchType, data, options, subresources...))
	case "V1beta2":
		return converted(w.kube.ResourceV1beta2().ResourceClaims(now.Namespace).Patch(ctx, now.Name, types.StrategicMergePatchType, data, options, subresources...))
	default:
		return w.kube.ResourceV1().ResourceClaims(now.Namespace).Patch(ctx, now.Name, types.StrategicMergePatchType, data, options, subresources...)
	}
}

// difference returns a strategic merge patch that applies only to this claim in the resource version of before.
func difference(before, now *resourceapi.ResourceClaim) ([]byte, error) {
	from := *before
	from.UID, from.ResourceVersion = "", "" // forces both into the patch
	old, err := json.Marshal(&from)
	if err != nil {
		return nil, err
	}
	to := *now
	to.UID, to.ResourceVersion = before.UID, before.ResourceVersion
	changed, err := json.Marshal(&to)
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(old, changed, resourceapi.ResourceClaim{})
}

// converted converts an answer of the API server from another version.
func converted[T any](claim T, err error) (*resourceapi.ResourceClaim, error) {
	if err != nil {
		return nil, err
	}
	written := &resourceapi.ResourceClaim{}
	return written, conversions.Convert(claim, written, nil)
}
