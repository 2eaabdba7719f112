// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/cli/clitest"
)

func TestTheConfigurationIsThatOfTheSchedulerThatAnswers(t *testing.T) {
	const (
		asked     = "/apis/visibility.devicequota.io/v1alpha1/configuration"
		configMap = "/api/v1/namespaces/volcano-system/configmaps/volcano-scheduler-configmap"
	)
	for _, c := range []struct {
		name    string
		answers map[string]string
		// want is the configuration, said the output for the user, and err a part of the error.
		want, said, err string
	}{
		{"the scheduler tells", map[string]string{asked: `{"text": "mine"}`, configMap: `{"data": {"volcano-scheduler.conf": "another"}}`}, "mine", "", ""},
		{"the scheduler does not tell", map[string]string{configMap: `{"data": {"volcano-scheduler.conf": "volcanos"}}`}, "volcanos", "ConfigMap volcano-system/volcano-scheduler-configmap is used: the API server does not know", ""},
		{"there is no ConfigMap either", nil, "", "", "ConfigMap volcano-system/volcano-scheduler-configmap"},
		{"the ConfigMap has another key", map[string]string{configMap: `{"data": {"other.conf": "other"}}`}, "", "", "has no key volcano-scheduler.conf"},
	} {
		o, _, stderr := clitest.Options(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer, found := c.answers[r.URL.Path]
			if !found {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, answer)
		}))
		got, err := o.SchedulerConfiguration(t.Context())
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %q and the error %v, want %q and %q", c.name, got, err, c.want, c.err)
		}
		if told := stderr.String(); (told == "") != (c.said == "") || !strings.Contains(told, c.said) {
			t.Errorf("%s: the user learns %q, want %q", c.name, told, c.said)
		}
	}
}
