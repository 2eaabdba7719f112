// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/visibility"
)

const (
	// qps and burst limit the reviews of the API server. They are the limits of Kubernetes' delegating API servers.
	qps, burst = 200, 400
	// shutdownTimeout limits how long answers may take when the process ends.
	shutdownTimeout = 5 * time.Second
)

// Process describes the scheduler with the server.
type Process struct {
	// Host is the host of the scheduler, and Version the version of its program.
	Host, Version string
	// Configuration returns the active configuration. It is safe for concurrent use.
	Configuration func() string
}

// Server serves the publications of the sessions of this process.
type Server struct {
	options   Options
	process   Process
	publisher *visibility.Publisher
	client    kubernetes.Interface
	access    *access
	page      http.Handler

	// streams limits the number of streams.
	streams *limiter
	// heartbeat is the longest pause of a stream, to keep proxies from closing it, and the time between two checks of rights. patience limits
	// how long an answer takes, and how long a client takes to read it.
	heartbeat, patience time.Duration
	leading             atomic.Bool
	// led is nil unless the Service points to this process.
	led atomic.Pointer[leadership]
}

// New returns a server that does not listen yet. The API server of the configuration decides about access. Page serves the files of the web
// page.
func New(options Options, process Process, config *rest.Config, publisher *visibility.Publisher, page http.Handler) (*Server, error) {
	config = rest.AddUserAgent(rest.CopyConfig(config), "visibility")
	config.QPS, config.Burst = qps, burst
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return newServer(options, process, client, publisher, page)
}

func newServer(options Options, process Process, client kubernetes.Interface, publisher *visibility.Publisher, page http.Handler) (*Server, error) {
	allowed, err := newAccess(client)
	if err != nil {
		return nil, fmt.Errorf("authentication and authorization: %w", err)
	}
	return &Server{
		options: options, process: process, publisher: publisher, client: client, access: allowed, page: page,
		streams: newLimiter(maxStreams, maxOfUser), heartbeat: heartbeat, patience: requestTimeout,
	}, nil
}

// Start listens, and serves until ctx ends. The server refuses requests before Lead.
func (s *Server) Start(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.options.BindAddress)
	if err != nil {
		return fmt.Errorf("--visibility-bind-address: %w", err)
	}
	if err := s.serve(ctx, listener); err != nil {
		return errors.Join(err, listener.Close())
	}
	return nil
}

func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	certificate, err := s.options.servingCertificate(serviceNames(s.options.Namespace), podAddresses())
	if err != nil {
		return err
	}
	secured, err := serveTLS(ctx, certificate, s.access.clients)
	if err != nil {
		return err
	}
	s.access.follow(ctx)
	server := &http.Server{
		Handler: s.newHandler(s.access, s.page), TLSConfig: secured, BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: headerTimeout, ReadTimeout: s.patience, WriteTimeout: 2 * s.patience, IdleTimeout: 90 * time.Second, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: log.New(connectionErrors{}, "", 0),
	}
	go func() {
		if err := server.ServeTLS(netutil.LimitListener(addressListener{listener, newLimiter(maxConnections, maxOfAddress)}, maxConnections), "", ""); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "The visibility server has stopped", "address", listener.Addr())
		}
	}()
	context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		if err := server.Shutdown(ending); err != nil {
			klog.ErrorS(err, "The visibility server has not ended in time")
		}
	})
	klog.V(2).InfoS("The visibility server listens", "address", listener.Addr())
	return nil
}

// connectionErrors logs errors of connections only at a high verbosity, because any client can cause them.
type connectionErrors struct{}

// Write implements io.Writer.
func (connectionErrors) Write(text []byte) (int, error) {
	klog.V(4).InfoS("A connection to the visibility server has failed", "err", strings.TrimSpace(string(text)))
	return len(text), nil
}
