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

// CheckNames looks for a mistyped name after a command has found nothing. It returns an error if a queue does not exist. It returns a note if the
// scheduler counts nothing of a DeviceClass, card, or resource, which may exist nevertheless. It returns neither if the user may not see the queues.
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

// mostNames limits the names in an enumeration.
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
