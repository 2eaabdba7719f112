package capacity

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// deviceGauge is a metric of queues for every dimension of every DeviceClass.
type deviceGauge struct {
	vector *prometheus.GaugeVec
	// value is false where the metric has nothing to say.
	value func(*ledger.Ledger, ledger.QueueID, ledger.Ordinal) (ledger.Amount, bool)
}

var deviceGauges = [...]deviceGauge{
	{deviceVector("capability", "Most that the queue itself may hold"), func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		limit := l.Capability(q, o)
		return limit.Amount, limit.Set
	}},
	{deviceVector("deserved", "Fair share of the queue"), func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		limit := l.Deserved(q, o)
		return limit.Amount, limit.Set
	}},
	{deviceVector("guarantee", "What is reserved for the queue"), func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		limit := l.Guarantee(q, o)
		return limit.Amount, limit.Set
	}},
	{deviceVector("allocated", "What pods of the queue and of those below it hold"), deviceBalance(ledger.Allocated)},
	{deviceVector("inqueue", "What jobs that have been let in may still take"), deviceBalance(ledger.Inqueue)},
	{deviceVector("request", "What pods hold or wait for"), deviceBalance(ledger.Request)},
}

func deviceVector(name, help string) *prometheus.GaugeVec {
	return promauto.NewGaugeVec(prometheus.GaugeOpts{Name: "volcano_queue_device_class_" + name, Help: help + ", by DeviceClass and dimension"},
		[]string{"queue", "device_class", "dimension"})
}

// deviceBalance speaks where there is something, or a limit to compare with. Capacity is counted
// everywhere as soon as some queue limits it; it is of interest only at and below that queue.
func deviceBalance(account ledger.Account) func(*ledger.Ledger, ledger.QueueID, ledger.Ordinal) (ledger.Amount, bool) {
	return func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		amount := l.Balance(q, account, o)
		if l.Dimension(o).Kind == ledger.DeviceCapacity {
			_, _, limited := l.Nearest(q, o)
			return amount, limited
		}
		return amount, amount.Sign() != 0 || l.Capability(q, o).Set || l.Deserved(q, o).Set
	}
}

// deviceValue is what a metric says; not set while it says nothing.
type deviceValue struct {
	amount ledger.Amount
	set    bool
}

// publishDevices updates the metrics that have changed.
func (p *plugin) publishDevices(books *ledger.Ledger, name string, queue ledger.QueueID, last *published) {
	for o := range ledger.Ordinal(p.process.dimensions.Len()) {
		if int(o) == len(last.devices) {
			last.devices = append(last.devices, [len(deviceGauges)]deviceValue{})
		}
		dimension := p.process.dimensions.Dimension(o)
		label := "count"
		switch dimension.Kind {
		case ledger.DeviceCount:
		case ledger.DeviceCapacity:
			label = dimension.Capacity
		default:
			continue
		}
		for i := range deviceGauges {
			now := &last.devices[o][i]
			amount, set := deviceGauges[i].value(books, queue, o)
			if before := *now; before == (deviceValue{amount, set}) {
				continue
			}
			*now = deviceValue{amount, set}
			if !set {
				deviceGauges[i].vector.DeleteLabelValues(name, dimension.Name, label)
				continue
			}
			deviceGauges[i].vector.WithLabelValues(name, dimension.Name, label).Set(amount.Float(whole))
		}
	}
}

func unpublishDevices(queue string) {
	for i := range deviceGauges {
		deviceGauges[i].vector.DeletePartialMatch(prometheus.Labels{"queue": queue})
	}
}
