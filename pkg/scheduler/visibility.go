// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/version"
	"github.com/devicequota/devicequota/pkg/visibility/server"
)

// withdrawTimeout limits how long the end of the process waits for the API server.
const withdrawTimeout = 2 * time.Second

// serveVisibility starts the server of the sessions' publications. It returns functions to call when the process starts and stops to lead. If the
// server cannot listen, the scheduler goes on without it. Configuration returns the text of the active configuration.
func serveVisibility(ctx context.Context, cluster *rest.Config, config Config, configuration func() string) (lead, withdraw func(context.Context)) {
	nobody := func(context.Context) {}
	if config.Publisher == nil || !config.Visibility.Enabled() {
		return nobody, nobody
	}
	config.Visibility.Namespace = leaseNamespace(config.Options)
	host, err := os.Hostname()
	if err != nil {
		klog.ErrorS(err, "The visibility server does not tell which scheduler it is")
	}
	process := server.Process{Host: host, Version: version.Get().Version, Configuration: configuration}
	made, err := server.New(config.Visibility, process, cluster, config.Publisher, config.Page)
	if err == nil {
		err = made.Start(ctx)
	}
	if err != nil {
		klog.ErrorS(err, "Nobody can see what the ledger says: the visibility server has not started", "address", config.Visibility.BindAddress)
		return nobody, nobody
	}
	return made.Lead, made.Withdraw
}
