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
	controlplaneProgram = "controlplane"
)

// Options says how to run a cluster. The zero value is a cluster with this project's
// scheduler, in a temporary folder.
type Options struct {
	// Bin is the folder of the binaries that `make build` makes. Empty means the folder of
	// the running program if they are there, else the folder bin beside the nearest go.mod
	// above the working folder.
	Bin string
	// State is the folder for all state; it is created if need be and kept. Empty means a
	// temporary one that goes with the cluster.
	State string
	// Kubeconfig is a file that the administrator's kubeconfig is written to as well;
	// empty for none.
	Kubeconfig string
	// Manifests are files or folders that are applied before Start returns.
	Manifests []string
	// SchedulerConfig is the file with the scheduler's configuration; empty means the one
	// in config/scheduler.
	SchedulerConfig string
	// UpstreamScheduler runs Volcano's own scheduler and plugins, for comparison.
	UpstreamScheduler bool
	// SchedulerArgs and APIServerArgs are further flags; they win over the defaults.
	SchedulerArgs, APIServerArgs []string
	// OnReady, if not nil, is called when a component is ready, with the time it took. Calls
	// may come from several goroutines, one at a time.
	OnReady func(component string, took time.Duration)
}

// findBin returns the folder of the binaries, after checking that they are there.
func (o Options) findBin() (string, error) {
	candidates := []string{o.Bin}
	if o.Bin == "" {
		candidates = defaultBins()
	}
	var err error
	for _, bin := range candidates {
		if err = o.checkBin(bin); err == nil {
			return filepath.Abs(bin)
		}
	}
	return "", fmt.Errorf("the control plane's binaries are missing: %w; run `make build`", err)
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

func (o Options) checkBin(bin string) error {
	if bin == "" {
		return errors.New("no folder to look in")
	}
	needed := []string{controlplaneProgram, Kwok, crdFolder}
	if !o.UpstreamScheduler {
		needed = append(needed, VolcanoScheduler)
	}
	for _, name := range needed {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return nil
}
