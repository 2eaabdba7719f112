// SPDX-License-Identifier: Apache-2.0

//go:build chart

package chart

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// portCell matches a cell with a port.
var portCell = regexp.MustCompile(`\| \d+ \|`)

func TestThePageHasAllPorts(t *testing.T) {
	e := newEnvironment(t)
	_, section, found := strings.Cut(e.fileOf(installation), "\n## Ports\n")
	e.Expect(found).To(BeTrue())
	section, _, _ = strings.Cut(section, "\n## ")
	_, scheduler, _ := strings.Cut(section, "`app: devicequota-scheduler`")
	scheduler, webhooks, _ := strings.Cut(scheduler, "`app.kubernetes.io/name: vc-webhook`")
	all := e.render("devicequota", "--set webhook.enabled=true")
	for deployment, rows := range map[string]string{"devicequota-scheduler": scheduler, webhook: webhooks} {
		ports, _ := at(all["Deployment "+deployment], "spec", "template", "spec", "containers", 0, "ports").([]any)
		e.Expect(portCell.FindAllString(rows, -1)).To(HaveLen(len(ports)), "rows of %s", deployment)
		for _, port := range ports {
			e.Expect(rows).To(ContainSubstring(fmt.Sprintf("| %v |", at(port, "containerPort"))), deployment)
		}
	}
}
