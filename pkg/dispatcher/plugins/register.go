// SPDX-License-Identifier: Apache-2.0

// Package plugins lists the plugins of the dispatcher. Add a plugin here.
package plugins

import (
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/plugins/capacity"
	"github.com/devicequota/devicequota/pkg/dispatcher/plugins/priority"
)

// Register makes all plugins known to the framework. Call it once.
func Register() {
	framework.Register(priority.Name, priority.Registration)
	framework.Register(capacity.Name, capacity.Registration)
}
