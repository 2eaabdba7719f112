// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"errors"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// Arguments of the dispatcher's plugin capacity.
const (
	// reclaimArgument lets queues take back what they deserve: workloads of others are suspended again. The default is false.
	reclaimArgument = "reclaim"
	// strictOrder keeps workloads behind those that wait for the same and come first. The default is true.
	strictOrder = "strictOrder"
	// CardQuotaRequired says that no card may be used where no queue has a card quota. The default is false.
	CardQuotaRequired = "cardQuotaRequired"
	// deviceQuotaRequired says that no device may be used where no queue on the way to the root lists its class. The default is false.
	deviceQuotaRequired = "deviceQuotaRequired"
	// cardUnlimitedCPUMemory exempts workloads that ask for a card or a device from the limits of cpu and memory. The default is false.
	cardUnlimitedCPUMemory = "cardUnlimitedCpuMemory"
)

type arguments struct {
	mayReclaim, strictOrder, cardQuotaRequired, deviceQuotaRequired, cardUnlimitedCPUMemory bool
}

// byName returns the fields by the names of the arguments.
func (a *arguments) byName() map[string]*bool {
	return map[string]*bool{
		reclaimArgument: &a.mayReclaim, strictOrder: &a.strictOrder, CardQuotaRequired: &a.cardQuotaRequired,
		deviceQuotaRequired: &a.deviceQuotaRequired, cardUnlimitedCPUMemory: &a.cardUnlimitedCPUMemory,
	}
}

// readArguments uses the defaults for missing arguments. Check has checked the others.
func readArguments(given framework.Arguments) arguments {
	a, _ := parse(given)
	return a
}

func parse(given framework.Arguments) (arguments, error) {
	a := arguments{strictOrder: true}
	var errs []error
	for name, field := range a.byName() {
		value, err := given.Bool(name, *field)
		*field = value
		errs = append(errs, err)
	}
	return a, errors.Join(errs...)
}

func check(given framework.Arguments) error {
	_, err := parse(given)
	return errors.Join(err, given.Known(reclaimArgument, strictOrder, CardQuotaRequired, deviceQuotaRequired, cardUnlimitedCPUMemory))
}
