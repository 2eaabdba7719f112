// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"

	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/helpers"
	"volcano.sh/volcano/cmd/scheduler/app/options"
)

// serveHealth serves /healthz, which reports that the process runs, and /readyz, which reports whether it can read the objects for scheduling.
// It returns when it listens.
func serveHealth(opts *options.ServerOption, ready func() error) error {
	server := &http.Server{
		Handler:           healthHandler(ready),
		MaxHeaderBytes:    helpers.DefaultMaxHeaderBytes,
		ReadHeaderTimeout: helpers.DefaultReadHeaderTimeout,
		ReadTimeout:       helpers.DefaultReadTimeout,
		WriteTimeout:      helpers.DefaultWriteTimeout,
	}
	if len(opts.CaCertData) > 0 && len(opts.CertData) > 0 && len(opts.KeyData) > 0 {
		certificate, err := tls.X509KeyPair(opts.CertData, opts.KeyData)
		if err != nil {
			return err
		}
		authorities := x509.NewCertPool()
		authorities.AppendCertsFromPEM(opts.CaCertData)
		server.TLSConfig = &tls.Config{
			Certificates: []tls.Certificate{certificate}, ClientCAs: authorities, ClientAuth: tls.VerifyClientCertIfGiven, MinVersion: tls.VersionTLS12,
		}
	}
	listener, err := net.Listen("tcp", opts.HealthzBindAddress)
	if err != nil {
		return err
	}
	go func() {
		serve := server.Serve
		if server.TLSConfig != nil {
			serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
		}
		klog.ErrorS(serve(listener), "The health server has stopped", "address", listener.Addr())
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}()
	return nil
}

func healthHandler(ready func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, nil) })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, ready()) })
	return mux
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if _, err := w.Write([]byte("ok")); err != nil {
		klog.V(4).InfoS("Failed to answer a health check", "err", err)
	}
}
