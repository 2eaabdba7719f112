// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"time"

	"github.com/devicequota/devicequota/pkg/card"
)

// Names of the plugin.
const (
	// Name is the name under which the configuration lists the plugin.
	Name = "capacity"
	// CardName is another name of it. It counts cpu, memory, and cards only, and ignores the parents of queues.
	CardName = "capacity-card"
)

// Names of the plugin's arguments.
const (
	// CardUnlimitedCPUMemory exempts pods and jobs that ask for a card or a device from the limits of cpu and
	// memory.
	CardUnlimitedCPUMemory = "cardUnlimitedCpuMemory"
	// CardQuotaRequired says that no card may be used where no queue has a card quota.
	CardQuotaRequired = "cardQuotaRequired"
	// DeviceAccounting says for which classes a device counts.
	DeviceAccounting = "deviceAccounting"
	// DeviceQuotaRequired says that no device may be used where no queue on the way to the root lists its class.
	DeviceQuotaRequired = "deviceQuotaRequired"
	// ReclaimGangs allows to evict a gang that cannot lose a pod as a whole.
	ReclaimGangs = "reclaimGangs"
	// ReservationTimeout is for how long what was freed by evictions is kept for the pods that it was freed for.
	ReservationTimeout = "reservationTimeout"
	// BindingTimeout is how long devices with binding conditions have to get ready. Kube-scheduler 1.35 has the same name for it.
	BindingTimeout = "bindingTimeout"
	// NodeOrderWeight is how much the preference among cards counts.
	NodeOrderWeight = "nodeOrderWeight"
	// CardResourceNames are the resources that stand for cards, in place of the default rule.
	CardResourceNames = "cardResourceNames"
	// AccountingEnabled says whether the record of usage is written.
	AccountingEnabled = "accounting"
	// AccountingLabel is the label of pods by whose values usage is recorded.
	AccountingLabel = "accountingLabel"
	// AccountingResources are the resources of nodes whose usage is recorded besides that of devices and cards.
	AccountingResources = "accountingResources"
	// AccountingInterval is how often the record of usage is written.
	AccountingInterval = "accountingInterval"
	// AccountingPeriod is the length of the periods that have records of their own.
	AccountingPeriod = "accountingPeriod"
	// AccountingRetention is how long a record is kept after its period.
	AccountingRetention = "accountingRetention"
)

// Names lists the arguments.
var Names = []string{
	CardUnlimitedCPUMemory, CardQuotaRequired, DeviceAccounting, DeviceQuotaRequired, ReclaimGangs, ReservationTimeout, BindingTimeout,
	NodeOrderWeight, CardResourceNames, AccountingEnabled, AccountingLabel, AccountingResources, AccountingInterval, AccountingPeriod, AccountingRetention,
}

// Values of DeviceAccounting.
const (
	// AccountRequested counts a device for the class that a claim asked for.
	AccountRequested = "requested"
	// AccountMatching counts a device for each limited class that it matches as well.
	AccountMatching = "matching"
)

const (
	// DefaultReservationTimeout is longer than most pods take to terminate.
	DefaultReservationTimeout = 10 * time.Minute
	// DefaultBindingTimeout is that of kube-scheduler.
	DefaultBindingTimeout = 10 * time.Minute
)

// Settings are the plugin's arguments, and what its name implies.
type Settings struct {
	// Name is the name that the plugin is registered under.
	Name string
	// CapacityCardMode counts cpu, memory, and cards only, and ignores the parents of queues.
	CapacityCardMode       bool
	CardUnlimitedCPUMemory bool
	CardQuotaRequired      bool
	DeviceAccounting       string
	DeviceQuotaRequired    bool
	ReclaimGangs           bool
	ReservationTimeout     time.Duration
	BindingTimeout         time.Duration
	NodeOrderWeight        float64
	CardResources          card.ResourceNames
	Accounting             Accounting
}

// Invalid is an argument that is left out, because its value is invalid.
type Invalid struct {
	Argument string
	Value    any
	Err      error
}

// Read takes the default for an argument that is invalid. Name is that of the plugin.
func Read(name string, given map[string]any) (Settings, []Invalid) {
	s := Settings{
		Name: name, CapacityCardMode: name == CardName, CardQuotaRequired: name == CardName, NodeOrderWeight: 1,
		DeviceAccounting: AccountRequested, ReservationTimeout: DefaultReservationTimeout, BindingTimeout: DefaultBindingTimeout, Accounting: defaultAccounting,
	}
	var invalid []Invalid
	for _, argument := range []struct {
		name string
		read func(any) error
	}{
		{CardUnlimitedCPUMemory, into(&s.CardUnlimitedCPUMemory, readBool)},
		{CardQuotaRequired, into(&s.CardQuotaRequired, readBool)},
		{DeviceAccounting, into(&s.DeviceAccounting, readAccounting)},
		{DeviceQuotaRequired, into(&s.DeviceQuotaRequired, readBool)},
		{ReclaimGangs, into(&s.ReclaimGangs, readBool)},
		{ReservationTimeout, into(&s.ReservationTimeout, readTimeout)},
		{BindingTimeout, into(&s.BindingTimeout, readTimeout)},
		{NodeOrderWeight, into(&s.NodeOrderWeight, readNumber)},
		{CardResourceNames, into(&s.CardResources, readResourceNames)},
		{AccountingEnabled, into(&s.Accounting.Enabled, readBool)},
		{AccountingLabel, into(&s.Accounting.Label, readLabel)},
		{AccountingResources, into(&s.Accounting.Resources, readNames)},
		{AccountingInterval, into(&s.Accounting.Interval, readTimeout)},
		{AccountingPeriod, into(&s.Accounting.Period, readPeriod)},
		{AccountingRetention, into(&s.Accounting.Retention, readTimeout)},
	} {
		value, is := given[argument.name]
		if !is || value == nil {
			continue
		}
		if err := argument.read(value); err != nil {
			invalid = append(invalid, Invalid{argument.name, value, err})
		}
	}
	return s, invalid
}

// into returns a function that reads a value into a field, which stays as it is if the value is invalid.
func into[T any](field *T, read func(any) (T, error)) func(any) error {
	return func(value any) error {
		v, err := read(value)
		if err == nil {
			*field = v
		}
		return err
	}
}
