// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/util"
)

// TestAClaimOfAnotherPodKeepsNoPodsFromANode: users may write who owns a claim, also that of an ephemeral volume of a pod that runs.
func TestAClaimOfAnotherPodKeepsNoPodsFromANode(t *testing.T) {
	const driver = "csi.example.com"
	world := oneVolume("a")
	world.IgnoreProvisioners = sets.New(driver)
	world.SCs[0].Provisioner, world.PVs = driver, nil
	runs := util.BuildPod("ns", "runs", "n1", corev1.PodRunning, api.BuildResourceList("1", "1Gi"), "gang", nil, nil)
	runs.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	foreign := world.PVCs[0].DeepCopy()
	foreign.Name = "runs-data"
	world.Pods, world.PVCs = append(world.Pods, runs), append(world.PVCs, foreign)
	world.Plugins = map[string]framework.PluginBuilder{Name: func(arguments framework.Arguments) framework.Plugin { return NewBuilder()(arguments) }}
	session := world.RegisterSession([]conf.Tier{{Plugins: []conf.PluginOption{{Name: Name, EnabledPredicate: ptr.To(true)}}}}, nil)
	defer world.Close()
	nodes := session.KubeClient().StorageV1().CSINodes()
	if _, err := nodes.Create(t.Context(), &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: "n1", Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](1)}}}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var pod *api.TaskInfo
	for _, task := range session.Jobs["ns/gang"].Tasks {
		if task.Name == "a" {
			pod = task
		}
	}
	lister, deadline := session.InformerFactory().Storage().V1().CSINodes().Lister(), time.Now().Add(10*time.Second)
	for { // until the caches of the session have the objects
		err := session.PrePredicateFn(pod)
		if _, missing := lister.Get("n1"); err == nil {
			err = missing
		}
		if err == nil {
			if err = session.PredicateFn(pod, session.Nodes["n1"]); err == nil {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
