// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"
)

// takenClass is the class of PersistentVolumes that claims have, as the scheduler sees them. No StorageClass has this name.
const takenClass = "devicequota/taken"

// setTakenApart must be called before the cache runs. Upstream's plugin looks for a volume for each claim that waits for its pod: it lists all volumes of the
// class for the claim, and goes through them on each node, in each cycle. Whoever has a thousand volumes of a class, and pods with many claims that wait, took
// half a second of each cycle for each of these pods on a hundred nodes. No other claim gets a volume that a claim has: it is only found by its name.
func setTakenApart(cache *schedulercache.SchedulerCache) error {
	if err := cache.SharedInformerFactory().Core().V1().PersistentVolumes().Informer().SetTransform(apartIfTaken); err != nil {
		return fmt.Errorf("keep volumes that claims have from searches: %w", err)
	}
	return nil
}

// apartIfTaken also takes volumes apart whose claim is gone: an administrator makes them available first. A volume that is not bound yet may be kept for a claim
// that waits. A claim that gets its volume in this moment is found in the next session.
func apartIfTaken(object any) (any, error) {
	volume, known := object.(*corev1.PersistentVolume)
	if !known || volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID == "" {
		return object, nil
	}
	switch volume.Status.Phase {
	case corev1.VolumeBound, corev1.VolumeReleased, corev1.VolumeFailed:
		copied := *volume
		copied.Annotations = maps.Clone(volume.Annotations)
		delete(copied.Annotations, corev1.BetaStorageClassAnnotation)
		copied.Spec.StorageClassName = takenClass
		return &copied, nil
	default:
		return object, nil
	}
}
