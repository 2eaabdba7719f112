// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// deserializer knows the types of objects in requests. The rules of the webhooks name one version of each, and the API server
// converts to it. It reads as much as possible of an unreadable workload, to let its owner correct it.
var deserializer = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{workload.AddToScheme, autoscalingv1.AddToScheme, resourceapi.AddToScheme, workv1alpha2.Install} {
		utilruntime.Must(add(scheme))
	}
	return workload.Tolerant(serializer.NewCodecFactory(scheme).UniversalDeserializer())
}()

// decode reads an object of a request.
func decode[T runtime.Object](raw []byte) (T, error) {
	var none T
	object, _, err := deserializer.Decode(raw, nil, nil)
	if err != nil {
		return none, fmt.Errorf("cannot read the object of the request: %w", err)
	}
	typed, ok := object.(T)
	if !ok {
		return none, fmt.Errorf("cannot read the object of the request: it is a %T, and not a %T", object, none)
	}
	return typed, nil
}
