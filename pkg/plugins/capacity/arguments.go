// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
)

// Names of the plugin's arguments in the scheduler's configuration.
const (
	// cardUnlimitedCPUMemory exempts pods and jobs that ask for a card or a device from the limits of cpu and
	// memory.
	cardUnlimitedCPUMemory = "cardUnlimitedCpuMemory"
	// cardQuotaRequired says that no card may be used where no queue has a card quota.
	cardQuotaRequired = "cardQuotaRequired"
	// deviceAccounting says for which classes a device counts.
	deviceAccounting = "deviceAccounting"
	// deviceQuotaRequired says that no device may be used where no queue on the way to the root lists its class.
	deviceQuotaRequired = "deviceQuotaRequired"
	// reclaimGangs allows to evict a gang that cannot lose a pod as a whole.
	reclaimGangs = "reclaimGangs"
	// reservationTimeout is for how long what was freed by evictions is kept for the pods that it was freed for.
	reservationTimeout = "reservationTimeout"
	// nodeOrderWeight is how much the preference among cards counts.
	nodeOrderWeight = "nodeOrderWeight"
	// cardResourceNames are the resources that stand for cards, in place of the default rule.
	cardResourceNames = "cardResourceNames"
)

// Values of deviceAccounting.
const (
	// accountRequested counts a device for the class that a claim asked for.
	accountRequested = "requested"
	// accountMatching counts a device for each limited class that it matches as well.
	accountMatching = "matching"
)

// arguments are the plugin's arguments, and what its name implies.
type arguments struct {
	// name is the name that the plugin is registered under.
	name string
	// capacityCardMode counts cpu, memory, and cards only, and ignores the parents of queues.
	capacityCardMode       bool
	cardUnlimitedCPUMemory bool
	cardQuotaRequired      bool
	deviceAccounting       string
	deviceQuotaRequired    bool
	reclaimGangs           bool
	reservationTimeout     time.Duration
	nodeOrderWeight        float64
	cardResources          card.ResourceNames
}

func (a *arguments) options() demand.Options {
	return demand.Options{CardUnlimitedCPUMemory: a.cardUnlimitedCPUMemory, CapacityCardMode: a.capacityCardMode}
}

// readArguments takes the default for an argument that is invalid, and logs that.
func readArguments(name string, given framework.Arguments) arguments {
	a := arguments{name: name, capacityCardMode: name == CardName, cardQuotaRequired: name == CardName, nodeOrderWeight: 1}
	given.GetBool(&a.cardUnlimitedCPUMemory, cardUnlimitedCPUMemory)
	given.GetBool(&a.cardQuotaRequired, cardQuotaRequired)
	given.GetBool(&a.deviceQuotaRequired, deviceQuotaRequired)
	a.deviceAccounting = readAccounting(name, given[deviceAccounting])
	given.GetBool(&a.reclaimGangs, reclaimGangs)
	a.reservationTimeout = readTimeout(name, given[reservationTimeout])
	given.GetFloat64(&a.nodeOrderWeight, nodeOrderWeight)
	var err error
	if a.cardResources, err = readResourceNames(given[cardResourceNames]); err != nil {
		klog.ErrorS(err, "An argument of the plugin is invalid and is left out", "plugin", name, "argument", cardResourceNames)
	}
	return a
}

// defaultReservationTimeout is longer than most pods take to terminate.
const defaultReservationTimeout = 10 * time.Minute

// readTimeout takes a duration such as 10m.
func readTimeout(name string, argument any) time.Duration {
	if argument == nil {
		return defaultReservationTimeout
	}
	timeout, err := time.ParseDuration(fmt.Sprint(argument))
	if err == nil && timeout <= 0 {
		err = errors.New("it must be more than zero")
	}
	if err != nil {
		klog.ErrorS(err, "An argument of the plugin is invalid and is left out", "plugin", name, "argument", reservationTimeout, "value", argument)
		return defaultReservationTimeout
	}
	return timeout
}

// readAccounting takes one of the known values.
func readAccounting(name string, argument any) string {
	switch argument {
	case nil:
	case accountRequested, accountMatching:
		return argument.(string)
	default:
		klog.ErrorS(nil, "An argument of the plugin is invalid and is left out", "plugin", name, "argument", deviceAccounting,
			"value", argument, "known", []string{accountRequested, accountMatching})
	}
	return accountRequested
}

// readResourceNames takes a list, or a string with commas.
func readResourceNames(argument any) (card.ResourceNames, error) {
	var names card.ResourceNames
	switch list := argument.(type) {
	case nil:
	case string:
		for name := range strings.SplitSeq(list, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	case []any:
		for _, entry := range list {
			name, ok := entry.(string)
			if !ok {
				return nil, fmt.Errorf("%v is not the name of a resource", entry)
			}
			names = append(names, name)
		}
	default:
		return nil, fmt.Errorf("%v is not a list of names of resources", argument)
	}
	if err := names.Check(); err != nil {
		return nil, err
	}
	return names, nil
}
