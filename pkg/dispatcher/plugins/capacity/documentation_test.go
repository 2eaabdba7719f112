// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/test/page"
)

func TestThePageHasAllArgumentsWithTheirDefaults(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/multicluster.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n([^`]*?tiers:.*?)```").FindSubmatch(text)
	if example == nil {
		t.Fatal("the page has no configuration")
	}
	config := &framework.Config{}
	if err := yaml.UnmarshalStrict(example[1], config); err != nil {
		t.Fatal(err)
	}
	given, _ := config.Plugin(Name)
	if err := check(given); err != nil {
		t.Error(err)
	}
	if got, want := readArguments(given), readArguments(nil); got != want {
		t.Errorf("the page says that the defaults are %+v, and they are %+v", got, want)
	}
	reference, err := os.ReadFile("../../../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(reference), "### Arguments of the dispatcher's plugin capacity\n")
	defaults := readArguments(nil)
	for name, field := range defaults.byName() {
		if _, documented := given[name]; !documented {
			t.Errorf("argument %s is not in the page", name)
		}
		if row, want := page.Row(table, "`"+name+"`"), fmt.Sprintf("`%t`", *field); len(row) < 2 || row[1] != want {
			t.Errorf("argument %s has the default %s, and docs/reference.md has %q", name, want, row)
		}
	}
}
