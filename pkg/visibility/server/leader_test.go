// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
)

const slicePath = "/apis/discovery.k8s.io/v1/namespaces/volcano-system/endpointslices/" + ServiceName

func TestTheServiceLeadsToTheLeader(t *testing.T) {
	for address, want := range map[string]discoveryv1.AddressType{"192.0.2.7": discoveryv1.AddressTypeIPv4, "2001:db8::7": discoveryv1.AddressTypeIPv6} {
		t.Run(address, func(t *testing.T) {
			t.Setenv(podIP, address)
			f := newFixture(t)
			f.server.Lead(t.Context())
			eventually(t, "the EndpointSlice is written", func() bool { return f.cluster.writtenTo(slicePath) != "" })
			var slice discoveryv1.EndpointSlice
			if err := json.Unmarshal([]byte(f.cluster.writtenTo(slicePath)), &slice); err != nil {
				t.Fatal(err)
			}
			if slice.AddressType != want || slice.Endpoints[0].Addresses[0] != address || *slice.Ports[0].Port != 8444 || *slice.Ports[0].Name != "https" ||
				slice.Labels[discoveryv1.LabelServiceName] != ServiceName {
				t.Errorf("%+v", slice)
			}
		})
	}
}

func TestWithoutAnAddressTheLeaderAnswersAndNoServiceLeadsToIt(t *testing.T) {
	for _, address := range []string{"", "no address"} {
		t.Setenv(podIP, address)
		f := newFixture(t, func(s *Server) { s.leading.Store(false) })
		f.server.Lead(t.Context())
		if !f.server.leading.Load() || f.cluster.writtenTo(slicePath) != "" {
			t.Errorf("address %q: leading %v, written %s", address, f.server.leading.Load(), f.cluster.writtenTo(slicePath))
		}
	}
}

func TestALeaderThatEndsIsWithdrawnUnlessAnotherOneLeads(t *testing.T) {
	t.Setenv(podIP, "192.0.2.7")
	for name, refusal := range map[string]int{"it leads": 0, "another one leads": http.StatusUnprocessableEntity} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.server.Withdraw(t.Context()) // it has not led yet
			if written := f.cluster.writtenTo(slicePath); written != "" {
				t.Fatalf("written %s", written)
			}
			f.server.Lead(t.Context())
			eventually(t, "the EndpointSlice is written", func() bool { return f.cluster.writtenTo(slicePath) != "" })
			f.cluster.refuse(refusal)
			f.server.Withdraw(t.Context())
			const want = `[{"op":"test","path":"/endpoints/0/addresses/0","value":"192.0.2.7"},{"op":"replace","path":"/endpoints","value":[]}]`
			if got := f.cluster.writtenTo(slicePath); got != want {
				t.Errorf("written %s, want %s", got, want)
			}
			if f.server.leading.Load() {
				t.Error("it still answers")
			}
		})
	}
}

func TestTheEndOfALeaderDoesNotWaitForAnAPIServerThatHangs(t *testing.T) {
	t.Setenv(podIP, "192.0.2.7")
	f := newFixture(t)
	f.server.Lead(t.Context())
	eventually(t, "the EndpointSlice is written", func() bool { return f.cluster.writtenTo(slicePath) != "" })
	f.cluster.hang()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	f.server.Withdraw(ctx)
}

func TestTheCertificateHasTheNamesOfTheService(t *testing.T) {
	f := newFixture(t)
	connection := must(f.raw(&tls.Config{}))(t)
	defer connection.Close()
	certificate := connection.ConnectionState().PeerCertificates[0]
	for _, name := range []string{"localhost", "127.0.0.1", "devicequota-visibility", "devicequota-visibility.volcano-system", "devicequota-visibility.volcano-system.svc"} {
		if err := certificate.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
}
