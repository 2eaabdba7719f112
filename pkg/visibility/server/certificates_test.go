// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/util/cert"
)

// writeCertificate writes a certificate for a name, and its key.
func writeCertificate(t *testing.T, o Options, name string) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{o.CertFile: certificate, o.KeyFile: key} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCertificatesAreReadAgainWhenTheyChange(t *testing.T) {
	folder := t.TempDir()
	files := Options{CertFile: filepath.Join(folder, "tls.crt"), KeyFile: filepath.Join(folder, "tls.key")}
	writeCertificate(t, files, "first.example.com")
	f := newFixture(t, func(s *Server) { s.options = files })
	served := func() string {
		connection := must(tls.Dial("tcp", f.url[len("https://"):], &tls.Config{InsecureSkipVerify: true}))(t)
		defer connection.Close()
		return connection.ConnectionState().PeerCertificates[0].DNSNames[0]
	}
	if got := served(); got != "first.example.com" {
		t.Fatal(got)
	}
	writeCertificate(t, files, "second.example.com")
	eventually(t, "the second certificate is served", func() bool { return served() == "second.example.com" })
}

func TestBadOptionsAreToldBeforeTheSchedulerRuns(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		bad     bool
	}{
		"the defaults":                   {options: NewOptions()},
		"nothing is served":              {options: Options{CertFile: "tls.crt"}},
		"no port":                        {options: Options{BindAddress: "localhost"}, bad: true},
		"a certificate without its key":  {options: Options{BindAddress: ":1", CertFile: "tls.crt"}, bad: true},
		"a key without its certificate":  {options: Options{BindAddress: ":1", KeyFile: "tls.key"}, bad: true},
		"a certificate and its key":      {options: Options{BindAddress: ":1", CertFile: "tls.crt", KeyFile: "tls.key"}},
		"an address of the IP version 6": {options: Options{BindAddress: "[::1]:8444"}},
	} {
		if err := test.options.Validate(); (err != nil) != test.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
}
