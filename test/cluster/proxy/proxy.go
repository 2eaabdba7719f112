// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Proxy passes requests to an API server with the identity of its client. It serves HTTP/2 with TLS, as API servers do. It is safe for concurrent
// use.
type Proxy struct {
	server  *httptest.Server
	reverse *httputil.ReverseProxy
	seed    uint64

	mu     sync.Mutex
	faults Faults
	// random has a sequence for each kind of request.
	random map[string]*rand.Rand
	// expired has the resources of watches that were ended. Their next watch is answered with 410, which makes the client list.
	expired map[string]bool
	gates   map[string]*gate
	counts  map[string]int
}

// Start runs a proxy for the client of a kubeconfig. It disturbs nothing at first.
func Start(kubeconfig string, seed uint64) (*Proxy, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	return StartFor(config, seed)
}

// StartFor is Start for the client of a configuration.
func StartFor(config *rest.Config, seed uint64) (*Proxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	p := &Proxy{seed: seed, random: map[string]*rand.Rand{}, expired: map[string]bool{}, gates: map[string]*gate{}, counts: map[string]int{}}
	silent := log.New(io.Discard, "", 0)
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		FlushInterval:  -1, // each event at once
		ErrorLog:       silent,
		ModifyResponse: p.answer,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // ends the stream without an answer
	}
	p.server = httptest.NewUnstartedServer(p)
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = silent
	p.server.StartTLS()
	return p, nil
}

// Stop cuts all connections, and ends the proxy.
func (p *Proxy) Stop() {
	p.server.CloseClientConnections()
	p.server.Close()
}

// WriteKubeconfig writes a kubeconfig with which a client connects to the proxy. It contains no credentials, because the proxy has them.
func (p *Proxy) WriteKubeconfig(file string) error {
	const entry = "proxy"
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{entry: {Server: p.server.URL, CertificateAuthorityData: authority}},
		Contexts:       map[string]*clientcmdapi.Context{entry: {Cluster: entry}},
		CurrentContext: entry,
	}, file)
}

// Counts returns how often each fault happened, such as "refused 409", and how many requests passed, such as "update resourceclaims/status".
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

var infos = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// infoKey is the key of the request.RequestInfo in the context of a request.
type infoKey struct{}

func infoOf(r *http.Request) *request.RequestInfo {
	return r.Context().Value(infoKey{}).(*request.RequestInfo)
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, err := infos.NewRequestInfo(r)
	if err != nil || p.pass(r.Context(), everything) != nil {
		panic(http.ErrAbortHandler)
	}
	if refusal := p.refuse(info); refusal != nil {
		write(w, refusal)
		return
	}
	if p.stalls(info) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	p.reverse.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), infoKey{}, info)))
}

var errLost = errors.New("the answer is lost")

// lose ends the connection, or answers 504 as an API server that does not wait for its etcd.
func (p *Proxy) lose(response *http.Response) error {
	p.mu.Lock()
	silent := p.sequence("silent").IntN(2) == 0
	p.mu.Unlock()
	if silent {
		return errLost
	}
	_ = response.Body.Close()
	late := httptest.NewRecorder()
	write(late, apierrors.NewTimeoutError("the proxy has not waited", 0))
	*response = *late.Result()
	return nil
}

// answer disturbs the answer of the API server.
func (p *Proxy) answer(response *http.Response) error {
	info := infoOf(response.Request)
	switch {
	case info.Verb == "watch":
		response.Body = &lateBody{ReadCloser: response.Body, proxy: p, ctx: response.Request.Context(), resource: info.Resource}
	case p.loses(info):
		return p.lose(response)
	}
	return p.pass(response.Request.Context(), everything) // the client may have been cut off in the meantime
}

// kindOf describes a request, such as "update resourceclaims/status".
func kindOf(info *request.RequestInfo) string {
	return info.Verb + " " + strings.TrimSuffix(info.Resource+"/"+info.Subresource, "/")
}
