// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/cmd/scheduler/app/options"
	volcanoutil "volcano.sh/volcano/pkg/util"

	"github.com/devicequota/devicequota/pkg/lease"
)

// lead calls run when the process becomes the leader, and returns when ctx ends. If the process loses the lease first, it calls withdraw and exits
// before another process schedules.
func lead(ctx context.Context, lock *lease.Lock, opts *options.ServerOption, run, withdraw func(context.Context)) {
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock:          lock,
		Name:          opts.LeaderElection.ResourceName, // in the metric of the leading replica
		LeaseDuration: opts.LeaderElection.LeaseDuration.Duration,
		RenewDeadline: opts.LeaderElection.RenewDeadline.Duration,
		RetryPeriod:   opts.LeaderElection.RetryPeriod.Duration,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: run,
			// This is also called when ctx ends, and even if the process was never the leader.
			OnStoppedLeading: func() {
				if ctx.Err() != nil {
					return
				}
				klog.ErrorS(nil, "The lease is lost")
				ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeToExit(opts))
				defer cancel()
				withdraw(ending)
				klog.FlushAndExit(klog.ExitFlushTimeout, 1)
			},
		},
	})
}

// timeToExit returns how long a process without the lease may take to end. Another process gets the lease later.
func timeToExit(opts *options.ServerOption) time.Duration {
	return min(withdrawTimeout, (opts.LeaderElection.LeaseDuration.Duration-opts.LeaderElection.RenewDeadline.Duration)/2)
}

// leaseNamespace returns the namespace of the Lease, which is the scheduler's namespace.
func leaseNamespace(opts *options.ServerOption) string {
	//lint:ignore SA1019 the deprecated flag still works, as upstream
	if deprecated := opts.LockObjectNamespace; deprecated != "" {
		return deprecated
	}
	return opts.LeaderElection.ResourceNamespace
}

// newLock returns the lock of the Lease for which the replicas compete.
func newLock(client kubernetes.Interface, opts *options.ServerOption) (*lease.Lock, error) {
	return lease.New(client, leaseNamespace(opts), opts.LeaderElection.ResourceName, volcanoutil.GenerateComponentName(opts.SchedulerNames))
}

// fenced returns a client configuration that does not write after the process has lost the lease. A leader that was paused, and resumes while another
// one leads, would otherwise write decisions about old state. It also limits the writes in flight.
func fenced(cluster *rest.Config, lock *lease.Lock, opts *options.ServerOption) *rest.Config {
	behind := rest.CopyConfig(cluster)
	behind.Wrap(lock.Fence(opts.LeaderElection.RenewDeadline.Duration))
	behind.Wrap(limitWrites()) // outside, so that writes that have waited meet the fence after it
	return behind
}
