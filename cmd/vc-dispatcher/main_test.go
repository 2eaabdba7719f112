// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/devicequota/devicequota/test/page"
)

func TestEachFlagIsInThePage(t *testing.T) {
	flags := pflag.NewFlagSet("vc-dispatcher", pflag.ContinueOnError)
	defaultOptions().addFlags(flags)
	page.CheckFlags(t, "../../docs/reference.md", flags)
}

func TestFlagsThatMakeNoSenseAreRefused(t *testing.T) {
	complete := []string{"--config=c", "--tls-cert-file=c", "--tls-private-key-file=k"}
	for args, want := range map[string]string{
		"":                        "",
		"--config=":               "flag --config is missing",
		"--tls-cert-file=":        "flag --tls-cert-file or --tls-private-key-file is missing",
		"--tls-private-key-file=": "flag --tls-cert-file or --tls-private-key-file is missing",
		"--dispatch-period=0":     "flag --dispatch-period is 0s",
		"--dispatch-period=-1s":   "flag --dispatch-period is -1s",
		"--kube-api-qps=0":        "flags --kube-api-qps and --kube-api-burst are 0 and 1000",
		"--kube-api-burst=-1":     "flags --kube-api-qps and --kube-api-burst are 500 and -1",
	} {
		o, flags := defaultOptions(), pflag.NewFlagSet("vc-dispatcher", pflag.ContinueOnError)
		o.addFlags(flags)
		if err := flags.Parse(append(complete, strings.Fields(args)...)); err != nil {
			t.Fatal(err)
		}
		if err := o.check(); want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
