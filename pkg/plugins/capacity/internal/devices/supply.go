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
