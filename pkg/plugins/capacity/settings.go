package capacity

import (
	"fmt"
	"strings"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/card"
)

// Arguments of the plugin in the scheduler's configuration.
const (
	// cardUnlimitedCPUMemory lets pods and jobs that ask for a card or a device use cpu and memory
	// beyond their queue's limits.
	cardUnlimitedCPUMemory = "cardUnlimitedCpuMemory"
	// cardQuotaRequired says that no card may be used where no queue lists cards.
	cardQuotaRequired = "cardQuotaRequired"
	// nodeOrderWeight is how much the preference among cards counts.
	nodeOrderWeight = "nodeOrderWeight"
	// cardResourceNames are the resources that stand for cards, in place of the rule of card.Read.
	cardResourceNames = "cardResourceNames"
)

// settings are the plugin's arguments, and what comes with the name that it is used under.
type settings struct {
	// name is the one that the plugin is registered under.
	name string
	// cardsOnly leaves all resources but cpu and memory to others, and queues without parents.
	cardsOnly         bool
	unlimitedCards    bool
	cardQuotaRequired bool
	nodeOrderWeight   float64
	cardResources     card.ResourceNames
}

// readSettings takes the default for what cannot be read, and says so in the log.
func readSettings(name string, arguments framework.Arguments) settings {
	s := settings{name: name, cardsOnly: name == CardName, cardQuotaRequired: name == CardName, nodeOrderWeight: 1}
	arguments.GetBool(&s.unlimitedCards, cardUnlimitedCPUMemory)
	arguments.GetBool(&s.cardQuotaRequired, cardQuotaRequired)
	arguments.GetFloat64(&s.nodeOrderWeight, nodeOrderWeight)
	var err error
	if s.cardResources, err = readPatterns(arguments[cardResourceNames]); err != nil {
		klog.ErrorS(err, "An argument of the plugin is wrong and is left out", "plugin", name, "argument", cardResourceNames)
	}
	return s
}

// readPatterns takes a list, or a string with commas.
func readPatterns(argument any) (card.ResourceNames, error) {
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
				return nil, fmt.Errorf("%v is no name of a resource", entry)
			}
			names = append(names, name)
		}
	default:
		return nil, fmt.Errorf("%v is no list of names of resources", argument)
	}
	if err := names.Check(); err != nil {
		return nil, err
	}
	return names, nil
}
