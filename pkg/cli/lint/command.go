// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/lint"
)

const (
	exitFindings = 1
	exitUsage    = 2
)

// command holds the flags.
type command struct {
	*cli.Options
	output        cli.Output
	files         []string
	offline       bool
	allNamespaces bool
	failOn        string
	// partly says that something in the cluster could not be read.
	partly bool
}

const example = `  # Everything in the cluster that you may read
  kubectl devicequota lint -A

  # A change before it is applied, on top of what the cluster has
  kubectl devicequota lint -f queues.yaml

  # Manifests in a repository, without a cluster
  kustomize build . | kubectl devicequota lint --offline -f - -o sarif > lint.sarif`

// New returns the command.
func New(o *cli.Options) *cobra.Command {
	c := &command{Options: o}
	cmd := &cobra.Command{
		Use:     "lint [-f FILE|DIRECTORY|-]...",
		Short:   "Find mistakes in queues, classes, nodes, the scheduler's configuration, and workloads",
		Long:    "Find what the scheduler would complain about, and what is legal but surely not meant.\n\nThe exit code is 0 if nothing is found, 1 if something is found that is as bad as --fail-on says, and 2 if the command cannot look.",
		Example: example,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Errorf("unexpected argument %q: name files with -f", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	flags := cmd.Flags()
	flags.StringSliceVarP(&c.files, "filename", "f", nil, "file or directory with manifests or a scheduler configuration, or - for standard input")
	flags.BoolVar(&c.offline, "offline", false, "look at the files only, and not at the cluster")
	flags.BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "look at workloads in all namespaces")
	flags.StringVar(&c.failOn, "fail-on", string(lint.Error), "the least severity for exit code 1: error or warning")
	c.output.AddFlags(flags, "sarif")
	return cmd
}

func usage(err error) error { return &cli.ExitError{Code: exitUsage, Err: err} }

func (c *command) run(cmd *cobra.Command) error {
	report, err := c.find(cmd.Context())
	if err != nil {
		return usage(err)
	}
	if err := c.print(report); err != nil {
		return usage(err)
	}
	fails := func(f finding) bool {
		return f.Severity == lint.Error || f.Severity == lint.Warning && c.failOn == string(lint.Warning)
	}
	if slices.ContainsFunc(report.Findings, fails) {
		cmd.SilenceErrors = true // the findings are printed
		return &cli.ExitError{Code: exitFindings, Err: errors.New("there are findings")}
	}
	if c.partly {
		cmd.SilenceErrors = true // what could not be read is printed
		return &cli.ExitError{Code: cli.ExitPartly, Err: errors.New("something could not be read")}
	}
	return nil
}

// find returns the findings in files and in the cluster.
func (c *command) find(ctx context.Context) (*report, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	namespace := "default"
	if !c.offline {
		var err error
		if namespace, _, err = c.Namespace(); err != nil {
			return nil, err
		}
	}
	files := &reader{in: c.In, namespace: namespace, skipped: c.say, unknown: map[string]int{}}
	for _, name := range c.files {
		if err := files.read(name); err != nil {
			return nil, err
		}
	}
	files.sayUnknown()
	if c.offline {
		return newReport(files.findings, lint.Run(ctx, newObjects(files.documents)), files.documents), nil
	}
	cluster, err := c.readCluster(ctx, namespace, files.documents)
	if err != nil {
		return nil, err
	}
	findings := lint.Run(ctx, cluster.with(files.documents))
	if len(c.files) > 0 {
		findings = newFindings(findings, lint.Run(ctx, cluster.with(nil)), files.documents)
	}
	return newReport(files.findings, findings, files.documents), nil
}

func (c *command) validate() error {
	if c.failOn != string(lint.Error) && c.failOn != string(lint.Warning) {
		return fmt.Errorf("--fail-on=%s: use error or warning", c.failOn)
	}
	if c.offline && len(c.files) == 0 {
		return errors.New("--offline needs files: name them with -f")
	}
	return nil
}

// say prints a message that is not a finding.
func (c *command) say(format string, args ...any) { fmt.Fprintf(c.ErrOut, format+"\n", args...) }

// newFindings returns the findings about objects in files, and the findings that the cluster does not have without the files.
func newFindings(all, before []lint.Finding, documents []*document) []lint.Finding {
	return slices.DeleteFunc(all, func(f lint.Finding) bool {
		inFile := slices.ContainsFunc(documents, func(d *document) bool { return d.ref == f.Object })
		return !inFile && slices.ContainsFunc(before, func(b lint.Finding) bool {
			return b.Rule == f.Rule && b.Object == f.Object && b.Message == f.Message
		})
	})
}
