// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
	"volcano.sh/volcano/pkg/scheduler/uthelper"
	"volcano.sh/volcano/pkg/scheduler/util"
)

// oneVolume is a node with one local volume, and pods that want a volume each.
func oneVolume(pods ...string) *uthelper.TestCommonStruct {
	options.Default()
	predicates.ResetVolumeBindingPluginForTest()
	const provisioner = "kubernetes.io/no-provisioner"
	alloc := api.BuildResourceList("8", "8Gi", api.ScalarResource{Name: "pods", Value: "10"})
	size, modes := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	onNode := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "host", Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}}}
	c := &uthelper.TestCommonStruct{
		IgnoreProvisioners: sets.New(provisioner),
		Nodes:              []*corev1.Node{util.BuildNode("n1", alloc, map[string]string{"host": "n1"})}, Queues: []*schedulingv1beta1.Queue{util.BuildQueue("q", 1, nil)},
		PodGroups: []*schedulingv1beta1.PodGroup{util.BuildPodGroup("gang", "ns", "q", 2, nil, schedulingv1beta1.PodGroupInqueue)},
		SCs:       []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: provisioner, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)}},
		PVs: []*corev1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "volume", ResourceVersion: "1"}, Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: "local", PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/x"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{onNode}}},
		}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable}}},
	}
	for _, name := range pods {
		pod := util.BuildPod("ns", name, "", corev1.PodPending, api.BuildResourceList("1", "1Gi"), "gang", nil, nil)
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
		c.Pods = append(c.Pods, pod)
		c.PVCs = append(c.PVCs, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: "1"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: ptr.To("local"), Resources: corev1.VolumeResourceRequirements{Requests: size}}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}})
	}
	return c
}

func TestPipelinedPodsDoNotCountOnTheSameVolume(t *testing.T) {
	c := oneVolume("a", "b")
	var plugin framework.Plugin
	c.Plugins = map[string]framework.PluginBuilder{Name: func(arguments framework.Arguments) framework.Plugin {
		plugin = NewBuilder()(arguments)
		return plugin
	}}
	session := c.RegisterSession([]conf.Tier{{Plugins: []conf.PluginOption{{Name: Name, EnabledPredicate: ptr.To(true)}}}}, nil)
	defer c.Close()
	tasks := map[string]*api.TaskInfo{}
	for _, job := range session.Jobs {
		for _, task := range job.Tasks {
			tasks[task.Name] = task
		}
	}
	suits := func(name string) error {
		if err := session.PrePredicateFn(tasks[name]); err != nil {
			return err
		}
		return session.PredicateFn(tasks[name], session.Nodes["n1"])
	}
	deadline := time.Now().Add(10 * time.Second)
	for suits("a") != nil || suits("b") != nil { // until the caches of the session have the volume and both claims
		if time.Now().After(deadline) {
			t.Fatal(suits("a"), suits("b"))
		}
	}
	statement := framework.NewStatement(session)
	if err := statement.Pipeline(tasks["a"], "n1", false); err != nil {
		t.Fatal(err)
	}
	if suits("b") == nil {
		t.Error("two pods are to get the same volume")
	}
	statement.Discard()
	if err := suits("b"); err != nil {
		t.Errorf("a pod that is not to start any more keeps its volume: %v", err)
	}
	if err := statement.Pipeline(tasks["b"], "n1", false); err != nil {
		t.Fatal(err)
	}
	plugin.OnSessionClose(session)
	if err := suits("a"); err != nil {
		t.Errorf("after the session, a pod keeps its volume: %v", err)
	}
}
