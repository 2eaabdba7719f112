// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// Read reads the state of the cluster. If the name of a configuration file is not empty, the scheduler's configuration comes from that file.
func Read(ctx context.Context, o *cli.Options, configuration string) (*clusterstate.State, error) {
	config, err := o.RESTConfig()
	if err != nil {
		return nil, err
	}
	state, err := clusterstate.Read(ctx, config)
	if err != nil {
		return nil, err
	}
	if configuration != "" {
		return state, state.UseConfiguration(configuration)
	}
	text, err := o.SchedulerConfiguration(ctx)
	if err == nil {
		err = state.Configure(text)
	}
	if err != nil {
		state.Unread = append(state.Unread, fmt.Sprintf("the scheduler's configuration: %v; %s", err, clusterstate.NoConfiguration))
	}
	return state, nil
}
