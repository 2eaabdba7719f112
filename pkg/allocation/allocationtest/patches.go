// SPDX-License-Identifier: Apache-2.0

// Package allocationtest helps to test code that writes ResourceClaims.
package allocationtest

import (
	"encoding/json"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// PatchesAreUpdates makes a fake API server handle patches of ResourceClaims as updates, so tests need reactors only for
// updates. The resourceVersion of the updated claim is the one in the patch.
func PatchesAreUpdates(kube *fake.Clientset) {
	kube.PrependReactor("patch", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		claim, err := patched(kube.Tracker(), patch)
		if err != nil {
			return true, nil, err
		}
		update := clienttesting.NewUpdateSubresourceAction(action.GetResource(), action.GetSubresource(), action.GetNamespace(), claim)
		for _, reactor := range kube.ReactionChain {
			if !reactor.Handles(update) {
				continue
			}
			if handled, result, err := reactor.React(update); handled {
				return true, result, err
			}
		}
		return false, nil, nil
	})
}

func patched(tracker clienttesting.ObjectTracker, patch clienttesting.PatchAction) (*resourceapi.ResourceClaim, error) {
	stored, err := tracker.Get(patch.GetResource(), patch.GetNamespace(), patch.GetName())
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch.GetPatch(), resourceapi.ResourceClaim{})
	if err != nil {
		return nil, err
	}
	claim := &resourceapi.ResourceClaim{}
	return claim, json.Unmarshal(after, claim)
}
