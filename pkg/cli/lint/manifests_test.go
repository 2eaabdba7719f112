// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/lint"
)

func queue(name, spec string) string {
	if spec == "" {
		spec = "{}"
	}
	return fmt.Sprintf("---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s}\nspec: %s\n", name, spec)
}

func pod(meta, spec string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default, annotations: %s}\nspec: {containers: [{name: c, resources: {requests: {nvidia.com/gpu: 1}}}] %s}\n", meta, spec)
}

func TestWhatIsWrongInManifestsHasAPlace(t *testing.T) {
	for _, c := range []struct{ rule, manifests, says string }{
		{lint.NameMissing, queue("", "{parent: gone}"), "The API server refuses a Queue without a name: set metadata.name"},
		{lint.UnknownField, queue("a", "{parnet: root}"), `unknown field "parnet"`},
		{lint.RepeatedField, queue("a", "{parent: root, parent: root}"), "has spec.parent more than once"},
		{"QueueMisplaced", queue("a", "{parent: gone}"), "The queue takes no pods: its parent gone does not exist: create that queue or change spec.parent"},
		{lint.PastQuota, pod("{}", ""), "get them past every quota"},
		{lint.ConfigurationNotRead, "---\nactions: [1]\ntiers: []\n", "no valid YAML"},
	} {
		all := found(t, c.manifests)
		i := slices.IndexFunc(all, func(f finding) bool { return f.Rule == c.rule && strings.Contains(f.Message, c.says) })
		if i < 0 {
			t.Errorf("nothing says %q: %+v", c.says, all)
		} else if all[i].File == "" || all[i].Line == 0 || all[i].Object.Kind == "" {
			t.Errorf("it has no place: %+v", all[i])
		}
	}
}
