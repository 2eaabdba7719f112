// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/cli"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// flags are the flags of the command.
type flags struct {
	from, to      string
	by            []string
	source        string
	prometheusURL string
	tree          bool
	output        cli.Output
}

// usage is an amount times seconds on one day. The day is the start of its period.
type usage struct {
	accounting.Series
	day    time.Time
	amount ledger.Amount
}

// span is the time that a report covers.
type span struct{ from, to time.Time }

// New returns the command.
func New(o *cli.Options) *cobra.Command {
	f := &flags{}
	command := &cobra.Command{
		Use:   "report",
		Short: "Show how many hours of devices and cards queues used, were guaranteed without using them, and waited for",
		Example: `  # the last seven days
  kubectl devicequota report

  # October by team and class, for a spreadsheet
  kubectl devicequota report --from 2026-10-01 --to 2026-11-01 --by label,class -o csv`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return cli.Remedy(f.run(command.Context(), o)) },
	}
	list := command.Flags()
	list.StringVar(&f.from, "from", "-7d", "beginning of the report: a date, a time as in RFC 3339, or a time before now such as -12h or -7d")
	list.StringVar(&f.to, "to", "now", "end of the report, in the same form")
	list.StringSliceVar(&f.by, "by", []string{"queue", "class", "card"}, "what has rows of its own: "+strings.Join(columns, ", "))
	list.StringVar(&f.source, "source", "record", "where the sums come from: record, in the cluster, or prometheus")
	list.StringVar(&f.prometheusURL, "prometheus-url", "", "URL of Prometheus, such as http://localhost:9090")
	list.BoolVar(&f.tree, "tree", false, "count what a queue used and waited for in the queues above it, too")
	f.output.AddFlags(list, "csv")
	return command
}

func (f *flags) run(ctx context.Context, o *cli.Options) error {
	now := time.Now()
	asked, err := f.validate(now)
	if err != nil {
		return err
	}
	client, err := f.client(o)
	if err != nil {
		return err
	}
	var all []usage
	var note string
	if f.source == "prometheus" {
		all, note, err = fromPrometheus(ctx, f.prometheusURL, asked, slices.Contains(f.by, "day"))
	} else {
		all, note, err = fromRecord(ctx, client, asked)
	}
	if err != nil {
		return err
	}
	parents := map[string]string{}
	if f.tree {
		if parents, err = readParents(ctx, client); err != nil {
			return err
		}
	}
	if note != "" {
		fmt.Fprintln(o.ErrOut, note)
	}
	return f.print(o.Out, sum(all, f.by, parents))
}

// client returns a client of the cluster, or nil if the report needs none.
func (f *flags) client(o *cli.Options) (dynamic.Interface, error) {
	if f.source == "prometheus" && !f.tree {
		return nil, nil
	}
	config, err := o.RESTConfig()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

func (f *flags) validate(now time.Time) (span, error) {
	for _, column := range f.by {
		if !slices.Contains(columns, column) {
			return span{}, fmt.Errorf("--by=%s: use some of %s", column, strings.Join(columns, ", "))
		}
	}
	switch {
	case f.source != "record" && f.source != "prometheus":
		return span{}, fmt.Errorf("--source=%s: use record or prometheus", f.source)
	case f.source == "prometheus" && f.prometheusURL == "":
		return span{}, errors.New("--source=prometheus needs --prometheus-url")
	}
	from, err := parseTime(f.from, now)
	if err != nil {
		return span{}, fmt.Errorf("--from=%s: %w", f.from, err)
	}
	to, err := parseTime(f.to, now)
	if err != nil {
		return span{}, fmt.Errorf("--to=%s: %w", f.to, err)
	}
	if !from.Before(to) {
		return span{}, fmt.Errorf("--from=%s is not before --to=%s", f.from, f.to)
	}
	if f.source == "prometheus" && to.After(now) {
		to = now // the counters have no values of the future
	}
	return span{from, to}, nil
}
