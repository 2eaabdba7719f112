// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// runGuard runs a program that does not watch its standard input. Guard kills the program when guard's
// parent ends; the kernel kills it when guard itself ends.
func runGuard(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: guard PROGRAM [ARGUMENT ...]")
	}
	// The kernel sends the death signal when the thread that started the child ends.
	runtime.LockOSThread()
	child := exec.Command(args[0], args[1:]...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		return err
	}
	go func() {
		waitForParent()
		_ = child.Process.Kill()
	}()
	return child.Wait()
}
