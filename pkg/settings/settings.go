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

// Arguments of the plugin capacity.
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
	// GangEvictions plans evictions for each job as a whole, not only for jobs with devices and cards. The actions gangpreempt and gangreclaim of Volcano 1.15 do
	// so, too.
	GangEvictions = "gangEvictions"
	// ReservationTimeout is for how long what was freed by evictions is kept for the pods that it was freed for.
	ReservationTimeout = "reservationTimeout"
	// BindingTimeout is how long devices with binding conditions have to get ready. Kube-scheduler 1.35 has the same name for it.
	BindingTimeout = "bindingTimeout"
	// NodeOrderWeight is how much the preference among cards counts.
	NodeOrderWeight = "nodeOrderWeight"
	// Incremental lets pods that are alike share the answers of nodes, and sessions copy only what has changed.
	Incremental = "incremental"
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

// Settings holds the arguments of the plugin, and the settings that its name implies.
type Settings struct {
	// Name is the name under which the plugin is registered.
	Name string
	// CapacityCardMode counts only cpu, memory, and cards, and ignores the parents of queues.
	CapacityCardMode       bool
	CardUnlimitedCPUMemory bool
	CardQuotaRequired      bool
	DeviceAccounting       string
	DeviceQuotaRequired    bool
	ReclaimGangs           bool
	GangEvictions          bool
	ReservationTimeout     time.Duration
	BindingTimeout         time.Duration
	NodeOrderWeight        float64
	Incremental            bool
	CardResources          card.ResourceNames
	Accounting             Accounting
}

// Invalid is an argument that Read ignored because of its invalid value.
type Invalid struct {
	Argument string
	Value    any
	Err      error
}

// Read returns the settings of the plugin with the given name. Invalid arguments get their default.
func Read(name string, given map[string]any) (Settings, []Invalid) {
	s := defaults(name)
	var invalid []Invalid
	for _, argument := range s.arguments() {
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

func defaults(name string) Settings {
	return Settings{
		Name: name, CapacityCardMode: name == CardName, CardQuotaRequired: name == CardName, NodeOrderWeight: 1, Incremental: true,
		DeviceAccounting: AccountRequested, ReservationTimeout: DefaultReservationTimeout, BindingTimeout: DefaultBindingTimeout, Accounting: defaultAccounting,
	}
}

// argument is an argument of the plugin, with its current value and a function that reads a new one.
type argument struct {
	name  string
	value any
	read  func(any) error
}

// arguments returns all arguments, bound to the fields of the settings.
func (s *Settings) arguments() []argument {
	return []argument{
		into(CardUnlimitedCPUMemory, &s.CardUnlimitedCPUMemory, readBool),
		into(CardQuotaRequired, &s.CardQuotaRequired, readBool),
		into(DeviceAccounting, &s.DeviceAccounting, readAccounting),
		into(DeviceQuotaRequired, &s.DeviceQuotaRequired, readBool),
		into(ReclaimGangs, &s.ReclaimGangs, readBool),
		into(GangEvictions, &s.GangEvictions, readBool),
		into(ReservationTimeout, &s.ReservationTimeout, readTimeout),
		into(BindingTimeout, &s.BindingTimeout, readTimeout),
		into(NodeOrderWeight, &s.NodeOrderWeight, readNumber),
		into(Incremental, &s.Incremental, readBool),
		into(CardResourceNames, &s.CardResources, readResourceNames),
		into(AccountingEnabled, &s.Accounting.Enabled, readBool),
		into(AccountingLabel, &s.Accounting.Label, readLabel),
		into(AccountingResources, &s.Accounting.Resources, readNames),
		into(AccountingInterval, &s.Accounting.Interval, readTimeout),
		into(AccountingPeriod, &s.Accounting.Period, readPeriod),
		into(AccountingRetention, &s.Accounting.Retention, readTimeout),
	}
}

// Names lists the names of all arguments.
var Names = func() (names []string) {
	for _, argument := range new(Settings).arguments() {
		names = append(names, argument.name)
	}
	return names
}()

// Default returns the default of an argument.
func Default(name string) any {
	s := defaults(Name)
	for _, argument := range s.arguments() {
		if argument.name == name {
			return argument.value
		}
	}
	return nil
}

// into returns an argument that is read into a field. An invalid value does not change the field.
func into[T any](name string, field *T, read func(any) (T, error)) argument {
	return argument{name, *field, func(value any) error {
		v, err := read(value)
		if err == nil {
			*field = v
		}
		return err
	}}
}
