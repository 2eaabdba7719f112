// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"volcano.sh/volcano/cmd/scheduler/app/options"
)

func TestTheSchedulerServesWhatItWasBuiltFrom(t *testing.T) {
	response := httptest.NewRecorder()
	metricsHandler(&options.ServerOption{EnableMetrics: true}).ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	pattern := regexp.MustCompile(`(?m)^devicequota_build_info\{commit="[^"]+",date="[^"]+",go_version="go[^"]+",version="[^"]+",volcano_version="[^"]*"\} 1$`)
	if !pattern.MatchString(response.Body.String()) {
		t.Errorf("no devicequota_build_info in\n%s", response.Body)
	}
}
