// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/settings"
)

// readArguments reads the arguments. It logs invalid arguments, and uses their defaults.
func readArguments(name string, given framework.Arguments) settings.Settings {
	read, invalid := settings.Read(name, given)
	for _, i := range invalid {
		klog.ErrorS(i.Err, "An argument of the plugin is invalid and is left out", "plugin", name, "argument", i.Argument, "value", i.Value)
	}
	return read
}

// countingOptions returns the arguments that affect what is counted.
func countingOptions(s *settings.Settings) demand.Options {
	return demand.Options{CardUnlimitedCPUMemory: s.CardUnlimitedCPUMemory, CapacityCardMode: s.CapacityCardMode}
}
