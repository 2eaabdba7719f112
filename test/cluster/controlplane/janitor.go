// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// runJanitor waits for the end of its parent, then for the release of the lock on a file, and removes a folder.
func runJanitor(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: janitor LOCKFILE FOLDER")
	}
	waitForParent()
	lock, err := os.Open(args[0])
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("waiting for the lock on %s: %w", args[0], err)
	}
	return os.RemoveAll(args[1])
}
