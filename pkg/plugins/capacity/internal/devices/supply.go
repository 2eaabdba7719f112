// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"

	"github.com/devicequota/devicequota/pkg/dra"
)

// Supplies returns where the devices of a class are, and which are in use. The error says why this is unknown.
func (s *Session) Supplies(class string) (dra.Supplies, error) {
	if err := s.openAllocator(); err != nil {
		return dra.Supplies{}, err
	}
	return s.allocator.Supplies(context.Background(), class), nil
}

// Published returns the number of devices of a class.
func (s *Session) Published(class string) int64 {
	return s.Catalog.Published(context.Background(), s.Matcher().CELCache(), class)
}

// MostOnNode returns the most devices of a class that one node can reach, zero if that is not known.
func (s *Session) MostOnNode(class string) int64 {
	return s.Catalog.MostOnNode(context.Background(), s.Matcher().CELCache(), class)
}
