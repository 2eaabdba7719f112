// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"

	resourceapi "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	draapiv1beta1 "k8s.io/dynamic-resource-allocation/api/v1beta1"
	draapiv1beta2 "k8s.io/dynamic-resource-allocation/api/v1beta2"
)

// conversions between the versions of resource.k8s.io.
var conversions = runtime.NewScheme()

func init() {
	utilruntime.Must(draapiv1beta1.AddToScheme(conversions))
	utilruntime.Must(draapiv1beta2.AddToScheme(conversions))
}

// updateStatus writes the status of a claim in the version that the API server serves. It does not use
// the client of k8s.io/dynamic-resource-allocation v0.34.1, which panics in UpdateStatus: if a claim is
// not found in v1, it tries v1beta2 with the client for v1beta1.
func (w *Writer) updateStatus(ctx context.Context, claim *resourceapi.ResourceClaim) (*resourceapi.ResourceClaim, error) {
	options := metav1.UpdateOptions{}
	switch w.reader.Served() {
	case "V1beta1":
		return convertedTo(claim, func(claim *resourcev1beta1.ResourceClaim) (*resourcev1beta1.ResourceClaim, error) {
			return w.kube.ResourceV1beta1().ResourceClaims(claim.Namespace).UpdateStatus(ctx, claim, options)
		})
	case "V1beta2":
		return convertedTo(claim, func(claim *resourcev1beta2.ResourceClaim) (*resourcev1beta2.ResourceClaim, error) {
			return w.kube.ResourceV1beta2().ResourceClaims(claim.Namespace).UpdateStatus(ctx, claim, options)
		})
	default:
		return w.kube.ResourceV1().ResourceClaims(claim.Namespace).UpdateStatus(ctx, claim, options)
	}
}

// convertedTo converts a claim to another version, passes it to call, and converts the result back.
func convertedTo[T any](claim *resourceapi.ResourceClaim, call func(*T) (*T, error)) (*resourceapi.ResourceClaim, error) {
	out := new(T)
	if err := conversions.Convert(claim, out, nil); err != nil {
		return nil, err
	}
	in, err := call(out)
	if err != nil {
		return nil, err
	}
	written := &resourceapi.ResourceClaim{}
	return written, conversions.Convert(in, written, nil)
}
