// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/pkg/dra"
)

// TooManySharersError says that a job can never start, because more pods of its minimum use one claim than Kubernetes allows.
type TooManySharersError struct {
	Namespace, Claim string
	// Pods is the number of pods in the job's minimum that use the claim. Others is the number of other pods that already use it.
	Pods, Others int
}

func (e *TooManySharersError) Error() string {
	others := ""
	if e.Others > 0 {
		others = fmt.Sprintf(", besides %d other pods", e.Others)
	}
	return fmt.Sprintf("ResourceClaim %s/%s: %d pods of the job's minimum use it%s, but at most %d pods can share a claim: use a ResourceClaimTemplate or several claims, or lower minAvailable",
		e.Namespace, e.Claim, e.Pods, others, resourceapi.ResourceClaimReservedForMaxSize)
}

// CheckSharersOfPods returns an error if the minimum of a job with enough pods can never reserve a claim. Any pods can form
// the minimum, so pods that do not use the claim count first.
func CheckSharersOfPods(pods []JobPod, minMember int) error {
	users := map[*Claim]int{}
	for i := range pods {
		for _, claim := range pods[i].Claims {
			users[claim]++
		}
	}
	var first *TooManySharersError
	uids := uidsOf(pods)
	for claim, all := range users {
		err := checkSharers(claim.Object, minMember-(len(pods)-all), reservations(uids, claim.Object))
		if err != nil && (first == nil || err.Claim < first.Claim) {
			first = err
		}
	}
	if first == nil {
		return nil // a nil pointer is not a nil error
	}
	return first
}

// CheckSharersOfJob is CheckSharersOfPods for a job without enough pods. pods lists the existing pods. Unreadable
// claims are reported when they are counted.
func CheckSharersOfJob(job *batchv1alpha1.Job, reader dra.ClaimReader, pods []JobPod) error {
	// last is the last task that names a claim, counted from one: a task may name a claim several times.
	type uses struct{ pods, last int }
	known, total := map[string]*uses{}, 0
	for i := range job.Spec.Tasks {
		task := &job.Spec.Tasks[i]
		total += int(task.Replicas)
		for j := range task.Template.Spec.ResourceClaims {
			name := task.Template.Spec.ResourceClaims[j].ResourceClaimName
			if name == nil {
				continue
			}
			of := known[*name]
			if of == nil {
				of = &uses{}
				known[*name] = of
			}
			if of.last != i+1 {
				of.pods, of.last = of.pods+int(task.Replicas), i+1
			}
		}
		if CheckNamed(len(known), 0) != nil {
			return nil // counting the job reports this, too
		}
	}
	uids := uidsOf(pods)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		least := int(job.Spec.MinAvailable) - (total - known[name].pods)
		if least <= 0 {
			continue
		}
		claim, err := reader.Claim(job.Namespace, name)
		if err != nil {
			continue
		}
		if err := checkSharers(claim, least, reservations(uids, claim)); err != nil {
			return err
		}
	}
	return nil
}

// checkSharers checks a claim that at least this many pods of a minimum use. reserved is the number of the job's pods
// that have reserved it.
func checkSharers(claim *resourceapi.ResourceClaim, least, reserved int) *TooManySharersError {
	others := len(claim.Status.ReservedFor) - reserved
	if least <= 0 || max(least, reserved)+others <= resourceapi.ResourceClaimReservedForMaxSize {
		return nil
	}
	return &TooManySharersError{Namespace: claim.Namespace, Claim: claim.Name, Pods: least, Others: others}
}

func uidsOf(pods []JobPod) map[types.UID]bool {
	uids := make(map[types.UID]bool, len(pods))
	for i := range pods {
		uids[pods[i].Object.UID] = true
	}
	return uids
}

// reservations counts the pods, given by their UIDs, that have reserved a claim.
func reservations(pods map[types.UID]bool, claim *resourceapi.ResourceClaim) int {
	n := 0
	for _, consumer := range claim.Status.ReservedFor {
		if pods[consumer.UID] {
			n++
		}
	}
	return n
}
