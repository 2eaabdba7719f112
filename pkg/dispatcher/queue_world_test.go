// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// newQueueWorld returns a world with one dispatcher, four clusters, and a queue c.
func newQueueWorld(t *testing.T, seed uint64, cores int64, looks bool) *world {
	return newWorldOf(t, seed, "", looks, func(w *world) { w.queue("c", "root", cores) })
}

// newWorldOf returns a world with one dispatcher, four clusters, and some queues. Arguments are those of the plugin capacity.
func newWorldOf(t *testing.T, seed uint64, arguments string, looks bool, addQueues func(*world)) *world {
	w := newWorld(t, seed, newFixture(t, arguments).config)
	for _, cluster := range []string{"m1", "m2", "m3", "m4"} {
		w.cluster(cluster)
	}
	w.queue("root", "", 0)
	addQueues(w)
	w.replicas, w.observer = append(w.replicas, w.newReplica()), w.newReplica()
	t.Cleanup(func() {
		w.replicas[0].stop()
		w.observer.stop()
	})
	w.succeed()
	w.looks = looks
	return w
}

// deploy creates a Deployment of queue c with pods of one core.
func (w *world) deploy(name string, replicas int32, to string) { w.deployIn("c", name, replicas, to) }

// deployIn creates a Deployment of a queue with pods of one core.
func (w *world) deployIn(queue, name string, replicas int32, to string) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	d.APIVersion, d.Kind = "apps/v1", "Deployment"
	d.Spec = appsv1.DeploymentSpec{Replicas: ptr.To(replicas), Template: podsOf(queue, 1)}
	w.sendTo("ns/"+name+"-deployment", to)
	w.put(deployments, d)
}

// train creates a Volcano Job of queue c with pods of one core.
func (w *world) train(name string, replicas int32, to string, change func(*batchv1alpha1.TaskSpec)) {
	job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	job.APIVersion, job.Kind = "batch.volcano.sh/v1alpha1", "Job"
	job.Spec = batchv1alpha1.JobSpec{Queue: "c", MinAvailable: 1, Tasks: []batchv1alpha1.TaskSpec{{Name: "t", Replicas: replicas, Template: podsOf("c", 1)}}}
	change(&job.Spec.Tasks[0])
	w.sendTo("ns/"+name+"-job", to)
	w.put(jobs, job)
}

// pass lets everything work for some seconds.
func (w *world) pass(seconds int) {
	for range seconds {
		w.round()
		w.sleep(time.Second)
	}
}

// sendTo makes the policy of a binding name clusters, each of which gets the whole workload.
func (w *world) sendTo(key string, clusters ...string) {
	w.policies[key] = &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: clusters}}
}

// runs returns how many cores run in all clusters.
func (w *world) runs() (cores int64) {
	for _, o := range w.store[works] {
		cores += w.content[string(o.GetUID())].cores()
	}
	return cores
}

// ends returns how many cores deleted pods have that still run.
func (w *world) ends() (cores int64) {
	for _, e := range w.ending {
		cores += e.cores()
	}
	return cores
}
