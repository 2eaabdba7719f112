// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/devicequota/devicequota/pkg/visibility/client"
)

// CheckNames looks for a mistyped name if a command has found nothing. It returns an error if a queue does not exist, and a note if a DeviceClass,
// card, or resource is one of which the scheduler counts nothing: it may exist all the same. Who may not see the queues learns neither.
func CheckNames(ctx context.Context, scheduler *client.Client, queues, dimensions []string) (note string, err error) {
	told, err := scheduler.Queues(ctx)
	if err != nil {
		return "", nil
	}
	names, counted := map[string]bool{}, map[string]bool{}
	for i := range told.Items {
		names[told.Items[i].Name] = true
		for _, f := range told.Items[i].Figures {
			counted[f.Name] = true
		}
	}
	for _, queue := range queues {
		if !names[queue] {
			return "", fmt.Errorf("queue %q does not exist: there are %s", queue, enumerate(names))
		}
	}
	for _, dimension := range dimensions {
		if class, _, _ := strings.Cut(dimension, "/"); len(counted) > 0 && !counted[dimension] && !counted[class] {
			return fmt.Sprintf("No queue has or lists %s; they have or list %s.", dimension, enumerate(counted)), nil
		}
	}
	return "", nil
}

// mostNames is how many names an enumeration has.
const mostNames = 20

func enumerate(names map[string]bool) string {
	sorted := slices.Sorted(maps.Keys(names))
	if len(sorted) == 0 {
		return "none"
	}
	if more := len(sorted) - mostNames; more > 0 {
		return fmt.Sprintf("%s, and %d more", strings.Join(sorted[:mostNames], ", "), more)
	}
	return strings.Join(sorted, ", ")
}
