// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"net/url"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// runEtcd runs a single member that requires client certificates. It does not flush each write to disk, because a development cluster may
// lose its last writes in a power failure.
func runEtcd(args []string) error {
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	dir := flags.String("data-dir", "", "folder of the data")
	listen := flags.String("listen", "", "host:port for clients")
	peer := flags.String("listen-peer", "", "host:port for peers (there are none)")
	cert := flags.String("cert-file", "", "server certificate")
	key := flags.String("key-file", "", "key of the server certificate")
	ca := flags.String("trusted-ca-file", "", "certificate authority of clients")
	if err := flags.Parse(args); err != nil {
		return err
	}

	config := embed.NewConfig()
	config.Dir = *dir
	config.LogLevel = "warn"
	config.UnsafeNoFsync = true
	config.WarningUnaryRequestDuration = time.Second
	clients := url.URL{Scheme: "https", Host: *listen}
	peers := url.URL{Scheme: "http", Host: *peer}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{clients}, []url.URL{clients}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peers}, []url.URL{peers}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.ClientTLSInfo = transport.TLSInfo{CertFile: *cert, KeyFile: *key, TrustedCAFile: *ca, ClientCertAuth: true}

	server, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("listening on %s with data in %s: %w", *listen, *dir, err)
	}
	return <-server.Err()
}
