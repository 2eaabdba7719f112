// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"os"
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
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
	for name := range (&arguments{}).byName() {
		if _, documented := given[name]; !documented {
			t.Errorf("argument %s is not in the page", name)
		}
	}
}
