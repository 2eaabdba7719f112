// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// runGuard runs a program that does not watch its standard input. It passes SIGTERM on to the program, and kills the program when guard's
// parent ends. If guard itself ends, the kernel kills the program.
func runGuard(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: guard PROGRAM [ARGUMENT ...]")
	}
	// The kernel sends the death signal when the thread that started the child ends.
	runtime.LockOSThread()
	child := exec.Command(args[0], args[1:]...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	terminations := make(chan os.Signal, 1)
	signal.Notify(terminations, syscall.SIGTERM)
	if err := child.Start(); err != nil {
		return err
	}
	go func() {
		for termination := range terminations {
			_ = child.Process.Signal(termination)
		}
	}()
	go func() {
		waitForParent()
		_ = child.Process.Kill()
	}()
	return child.Wait()
}

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
