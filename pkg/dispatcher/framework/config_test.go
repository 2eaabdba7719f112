// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// first is a plugin without functions. Its argument wide is a boolean.
type first struct{}

func (first) Name() string            { return "first" }
func (first) OnSessionOpen(*Session)  {}
func (first) OnSessionClose(*Session) {}

func init() {
	Register("first", Registration{
		Check: func(a Arguments) error {
			if _, err := a.Bool("wide", false); err != nil {
				return err
			}
			return a.Known("wide")
		},
		New: func(Arguments) Plugin { return first{} },
	})
}

func TestAConfigurationHasDefaults(t *testing.T) {
	got, err := ParseConfig([]byte("tiers: [{plugins: [{name: first, arguments: {wide: true}}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		DefaultQueue: "default", SchedulerNames: []string{"volcano"},
		UnschedulableTimeout: metav1.Duration{Duration: 10 * time.Minute},
		RequeueBackoff:       metav1.Duration{Duration: time.Minute},
		RequeueBackoffLimit:  metav1.Duration{Duration: time.Hour},
		Tiers:                []Tier{{Plugins: []PluginConfig{{Name: "first", Arguments: Arguments{"wide": true}}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAWrongConfigurationSaysWhatIsWrong(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"an unknown field", "queue: x\ntiers: [{plugins: [{name: first}]}]", `unknown field "queue"`},
		{"no plugin", "{}", "tiers lists no plugin"},
		{"an unknown plugin", "tiers: [{plugins: [{name: last}]}]", `there is no plugin "last": the plugins are`},
		{"a plugin twice", "tiers: [{plugins: [{name: first}]}, {plugins: [{name: first}]}]", "plugin first: it is listed twice"},
		{"an unknown argument", "tiers: [{plugins: [{name: first, arguments: {width: 3}}]}]", `plugin first: there is no argument width: the arguments are ["wide"]`},
		{"an argument of another type", "tiers: [{plugins: [{name: first, arguments: {wide: 3}}]}]", "plugin first: argument wide is 3: it must be true or false"},
		{"a negative duration", "unschedulableTimeout: -1m\ntiers: [{plugins: [{name: first}]}]", "unschedulableTimeout is -1m0s: it must be more than zero"},
		{"a duration without a unit", "requeueBackoff: ten\ntiers: [{plugins: [{name: first}]}]", "ten"},
		{"not YAML", "tiers: [", "yaml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseConfig([]byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}
