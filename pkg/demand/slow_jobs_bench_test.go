// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// BenchmarkSlowJob counts a Volcano Job whose tasks name the same templates. Their requests have alternatives that differ at the end only.
func BenchmarkSlowJob(b *testing.B) {
	source := library{templates: map[string][]resourceapi.DeviceRequest{}}
	var names []string
	for k := range maxClaims {
		var requests []resourceapi.DeviceRequest
		for i := range 32 {
			request := resourceapi.DeviceRequest{Name: fmt.Sprint("r", i)}
			for a := range 8 {
				request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{
					Name: fmt.Sprint("a", a), DeviceClassName: []string{"h100", "a100"}[a%2], AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: int64(1 + (k*32+i)*(a/7)),
				})
			}
			requests = append(requests, request)
		}
		names = append(names, fmt.Sprint("t", k))
		source.templates[names[k]] = requests
	}
	var tasks []batchv1alpha1.TaskSpec
	for range 400 {
		tasks = append(tasks, task("", 1, -1, names...))
	}
	slow := job(400, tasks...)
	_, counted := scale()
	for b.Loop() {
		if _, err := ofJob(counted, slow, source); err != nil {
			b.Fatal(err)
		}
	}
}
