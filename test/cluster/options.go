// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Components, in the order in which they are started.
const (
	Etcd                = "etcd"
	APIServer           = "kube-apiserver"
	ControllerManager   = "kube-controller-manager"
	VolcanoControllers  = "vc-controller-manager"
	VolcanoScheduler    = "vc-scheduler"
	Kwok                = "kwok"
	kubeScheduler       = "kube-scheduler"
	controlplaneProgram = "controlplane"
)

// Scheduler is a scheduler that a cluster can run, as the component VolcanoScheduler.
type Scheduler string

// The schedulers: this project's, Volcano's with its own plugins, and that of Kubernetes, which serves pods of default-scheduler, has
// no configuration file, and runs without Volcano's controllers.
const (
	Ours    Scheduler = ""
	Volcano Scheduler = "volcano"
	Kube    Scheduler = "kube"
)

// Options are the options of a cluster. The zero value is a cluster with this project's scheduler in a temporary folder.
type Options struct {
	// Bin is the folder of the binaries that `make build` builds. If it is empty, it is the folder of the running program if that has the
	// binaries. Otherwise, it is the folder bin beside the nearest go.mod in the working directory or above.
	Bin string
	// State is the folder for all state. It is created if it does not exist, and kept. If it is empty, the state is in a temporary folder that is
	// removed when the cluster stops.
	State string
	// Kubeconfig is a second file for the administrator's kubeconfig. It is empty for none.
	Kubeconfig string
	// Manifests are files or folders that are applied before Start returns.
	Manifests []string
	// SchedulerConfig is the file with the scheduler's configuration. If it is empty, the scheduler uses the configuration in config/scheduler.
	SchedulerConfig string
	// Scheduler is the scheduler that runs. The zero value is this project's.
	Scheduler Scheduler
	// WithoutVolcano omits Volcano's CRDs, permissions, controllers, and scheduler, for tests that install Volcano themselves.
	WithoutVolcano bool
	// SchedulerArgs and APIServerArgs are additional flags, which override the defaults.
	SchedulerArgs, APIServerArgs []string
	// OnReady, if not nil, is called when a component is ready, with the time that it took. Several goroutines may call it, but not at the same
	// time.
	OnReady func(component string, took time.Duration)
}

// needed returns the names of the binaries and folders that a cluster needs.
func (o Options) needed() []string {
	needed := []string{controlplaneProgram, Kwok, crdFolder}
	if o.Scheduler == Ours && !o.WithoutVolcano {
		needed = append(needed, VolcanoScheduler)
	}
	return needed
}

// findBin returns the folder of the binaries that a make target builds. It is bin unless bin is empty. The error names the missing file.
func findBin(bin string, needed []string, target string) (string, error) {
	candidates := []string{bin}
	if bin == "" {
		candidates = defaultBins()
	}
	var err error
	for _, candidate := range candidates {
		if err = checkBin(candidate, needed); err == nil {
			return filepath.Abs(candidate)
		}
	}
	return "", fmt.Errorf("the control plane's binaries are missing: %w; run `make %s`", err, target)
}

func defaultBins() []string {
	var bins []string
	if program, err := os.Executable(); err == nil {
		bins = append(bins, filepath.Dir(program))
	}
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return append(bins, filepath.Join(dir, "bin"))
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	return bins
}

func checkBin(bin string, needed []string) error {
	if bin == "" {
		return errors.New("the folder is not set")
	}
	for _, name := range needed {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return nil
}
