// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/devicequota/devicequota/pkg/visibility"
)

// authority signs certificates of clients.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{t: t}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, key := a.sign(template, nil)
	a.cert, a.key = must(x509.ParseCertificate(der))(t), key
	return a
}

// sign returns a certificate and its key. Without an authority, the certificate is self-signed.
func (a *authority) sign(template *x509.Certificate, by *authority) ([]byte, *ecdsa.PrivateKey) {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(a.t)
	template.SerialNumber = must(rand.Int(rand.Reader, big.NewInt(1<<62)))(a.t)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	return must(x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer))(a.t), key
}

func (a *authority) client(name string, groups ...string) tls.Certificate {
	der, key := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name, Organization: groups}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

// fixture is a leading server, and its cluster.
type fixture struct {
	t         *testing.T
	cluster   *fakeCluster
	publisher *visibility.Publisher
	server    *Server
	url       string
	// clients counts the clients.
	clients atomic.Int32
}

func newFixture(t *testing.T, change ...func(*Server)) *fixture {
	t.Helper()
	return newFixtureOn(t, must(net.Listen("tcp", "127.0.0.1:0"))(t), change...)
}

func newFixtureOn(t *testing.T, listener net.Listener, change ...func(*Server)) *fixture {
	t.Helper()
	f := &fixture{t: t, cluster: newFakeCluster(t), publisher: visibility.New(clock.RealClock{})}
	api := httptest.NewServer(f.cluster)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		api.CloseClientConnections()
		api.Close()
	})
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page "+r.URL.Path) })
	config := &rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	options := NewOptions()
	options.Namespace = "volcano-system"
	f.server = must(New(options, process, config, f.publisher, page))(t)
	f.server.leading.Store(true)
	for _, c := range change {
		c(f.server)
	}
	if err := f.server.serve(ctx, listener); err != nil {
		t.Fatal(err)
	}
	f.url = "https://" + listener.Addr().String()
	return f
}

// asker is the sender of a request.
type asker struct {
	certificate *tls.Certificate
	headers     map[string]string
}

func token(user string) asker {
	return asker{headers: map[string]string{"Authorization": "Bearer token-of-" + user}}
}

// ask returns the status and the body of an answer.
func (f *fixture) ask(who asker, path string) (int, string) {
	f.t.Helper()
	response := f.request(context.Background(), who, http.MethodGet, path)
	defer response.Body.Close()
	return response.StatusCode, string(must(io.ReadAll(response.Body))(f.t))
}

func (f *fixture) request(ctx context.Context, who asker, method, path string) *http.Response {
	f.t.Helper()
	return must(f.send(ctx, who, method, path))(f.t)
}

func (f *fixture) send(ctx context.Context, who asker, method, path string) (*http.Response, error) {
	f.t.Helper()
	// Each client has a connection, and an address of its own has room for it.
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+f.clients.Add(1)%200))}}
	transport := &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	if who.certificate != nil {
		transport.TLSClientConfig.Certificates = []tls.Certificate{*who.certificate}
	}
	f.t.Cleanup(transport.CloseIdleConnections)
	request := must(http.NewRequestWithContext(ctx, method, f.url+path, nil))(f.t)
	for key, value := range who.headers {
		request.Header.Set(key, value)
	}
	return (&http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(request)
}

// process is the scheduler of the server.
var process = Process{Host: "scheduler-0", Version: "v0.1.0", Configuration: func() string { return "actions: allocate\n" }}

// told sends a request, and decodes the answer.
func told[T any](f *fixture, who asker, path string) *T {
	f.t.Helper()
	status, body := f.ask(who, versionPath+path)
	if status != http.StatusOK {
		f.t.Fatalf("%s: %d %s", path, status, body)
	}
	var object T
	if err := json.Unmarshal([]byte(body), &object); err != nil {
		f.t.Fatalf("%s: %v: %s", path, err, body)
	}
	return &object
}

// eventually waits for a condition. Only a failing test waits to the end.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
