// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// logTail is the number of bytes of a log in an error.
	logTail = 2000
	// stopGrace is how long a process may take to end before it is killed.
	stopGrace = 5 * time.Second
)

// process is one run of a component. It leads its own process group. It gets no signals from the terminal, and can be killed with its
// children.
type process struct {
	name  string
	log   string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	// done is closed when the process and its children have ended. Until then, they hold their ports.
	done chan struct{}
	err  error
}

// startProcess runs a program that ends when its standard input is closed. It appends the output to the log. The program inherits the lock,
// which lasts until all processes have ended. Lock may be nil.
func startProcess(name, log string, lock *os.File, argv ...string) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &process{name: name, log: log, cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.Env = append(os.Environ(), "DEBUG_SOCKET_DIR="+os.DevNull)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// The program and its children inherit one end of a pipe. Reading the other end reaches EOF when all of them have ended.
	others, inherited, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.ExtraFiles = []*os.File{inherited}
	if lock != nil {
		p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, lock)
	}
	err = p.cmd.Start()
	_ = inherited.Close()
	if err != nil {
		_ = others.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go p.waitForAll(others)
	return p, nil
}

// waitForAll waits until the process and its children have ended.
func (p *process) waitForAll(others io.ReadCloser) {
	p.err = p.cmd.Wait()
	_, _ = io.Copy(io.Discard, others)
	_ = others.Close()
	close(p.done)
}

// alive reports whether the process has not ended.
func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// stop closes the standard input of the process, kills it after stopGrace, and waits until it has ended.
func (p *process) stop() {
	_ = p.stdin.Close()
	p.wait()
}

// terminate sends SIGTERM to the process, kills it after stopGrace, and waits until it has ended.
func (p *process) terminate() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.wait()
}

func (p *process) wait() {
	select {
	case <-p.done:
	case <-time.After(stopGrace):
		p.kill()
	}
}

// kill kills the process and its children, and waits until they have ended.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}

// signal sends a signal to the process and its children.
func (p *process) signal(signal syscall.Signal) error {
	return syscall.Kill(-p.cmd.Process.Pid, signal)
}

// failure describes how the process ended, with the end of its log.
func (p *process) failure() error {
	how := "ended"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s: %s; the end of %s:\n%s", p.name, how, p.log, tail(p.log))
}

// lostPort reports whether the process ended because another program has its port.
func (p *process) lostPort() bool {
	return !p.alive() && strings.Contains(tail(p.log), "address already in use")
}

// tail returns the last lines of a file.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if _, err := file.Seek(-logTail, io.SeekEnd); err != nil {
		_, err = file.Seek(0, io.SeekStart)
		if err != nil {
			return err.Error()
		}
	}
	end, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	if len(end) == logTail {
		if _, after, cut := bytes.Cut(end, []byte("\n")); cut {
			end = after
		}
	}
	return strings.TrimSpace(string(end))
}

var errInUse = errors.New("in use")

// lockFile locks a file for this process and for the processes that inherit the file. It returns errInUse if the file is locked already.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errInUse
		}
		return nil, err
	}
	return file, nil
}
