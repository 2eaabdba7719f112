// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/devicequota/devicequota/pkg/cli/term"
	"github.com/devicequota/devicequota/pkg/visibility/client"
)

// Follow draws at once, and after each update of the scheduler, until the context ends. It reopens a stream that the API server ends after a
// while. A stream that ends before its first update is an error.
func Follow(ctx context.Context, scheduler *client.Client, screen *term.Screen, draw func(io.Writer, term.Style) error) error {
	for {
		told, err := follow(ctx, scheduler, screen, draw)
		switch {
		case ctx.Err() != nil:
			return nil // the user has had enough
		case !errors.Is(err, io.EOF):
			return err
		case !told:
			return fmt.Errorf("the scheduler has ended the stream of updates: run the command again")
		}
	}
}

// follow draws until the stream ends, and returns whether there was an update.
func follow(ctx context.Context, scheduler *client.Client, screen *term.Screen, draw func(io.Writer, term.Style) error) (told bool, err error) {
	updates, err := scheduler.Updates(ctx)
	if err != nil {
		return false, err
	}
	defer updates.Close()
	for {
		if err := screen.Draw(draw); err != nil {
			return told, err
		}
		if err := updates.Next(); err != nil {
			return told, err
		}
		told = true
	}
}
