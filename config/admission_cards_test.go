// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/devicequota/devicequota/pkg/card"
)

// FuzzCardPolicies checks that the policies refuse no list of cards that the scheduler reads. The API server, whose
// answers test/e2e compares, uses the same regular expressions.
func FuzzCardPolicies(f *testing.F) {
	quota := regexp.MustCompile(variable(f, "devicequota-queue-cards", "numbers"))
	request := regexp.MustCompile(variable(f, "devicequota-cards", "request"))
	for _, text := range []string{
		"{}", " {\t\"A\" : 1 ,\n\"B/mps-96g*1/2\":0}\r\n", `{"A|B": 6}`, `{"\u0041\"\\\/\b": -0}`, `{"A": 9223372036854775807}`, "{\"Größe\u00a0\u0085\u007f\": 1}", `{"A": 1e3}`, `{"A": 01}`, "{}{}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		numbers, err := card.Numbers(text)
		if err != nil {
			return
		}
		several, malformed := false, false
		for _, n := range numbers {
			_, err := card.Names(n.Card)
			several, malformed = several || strings.Contains(n.Card, "|"), malformed || err != nil
		}
		if !malformed && !request.MatchString(text) {
			t.Errorf("%q is refused as a request", text)
		}
		if !malformed && !several && !quota.MatchString(text) {
			t.Errorf("%q is refused as a quota", text)
		}
	})
}

// variable returns the value of a variable that depends on other variables only.
func variable(f *testing.F, policyName, name string) string {
	f.Helper()
	env, err := environment.MustBaseEnvSet(oldest, true).Env(environment.NewExpressions)
	if err != nil {
		f.Fatal(err)
	}
	if env, err = env.Extend(cel.Variable("variables", cel.MapType(cel.StringType, cel.StringType))); err != nil {
		f.Fatal(err)
	}
	policies, _ := admission(f)
	values := map[string]string{}
	for _, policy := range policies {
		for _, v := range policy.Spec.Variables {
			ast, issues := env.Compile(v.Expression)
			if policy.Name != policyName || issues.Err() != nil {
				continue
			}
			program, err := env.Program(ast)
			if err != nil {
				f.Fatal(err)
			}
			if value, _, err := program.Eval(map[string]any{"variables": values}); err == nil {
				values[v.Name], _ = value.Value().(string)
			}
		}
	}
	if values[name] == "" {
		f.Fatalf("policy %s has no variable %s", policyName, name)
	}
	return values[name]
}
