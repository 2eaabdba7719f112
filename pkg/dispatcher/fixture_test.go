// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/plugins"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func init() { plugins.Register() }

// noon is the time of all cycles.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

var cpu = ledger.Dimension{Kind: ledger.Resource, Name: "cpu"}

// fixture is a snapshot that tests build.
type fixture struct {
	t        testing.TB
	snapshot *framework.Snapshot
	config   *framework.Config
	memory   *memory
	// left is what members have of workloads, by "name in cluster".
	left map[string]framework.Left
}

// newFixture returns an empty snapshot, and a configuration with arguments of the plugin capacity as YAML, which may be empty.
func newFixture(t testing.TB, arguments string) *fixture {
	t.Helper()
	config, err := framework.ParseConfig(fmt.Appendf(nil, "tiers: [{plugins: [{name: priority}, {name: capacity, arguments: {%s}}]}]", arguments))
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, config: config, memory: newMemory(), snapshot: &framework.Snapshot{
		Now: noon, Queues: map[string]*schedulingv1beta1.Queue{}, Limits: map[string]framework.QueueLimits{},
		PriorityClasses: map[string]*schedulingv1.PriorityClass{}, Dimensions: &ledger.Dimensions{}, NotReady: map[string]bool{},
	}}
	f.left = map[string]framework.Left{}
	f.snapshot.Left = func(w *framework.Workload, cluster string, _ time.Time) framework.Left {
		return f.left[w.Binding.Name+" in "+cluster]
	}
	f.queue("root", "")
	for name, value := range map[string]int32{"low": 1, "high": 10} {
		f.snapshot.PriorityClasses[name] = &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
	}
	return f
}

// cores returns amounts of cpu.
func (f *fixture) cores(n int64) ledger.Amounts {
	return ledger.Amounts{{Dimension: f.snapshot.Dimensions.Ordinal(cpu), Amount: ledger.Units(n)}}
}

// needing returns the needs of a workload with one copy that clusters have carried out.
func needing(amounts ledger.Amounts) framework.Needs {
	return framework.Needs{Minimum: amounts, All: amounts, Stays: amounts, Settled: amounts, Copy: amounts}
}

// queue adds a queue below a parent. The numbers are its capability and its deserved amount, in cores.
func (f *fixture) queue(name, parent string, cores ...int64) {
	q := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}}
	q.Spec.Parent = parent
	q.Status.State = volcanov1beta1.QueueStateOpen
	limits := framework.QueueLimits{}
	if len(cores) > 0 {
		limits.Capability = f.cores(cores[0])
	}
	if len(cores) > 1 {
		limits.Deserved = f.cores(cores[1])
	}
	f.snapshot.Queues[name], f.snapshot.Limits[name] = q, limits
}

// held adds a workload that waits for some cores. Each workload is younger than the ones before.
func (f *fixture) held(name, queue string, cores int64, changes ...func(*framework.Workload)) *framework.Workload {
	rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: "1"}}
	rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Namespace: "ns", Name: name, ResourceVersion: "7"}
	w := &framework.Workload{
		Binding: rb, Queue: queue, Created: noon.Add(time.Duration(len(f.snapshot.Workloads)-1000) * time.Second),
		State:    binding.State{Hold: &binding.Hold{Reason: binding.Waiting}},
		Template: &workload.Template{Kind: "Job", Namespace: "ns", Name: name, ResourceVersion: "7"},
		Spread:   framework.Spread{Copies: 1},
		Needs:    needing(f.cores(cores)),
	}
	for _, change := range changes {
		change(w)
	}
	f.snapshot.Workloads = append(f.snapshot.Workloads, w)
	return w
}

// running adds a workload that was granted some cores an hour ago and runs in a cluster.
func (f *fixture) running(name, queue string, cores int64, changes ...func(*framework.Workload)) *framework.Workload {
	return f.held(name, queue, cores, append([]func(*framework.Workload){func(w *framework.Workload) {
		w.State = binding.State{MayRun: true, Grant: &binding.Grant{
			Queue: queue, Copies: 1, Time: metav1.NewTime(noon.Add(-time.Hour)), Amounts: []binding.Amount{{Dimension: cpu, Amount: ledger.Units(cores)}},
		}}
		w.Binding.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "member1"}}
		w.Places, w.State.Grant.Clusters = []string{"member1"}, []string{"member1"}
		w.State.Grant.Shape = w.Template.Shape()
		w.Template.Generation = 2
		w.Works = []*workv1alpha1.Work{workIn("member1", "2", `{"state":{"phase":"Running"}}`)}
	}}, changes...)...)
}

// workIn returns the Work of a cluster that has applied a generation and reported a status.
func workIn(cluster, generation, status string) *workv1alpha1.Work {
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: "karmada-es-" + cluster, Annotations: map[string]string{workv1alpha2.ResourceTemplateGenerationAnnotationKey: generation},
	}}
	work.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue}}
	work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Status: &runtime.RawExtension{Raw: []byte(status)}}}
	return work
}

// told returns the instruction to the clusters of a workload that ends.
func told(w *framework.Workload) string {
	if w.State.Deleting {
		return "deleted"
	}
	return "taken back"
}

// lowered makes the clusters of a workload settle after they have lowered it.
func (f *fixture) lowered(w *framework.Workload) {
	f.t.Helper()
	may, missing := lowered(w)
	if missing != "" {
		f.t.Fatalf("%s: %s", w.Binding.Name, missing)
	}
	f.memory.restsSince(w, may.about, f.snapshot.Now.Add(-worksSettle))
}

func priority(class string) func(*framework.Workload) {
	return func(w *framework.Workload) { w.Template.PriorityClass = class }
}

// decide runs a cycle. It returns the decisions as "kind reason name", sorted by name, and the cycle.
func (f *fixture) decide() (string, *cycle) {
	f.t.Helper()
	session := framework.Open(f.config, f.snapshot)
	defer session.Close()
	f.memory.forget(f.snapshot)
	c := newCycle(f.config, session, f.memory)
	c.reconcileAll()
	c.free()
	c.grantAll()
	var all []string
	for _, d := range c.told {
		all = append(all, d.Workload.Binding.Name+" "+d.Reason)
	}
	for _, list := range [][]decision{c.ends, c.grants, c.victims} {
		for _, d := range list {
			text := d.Workload.Binding.Name + " " + d.Reason
			if d.patch != nil {
				text += " *"
			}
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", "), c
}

func (f *fixture) expect(want string) *cycle {
	f.t.Helper()
	got, c := f.decide()
	if got != want {
		f.t.Errorf("decided\n%s, want\n%s", got, want)
	}
	return c
}
